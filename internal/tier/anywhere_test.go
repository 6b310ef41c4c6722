package tier

import (
	"fmt"

	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// referenceAnywhere adds the skinny kernels for rows that lie anywhere: those for rows at equal
// distances, on copies.
func referenceAnywhere(f ukernel.SkinnyKernels) ukernel.SkinnyKernels {
	halfScores := func(qk func(s []float32, k []uint16, ldk int, q []float32, n, m, d int, max []float32, next []uint16, far int)) func(s []float32, k []uint16, off []int, q []float32, n, d int, max []float32, _ []int) {
		return func(s []float32, k []uint16, off []int, q []float32, n, d int, max []float32, _ []int) {
			qk(s, rowsAt(k, 2, off, d), d, q, n, len(off), d, max, nil, 0)
		}
	}
	halfValues := func(pv func(o []float32, ldo int, v []uint16, ldv int, p []float32, ldp, n, m, dv int, load bool, next []uint16, far int)) func(o []float32, ldo int, v []uint16, off []int, p []float32, ldp, n, dv int, load bool, _ []int) {
		return func(o []float32, ldo int, v []uint16, off []int, p []float32, ldp, n, dv int, load bool, _ []int) {
			pv(o, ldo, rowsAt(v, 2, off, dv), dv, p, ldp, n, len(off), dv, load, nil, 0)
		}
	}
	f.QKRows = func(s, k []float32, off []int, q []float32, n, d int, max []float32, _ []int) {
		f.QK(s, rowsAt(k, 4, off, d), d, q, n, len(off), d, max, nil, 0)
	}
	f.PVRows = func(o []float32, ldo int, v []float32, off []int, p []float32, ldp, n, dv int, load bool, _ []int) {
		f.PV(o, ldo, rowsAt(v, 4, off, dv), dv, p, ldp, n, len(off), dv, load, nil, 0)
	}
	f.QKRowsF16, f.QKRowsBF16 = halfScores(f.QKF16), halfScores(f.QKBF16)
	f.PVRowsF16, f.PVRowsBF16 = halfValues(f.PVF16), halfValues(f.PVBF16)
	bytesScores := func(widen ukernel.WidenRows) func(s []float32, k []byte, off []int, q []float32, n, d int, max []float32, _ []int) {
		return func(s []float32, k []byte, off []int, q []float32, n, d int, max []float32, _ []int) {
			wide := make([]float32, len(off)*d)
			widen(wide, d, rowsAt(k, 1, off, d), d, len(off), d)
			f.QK(s, wide, d, q, n, len(off), d, max, nil, 0)
		}
	}
	bytesValues := func(widen ukernel.WidenRows) func(o []float32, ldo int, v []byte, off []int, p []float32, ldp, n, dv int, load bool, _ []int) {
		return func(o []float32, ldo int, v []byte, off []int, p []float32, ldp, n, dv int, load bool, _ []int) {
			wide := make([]float32, len(off)*dv)
			widen(wide, dv, rowsAt(v, 1, off, dv), dv, len(off), dv)
			f.PV(o, ldo, wide, dv, p, ldp, n, len(off), dv, load, nil, 0)
		}
	}
	widen := &ref.Convert.Widen
	f.QKRowsF8E4M3, f.PVRowsF8E4M3 = bytesScores(widen[ukernel.Float8E4M3]), bytesValues(widen[ukernel.Float8E4M3])
	f.QKRowsF8E5M2, f.PVRowsF8E5M2 = bytesScores(widen[ukernel.Float8E5M2]), bytesValues(widen[ukernel.Float8E5M2])
	unpacked := func(x []int8, off []int, d int) []int8 {
		codes := make([]int8, len(off)*d)
		ref.Convert.UnpackInt4(codes, d, view.BytesOf(rowsAt(x, 1, off, d/2)), d/2, len(off), d)
		return codes
	}
	f.QKRowsInt4 = func(a ukernel.QKRowsInt8Args) {
		f.QKInt8(ukernel.QKInt8Args{S: a.S, K: unpacked(a.K, a.Off, a.D), Ldk: a.D, Scales: a.Scales, Lsc: a.Lsc, Group: a.Group, Q: a.Q, N: a.N, M: len(a.Off), D: a.D, Max: a.Max})
	}
	f.PVRowsInt4 = func(a ukernel.PVRowsInt8Args) {
		f.PVInt8(ukernel.PVInt8Args{O: a.O, Ldo: a.Ldo, V: unpacked(a.V, a.Off, a.Dv), Ldv: a.Dv, Scales: a.Scales, Lsc: a.Lsc, Group: a.Group, P: a.P, Ldp: a.Ldp, N: a.N, M: len(a.Off), Dv: a.Dv, Load: a.Load})
	}
	f.QKRowsInt8 = func(a ukernel.QKRowsInt8Args) {
		f.QKInt8(ukernel.QKInt8Args{S: a.S, K: rowsAt(a.K, 1, a.Off, a.D), Ldk: a.D, Scales: a.Scales, Lsc: a.Lsc, Group: a.Group, Q: a.Q, N: a.N, M: len(a.Off), D: a.D, Max: a.Max})
	}
	f.PVRowsInt8 = func(a ukernel.PVRowsInt8Args) {
		f.PVInt8(ukernel.PVInt8Args{O: a.O, Ldo: a.Ldo, V: rowsAt(a.V, 1, a.Off, a.Dv), Ldv: a.Dv, Scales: a.Scales, Lsc: a.Lsc, Group: a.Group, P: a.P, Ldp: a.Ldp, N: a.N, M: len(a.Off), Dv: a.Dv, Load: a.Load})
	}
	return f
}

// rowsAt returns copies of rows of d numbers that take size bytes each.
func rowsAt[E any](x []E, size int, off []int, d int) (rows []E) {
	for _, at := range off {
		rows = append(rows, x[at/size:][:d]...)
	}
	return rows
}

// anyOrder returns offsets of n rows in any order, some of them several times, in bytes.
func anyOrder(a *testutil.Arena, r *testutil.Rand, name string, n, bytes int) []int {
	off := testutil.Slice[int](a, name, n)
	for i := range off {
		off[i] = r.IntN(max(1, n)) * bytes
	}
	return off
}

// A rowsQKCase is a call of QK on rows that lie anywhere, of a type or, with f32, of float32.
type rowsQKCase struct {
	narrowQKCase
	f32 bool
}

func rowsQKCases(t element, f32 bool) func(w int) []kernelCase {
	return func(w int) (list []kernelCase) {
		cases := narrowQKCases(t)
		if f32 {
			cases = skinnyQKCases
		}
		for _, c := range cases(w) {
			if x, is := c.(skinnyQKCase); is {
				list = append(list, rowsQKCase{narrowQKCase{n: x.n, m: x.m, d: x.d, gap: x.gap, group: x.d, values: x.values}, true})
			} else {
				list = append(list, rowsQKCase{c.(narrowQKCase), false})
			}
		}
		return list
	}
}

func (c rowsQKCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	lsc := c.m + c.gap
	q := a.Matrix("q", c.d, w, w, testutil.NaN) // NaN stays in the idle lanes
	c.values.Fill(r, q, c.d, c.n, w)
	s := a.Matrix("s", c.m, w, w, testutil.NaN)
	top := a.Vector("max", w, 0)
	maxima(r, top, c.values)
	if c.f32 {
		ldk := c.d + c.gap
		k := a.Matrix("k", c.m, c.d, ldk, testutil.NaN)
		c.values.Fill(r, k, c.m, c.d, ldk)
		off, next := anyOrder(a, r, "off", c.m, 4*ldk), anyOrder(a, r, "next", c.m, 4*ldk)
		return func(p *kernelSet) { p.Skinny.QKRows(s, k, off, q, c.n, c.d, top, next) }
	}
	ldk := c.typ.units(c.d) + c.gap
	k := newNarrowRows(a, r, "k", c.typ, c.values, c.m, c.d, ldk, ints.CeilDiv(c.d, c.group), c.m, lsc)
	bytes := ldk * c.typ.bytes()
	off, next := anyOrder(a, r, "off", c.m, bytes), anyOrder(a, r, "next", c.m, bytes)
	return func(p *kernelSet) {
		switch c.typ {
		case f16:
			p.Skinny.QKRowsF16(s, k.u16, off, q, c.n, c.d, top, next)
		case bf16:
			p.Skinny.QKRowsBF16(s, k.u16, off, q, c.n, c.d, top, next)
		case e4m3:
			p.Skinny.QKRowsF8E4M3(s, k.u8, off, q, c.n, c.d, top, next)
		case e5m2:
			p.Skinny.QKRowsF8E5M2(s, k.u8, off, q, c.n, c.d, top, next)
		default:
			f := p.Skinny.QKRowsInt8
			if c.typ == int4s {
				f = p.Skinny.QKRowsInt4
			}
			f(ukernel.QKRowsInt8Args{S: s, K: k.i8, Off: off, Scales: k.scales, Lsc: lsc, Group: c.group, Q: q, N: c.n, D: c.d, Max: top, Next: next})
		}
	}
}

// bytes returns how many a unit takes.
func (t element) bytes() int {
	return max(1, t.size(1))
}

// A rowsPVCase is a call of PV on rows that lie anywhere, of a type or, with f32, of float32.
type rowsPVCase struct {
	narrowPVCase
	f32 bool
}

func rowsPVCases(t element, f32 bool) func(w int) []kernelCase {
	return func(w int) (list []kernelCase) {
		cases := narrowPVCases(t)
		if f32 {
			cases = skinnyPVCases
		}
		for _, c := range cases(w) {
			x := rowsPVCase{f32: f32}
			if f32 {
				x.skinnyPVCase = c.(skinnyPVCase)
				x.group = x.dv
			} else {
				x.narrowPVCase = c.(narrowPVCase)
			}
			if x.m > 0 {
				list = append(list, x)
			}
		}
		return list
	}
}

func (c rowsPVCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	groups := ints.CeilDiv(c.dv, c.group)
	ldv, ldo, lsc := c.dv+c.gapV, c.dv+c.gapO, groups+c.gapV
	if !c.f32 {
		ldv = c.typ.units(c.dv) + c.gapV
	}
	p, o := c.weights(a, r, w), c.output(a, r)
	if c.f32 {
		v := a.Matrix("v", c.m, c.dv, ldv, testutil.NaN)
		c.values.Fill(r, v, c.m, c.dv, ldv)
		off, next := anyOrder(a, r, "off", c.m, 4*ldv), anyOrder(a, r, "next", c.m, 0)
		return func(k *kernelSet) { k.Skinny.PVRows(o, ldo, v, off, p, w, c.n, c.dv, c.load, next) }
	}
	v := newNarrowRows(a, r, "v", c.typ, c.values, c.m, c.dv, ldv, c.m, groups, lsc)
	bytes := ldv * c.typ.bytes()
	off, next := anyOrder(a, r, "off", c.m, bytes), anyOrder(a, r, "next", c.m, bytes)
	return func(k *kernelSet) {
		switch c.typ {
		case f16:
			k.Skinny.PVRowsF16(o, ldo, v.u16, off, p, w, c.n, c.dv, c.load, next)
		case bf16:
			k.Skinny.PVRowsBF16(o, ldo, v.u16, off, p, w, c.n, c.dv, c.load, next)
		case e4m3:
			k.Skinny.PVRowsF8E4M3(o, ldo, v.u8, off, p, w, c.n, c.dv, c.load, next)
		case e5m2:
			k.Skinny.PVRowsF8E5M2(o, ldo, v.u8, off, p, w, c.n, c.dv, c.load, next)
		default:
			f := k.Skinny.PVRowsInt8
			if c.typ == int4s {
				f = k.Skinny.PVRowsInt4
			}
			f(ukernel.PVRowsInt8Args{O: o, Ldo: ldo, V: v.i8, Off: off, Scales: v.scales, Lsc: lsc, Group: c.group, P: p, Ldp: w, N: c.n, Dv: c.dv, Load: c.load, Next: next})
		}
	}
}

func (c rowsQKCase) String() string { return fmt.Sprintf("%v, rows anywhere", c.narrowQKCase) }
func (c rowsPVCase) String() string { return fmt.Sprintf("%v, rows anywhere", c.narrowPVCase) }

// benchAnywhere times a block of keys with few queries, whose rows lie anywhere.
func benchAnywhere(w, n, d int) []benchmark {
	k, q, s, top, o := testutil.Floats(blockKeys*d), testutil.Floats(d*w), testutil.Floats(blockKeys*w), testutil.Filled(w, 0), make([]float32, n*d)
	halves, codes, scales := make([]uint16, len(k)), make([]int8, len(k)), testutil.Floats(blockKeys)
	shape, flop := fmt.Sprintf("n=%d/d=%d", n, d), 2*float64(n*blockKeys*d)
	rows := func(bytes int) []int { return rowsInOrder(blockKeys, blockKeys, d*bytes) }
	floats, words, bytes, nibbles := rows(4), rows(2), rows(1), rowsInOrder(blockKeys, blockKeys, d/2)
	small := make([]byte, len(codes))
	return []benchmark{
		{"Skinny.QKRows", shape, flop, 0, func(p *kernelSet) { p.Skinny.QKRows(s, k, floats, q, n, d, top, floats) }},
		{"Skinny.PVRows", shape, flop, 0, func(p *kernelSet) { p.Skinny.PVRows(o, d, k, floats, s, w, n, d, false, floats) }},
		{"Skinny.QKRowsF16", shape, flop, 0, func(p *kernelSet) { p.Skinny.QKRowsF16(s, halves, words, q, n, d, top, words) }},
		{"Skinny.QKRowsBF16", shape, flop, 0, func(p *kernelSet) { p.Skinny.QKRowsBF16(s, halves, words, q, n, d, top, words) }},
		{"Skinny.PVRowsF16", shape, flop, 0, func(p *kernelSet) { p.Skinny.PVRowsF16(o, d, halves, words, s, w, n, d, false, words) }},
		{"Skinny.PVRowsBF16", shape, flop, 0, func(p *kernelSet) { p.Skinny.PVRowsBF16(o, d, halves, words, s, w, n, d, false, words) }},
		{"Skinny.QKRowsInt8", shape, flop, 0, func(p *kernelSet) {
			p.Skinny.QKRowsInt8(ukernel.QKRowsInt8Args{S: s, K: codes, Off: bytes, Scales: scales, Group: d, Q: q, N: n, D: d, Max: top, Next: bytes})
		}},
		{"Skinny.PVRowsInt8", shape, flop, 0, func(p *kernelSet) {
			p.Skinny.PVRowsInt8(ukernel.PVRowsInt8Args{O: o, Ldo: d, V: codes, Off: bytes, Scales: scales, Lsc: 1, Group: d, P: s, Ldp: w, N: n, Dv: d, Next: bytes})
		}},
		{"Skinny.QKRowsF8E4M3", shape, flop, 0, func(p *kernelSet) { p.Skinny.QKRowsF8E4M3(s, small, bytes, q, n, d, top, bytes) }},
		{"Skinny.PVRowsF8E4M3", shape, flop, 0, func(p *kernelSet) { p.Skinny.PVRowsF8E4M3(o, d, small, bytes, s, w, n, d, false, bytes) }},
		{"Skinny.QKRowsF8E5M2", shape, flop, 0, func(p *kernelSet) { p.Skinny.QKRowsF8E5M2(s, small, bytes, q, n, d, top, bytes) }},
		{"Skinny.PVRowsF8E5M2", shape, flop, 0, func(p *kernelSet) { p.Skinny.PVRowsF8E5M2(o, d, small, bytes, s, w, n, d, false, bytes) }},
		{"Skinny.QKRowsInt4", shape, flop, 0, func(p *kernelSet) {
			p.Skinny.QKRowsInt4(ukernel.QKRowsInt8Args{S: s, K: codes, Off: nibbles, Scales: scales, Group: d, Q: q, N: n, D: d, Max: top, Next: nibbles})
		}},
		{"Skinny.PVRowsInt4", shape, flop, 0, func(p *kernelSet) {
			p.Skinny.PVRowsInt4(ukernel.PVRowsInt8Args{O: o, Ldo: d, V: codes, Off: nibbles, Scales: scales, Lsc: 1, Group: d, P: s, Ldp: w, N: n, Dv: d, Next: nibbles})
		}},
	}
}

var anywhereMutants = []mutant{
	{"Skinny.QKRows", "the last row lies behind the one before", func(p *kernelSet) {
		f := p.Skinny.QKRows
		p.Skinny.QKRows = func(s, k []float32, off []int, q []float32, n, d int, max []float32, next []int) {
			spoiled := append([]int(nil), off...)
			if i := len(off) - 1; off[i-1]+8*d <= 4*len(k) {
				spoiled[i] = off[i-1] + 4*d
			}
			f(s, k, spoiled, q, n, d, max, next)
		}
	}},
	{"Skinny.PVRowsInt8", "each turn of 16 keys takes the rows of the first", func(p *kernelSet) {
		f := p.Skinny.PVRowsInt8
		p.Skinny.PVRowsInt8 = func(a ukernel.PVRowsInt8Args) {
			off := append([]int(nil), a.Off...)
			for i := range off {
				off[i] = off[i%16]
			}
			a.Off = off
			f(a)
		}
	}},
}
