package tier

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// referenceNarrow adds the skinny kernels for narrow types: those for float32 on widened
// rows.
func referenceNarrow(f ukernel.SkinnyKernels) ukernel.SkinnyKernels {
	scores := func(widen ukernel.WidenRows) func(s []float32, k []uint16, ldk int, q []float32, n, m, d int, max []float32, _ []uint16, _ int) {
		return func(s []float32, k []uint16, ldk int, q []float32, n, m, d int, max []float32, _ []uint16, _ int) {
			wide := make([]float32, m*d)
			widen(wide, d, view.BytesOf(k), 2*ldk, m, d)
			f.QK(s, wide, d, q, n, m, d, max, nil, 0)
		}
	}
	values := func(widen ukernel.WidenRows) func(o []float32, ldo int, v []uint16, ldv int, p []float32, ldp, n, m, dv int, load bool, _ []uint16, _ int) {
		return func(o []float32, ldo int, v []uint16, ldv int, p []float32, ldp, n, m, dv int, load bool, _ []uint16, _ int) {
			wide := make([]float32, m*dv)
			widen(wide, dv, view.BytesOf(v), 2*ldv, m, dv)
			f.PV(o, ldo, wide, dv, p, ldp, n, m, dv, load, nil, 0)
		}
	}
	widen := &ref.Convert.Widen
	f.QKF16, f.PVF16 = scores(widen[ukernel.Float16]), values(widen[ukernel.Float16])
	f.QKBF16, f.PVBF16 = scores(widen[ukernel.BFloat16]), values(widen[ukernel.BFloat16])
	f.HalvesE4M3 = eachByte(func(b uint8) uint16 {
		if b&0x7f == 0x7f {
			return uint16(b)<<8&0x8000 | 0x7ff0
		}
		return uint16(math.Float32bits(scalar.F8E4M3(b)) >> 16)
	})
	f.HalvesE5M2 = eachByte(func(b uint8) uint16 { return uint16(b) << 8 })
	f.QKInt8 = func(a ukernel.QKInt8Args) {
		wide := make([]float32, a.M*a.D)
		for j := range a.M {
			for x := range a.D {
				wide[j*a.D+x] = float32(float32(a.K[j*a.Ldk+x]) * a.Scales[x/a.Group*a.Lsc+j])
			}
		}
		f.QK(a.S, wide, a.D, a.Q, a.N, a.M, a.D, a.Max, nil, 0)
	}
	f.PVInt8 = func(a ukernel.PVInt8Args) {
		wide := make([]float32, a.M*a.Dv)
		ref.Convert.WidenInt8(wide, a.Dv, a.V, a.Ldv, a.Scales, a.Lsc, a.Group, a.M, a.Dv)
		f.PV(a.O, a.Ldo, wide, a.Dv, a.P, a.Ldp, a.N, a.M, a.Dv, a.Load, nil, 0)
	}
	return referenceCodes(referenceEvenOdd(referenceAnywhere(f)))
}

// eachByte returns the conversion of rows, given the conversion of one number.
func eachByte(half func(b uint8) uint16) func(dst []uint16, ldd int, src []byte, lds, n, d int) {
	return func(dst []uint16, ldd int, src []byte, lds, n, d int) {
		for i := range n * d {
			dst[i/d*ldd+i%d] = half(src[i/d*lds+i%d])
		}
	}
}

// A halvesCase is a call of HalvesE4M3, or of HalvesE5M2.
type halvesCase struct {
	e5m2             bool
	n, d, gapS, gapD int
}

func (c halvesCase) String() string {
	return fmt.Sprintf("n=%d d=%d lds=d+%d ldd=d+%d", c.n, c.d, c.gapS, c.gapD)
}

func halvesCases(e5m2 bool) func(w int) []kernelCase {
	return func(int) (list []kernelCase) {
		for d := ukernel.HalvesColumns; d <= 3*ukernel.HalvesColumns+1; d++ {
			list = append(list, halvesCase{e5m2, d % 4, d, d % 3, d & 1 * 5})
		}
		return append(list, halvesCase{e5m2, 300, 64, 0, 0}) // all numbers at all places
	}
}

func (c halvesCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	lds, ldd := c.d+c.gapS, c.d+c.gapD
	src := testutil.Rows[byte](a, "src", c.n, c.d, lds)
	for i := range src {
		src[i] = byte(r.Uint64())
		if c.n > 4 {
			src[i] = byte(i%64 + i/64)
		}
	}
	dst := testutil.Rows[uint16](a, "dst", c.n, c.d, ldd)
	for i := range dst {
		dst[i] = 99
	}
	return func(p *kernelSet) {
		f := p.Skinny.HalvesE4M3
		if c.e5m2 {
			f = p.Skinny.HalvesE5M2
		}
		f(dst, ldd, src, lds, c.n, c.d)
	}
}

// referenceEvenOdd adds the skinny kernels for products in bfloat16: the kernels of query tiles, on
// factors.
func referenceEvenOdd(f ukernel.SkinnyKernels) ukernel.SkinnyKernels {
	widened := func(x []uint16, off []int, d int) []float32 {
		wide := make([]float32, len(off)*d)
		for i := range wide {
			wide[i] = scalar.RoundBF16(scalar.BF16(x[off[i/d]/2+i%d]))
		}
		return wide
	}
	f.QKEvenOdd = func(s []float32, k []uint16, off []int, q []float32, n, d int, scale float32, max []float32, _ []int) {
		w, m, wide := len(max), len(off), widened(k, off, d)
		for lane := range (n + 3) / 4 * 4 {
			testutil.GemmEvenOdd(1, s[lane:], w, wide, d, 1, q[min(lane, n-1):], w, m, d, false)
			for j := range m {
				s[j*w+lane] *= scale
				max[lane] = scalar.Larger(s[j*w+lane], max[lane])
			}
		}
	}
	f.PVEvenOdd = func(o []float32, ldo int, v []uint16, off []int, p []float32, ldp, n, dv int, load bool, _ []int) {
		wide := widened(v, off, dv)
		for i := range n {
			for e := range dv {
				testutil.GemmEvenOdd(1, o[i*ldo+e:], 1, wide[e:], 1, dv, p[i:], ldp, 1, len(off), load)
			}
		}
	}
	return f
}

// An element is a narrow type of keys and values.
type element int

const (
	f16 element = iota
	bf16
	int8s
	factors // bfloat16, of products in bfloat16
	e4m3    // these have kernels for rows that lie anywhere alone
	e5m2
	int4s
)

// size returns the bytes of d numbers.
func (t element) size(d int) int {
	return map[element]ukernel.Element{f16: ukernel.Float16, bf16: ukernel.BFloat16, factors: ukernel.BFloat16, int8s: ukernel.Int8, e4m3: ukernel.Float8E4M3, e5m2: ukernel.Float8E5M2, int4s: ukernel.Int4}[t].Bytes(d)
}

// units returns how many units d numbers take: numbers, or bytes where they share one.
func (t element) units(d int) int { return min(d, t.size(d)) }

// A narrowRows is a matrix of a narrow type, with the scales of int8.
type narrowRows struct {
	u16    []uint16
	i8     []int8
	u8     []byte
	scales []float32
}

// newNarrowRows returns rows of d elements, ld units apart: numbers of a kind, or any bits for the
// kind with NaN and Inf. There are scaleRows rows of scales.
func newNarrowRows(a *testutil.Arena, r *testutil.Rand, name string, t element, v testutil.Kind, rows, d, ld, scaleRows, scaleCount, lsc int) (x narrowRows) {
	if t == e4m3 || t == e5m2 {
		x.u8 = testutil.Rows[byte](a, name, rows, d, ld)
		for i := range x.u8 {
			x.u8[i] = byte(r.Uint64())
			if wide := scalar.F8E5M2(x.u8[i]); v != testutil.NonFinite && (wide-wide != 0 || x.u8[i]&0x7f == 0x7f) {
				x.u8[i] &^= 0x40
			}
		}
		return x
	}
	if t == int8s || t == int4s {
		x.i8 = testutil.Rows[int8](a, name, rows, t.units(d), ld)
		for i := range x.i8 {
			x.i8[i] = int8(r.Uint64())
		}
		x.scales = a.Matrix("the scales of "+name, scaleRows, scaleCount, lsc, testutil.NaN)
		v.Fill(r, x.scales, scaleRows, scaleCount, lsc)
		return x
	}
	x.u16 = testutil.Rows[uint16](a, name, rows, d, ld)
	for i := range x.u16 {
		switch y := v.Next(r); {
		case v == testutil.NonFinite:
			x.u16[i] = uint16(r.Uint64())
		case t == f16:
			x.u16[i] = scalar.ToF16(y)
		default:
			x.u16[i] = scalar.ToBF16(y)
		}
	}
	return x
}

// groupsOf returns the number of elements that share a scale in a row of d, in case i. It may be
// the group of other rows, which are longer.
func groupsOf(t element, d, i int) int {
	step := ukernel.SkinnyGroup
	switch t {
	case int4s:
		step = ukernel.PackedColumns
	case int8s:
	default:
		return d
	}
	list := []int{d}
	for g := step; g < d; g += step {
		if d%g == 0 {
			list = append(list, g)
		}
	}
	group := list[i/2%len(list)]
	if group == d && i%3 > 0 {
		group += i % 16
	}
	return group
}

// A narrowQKCase is a call of QK with keys of a type.
type narrowQKCase struct {
	typ                 element
	n, m, d, gap, group int
	values              testutil.Kind
}

func (c narrowQKCase) String() string {
	return fmt.Sprintf("n=%d m=%d d=%d ldk=d+%d group=%d of %v", c.n, c.m, c.d, c.gap, c.group, c.values)
}

// narrowColumns lists the numbers of columns of keys and values: all remainders by a step, where
// kernels take them.
func narrowColumns(t element, step int) (list []int) {
	for _, d := range []int{16, 32, 48, 64, 80, 128, 17, 23, 25, 30, 34, 42, 51, 60, 63, 69, 75, 92, 107, 125, 129, 142} {
		if d%step == 0 && (t != int4s || d >= ukernel.PackedColumns && d%2 == 0) {
			list = append(list, d)
		}
	}
	return list
}

// shortColumns lists the numbers below SkinnyGroup that kernels for 16 bits take.
func shortColumns() (list []int) {
	for d := NarrowLeast; d < ukernel.SkinnyGroup; d++ {
		list = append(list, d)
	}
	return list
}

func narrowQKCases(t element) func(w int) []kernelCase {
	return func(w int) (list []kernelCase) {
		columns := narrowColumns(t, NarrowStep)
		switch t {
		case factors:
			columns = append(narrowColumns(t, 1), 8, 9, 10, 11, 12, 13, 14, 15)
		case f16, bf16:
			columns = append(columns, shortColumns()...)
		}
		for _, n := range skinnyRowCounts(w) {
			for _, d := range columns {
				for _, m := range []int{16, 17, 23, 31, 32, 33, 47, 64} {
					i := len(list)
					list = append(list, narrowQKCase{t, n, m, d, i % 2 * 3, groupsOf(t, d, i), testutil.KindOf(i)})
				}
			}
		}
		return list
	}
}

func (c narrowQKCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	ldk, lsc := c.d+c.gap, c.m+c.gap
	k := newNarrowRows(a, r, "k", c.typ, c.values, c.m, c.d, ldk, ints.CeilDiv(c.d, c.group), c.m, lsc)
	rows := c.d
	if c.typ == factors {
		rows = ints.RoundUp(c.d, ukernel.SkinnyColumns)
	}
	q := a.Matrix("q", rows, w, w, testutil.NaN) // NaN stays in the idle lanes
	c.values.Fill(r, q, c.d, c.n, w)
	for i := c.d * w; i < len(q); i++ {
		if i%w < c.n {
			q[i] = math.Float32frombits(1 << 31)
		}
	}
	s := a.Matrix("s", c.m, w, w, testutil.NaN)
	top := a.Vector("max", w, 0)
	maxima(r, top, c.values)
	off, next := anyOrder(a, r, "off", c.m, 2*ldk), anyOrder(a, r, "next", c.m, 2*ldk)
	return func(p *kernelSet) {
		switch c.typ {
		case f16:
			p.Skinny.QKF16(s, k.u16, ldk, q, c.n, c.m, c.d, top, k.u16, 16*ldk)
		case bf16:
			p.Skinny.QKBF16(s, k.u16, ldk, q, c.n, c.m, c.d, top, k.u16, 16*ldk)
		case factors:
			p.Skinny.QKEvenOdd(s, k.u16, off, q, c.n, c.d, 0.7, top, next)
		default:
			p.Skinny.QKInt8(ukernel.QKInt8Args{S: s, K: k.i8, Ldk: ldk, Scales: k.scales, Lsc: lsc, Group: c.group, Q: q, N: c.n, M: c.m, D: c.d, Max: top, Next: k.i8, Far: 16 * ldk})
		}
	}
}

// A narrowPVCase is a call of PV with values of a type.
type narrowPVCase struct {
	typ element
	skinnyPVCase
	group int
}

func (c narrowPVCase) String() string {
	return fmt.Sprintf("%v group=%d", c.skinnyPVCase, c.group)
}

func narrowPVCases(t element) func(w int) []kernelCase {
	return func(w int) (list []kernelCase) {
		columns := narrowColumns(t, NarrowStep)
		switch t {
		case factors:
			columns = narrowColumns(t, ukernel.SkinnyGroup)
		case f16, bf16, int8s:
			columns = append(columns, shortColumns()...)
		}
		for _, n := range skinnyRowCounts(w) {
			for _, dv := range columns {
				for _, m := range []int{0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 70} {
					if m == 0 && t == factors {
						continue
					}
					i := len(list)
					c := skinnyPVCase{n, m, dv, i % 2 * 3, i % 3 * 2, i%5 == 0, testutil.KindOf(i)}
					list = append(list, narrowPVCase{t, c, groupsOf(t, dv, i)})
				}
			}
		}
		return list
	}
}

func (c narrowPVCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	groups := ints.CeilDiv(c.dv, c.group)
	ldv, ldo, lsc := c.dv+c.gapV, c.dv+c.gapO, groups+c.gapV
	v := newNarrowRows(a, r, "v", c.typ, c.values, c.m, c.dv, ldv, c.m, groups, lsc)
	p, o := c.weights(a, r, w), c.output(a, r)
	off, next := anyOrder(a, r, "off", c.m, 2*ldv), anyOrder(a, r, "next", c.m, 2*ldv)
	return func(k *kernelSet) {
		switch c.typ {
		case f16:
			k.Skinny.PVF16(o, ldo, v.u16, ldv, p, w, c.n, c.m, c.dv, c.load, v.u16, 16*ldv)
		case bf16:
			k.Skinny.PVBF16(o, ldo, v.u16, ldv, p, w, c.n, c.m, c.dv, c.load, v.u16, 16*ldv)
		case factors:
			k.Skinny.PVEvenOdd(o, ldo, v.u16, off, p, w, c.n, c.dv, c.load, next)
		default:
			k.Skinny.PVInt8(ukernel.PVInt8Args{O: o, Ldo: ldo, V: v.i8, Ldv: ldv, Scales: v.scales, Lsc: lsc, Group: c.group, P: p, Ldp: w, N: c.n, M: c.m, Dv: c.dv, Load: c.load, Next: v.i8, Far: 16 * ldv})
		}
	}
}

// TestSkinnyWidenAll tests the skinny kernels with all values of 16 bits, and with all of
// 8 bits and many scales: in K, one value per row, at every column of a step in turn, and
// in V.
func TestSkinnyWidenAll(t *testing.T) {
	for _, typ := range []element{f16, bf16, int8s, factors} {
		kernel := [...]string{"F16", "BF16", "Int8", "EvenOdd"}[typ]
		t.Run(kernel, func(t *testing.T) {
			const d, m = ukernel.SkinnyGroup, 1 << 16
			r, k, v := testutil.Rand(9), narrowRows{}, narrowRows{}
			k.u16, k.i8, k.scales = make([]uint16, m*d), make([]int8, m*d), make([]float32, m)
			v.u16, v.i8, v.scales = make([]uint16, m), make([]int8, m), make([]float32, m/256)
			for i := range m {
				v.u16[i], v.i8[i], v.scales[i/256] = uint16(i), int8(i), testutil.KindOf(i/256).Next(&r)
				at := i*d + i%d
				k.u16[at], k.i8[at], k.scales[i] = v.u16[i], v.i8[i], v.scales[i/256]
			}
			eachSet(t, "Skinny.QK"+kernel, func(t *testing.T, p *kernelSet) {
				ref := reference(p.Lanes)
				testutil.CheckBits(t, "keys", k.scores(p, typ, d), k.scores(ref, typ, d))
				testutil.CheckBits(t, "values", v.accumulate(p, typ), v.accumulate(ref, typ))
			})
		})
	}
}

// scores returns the products of all rows, d elements long with a scale each, and a query
// of ones.
func (k narrowRows) scores(p *kernelSet, typ element, d int) []float32 {
	w, m := p.Lanes, len(k.scales)
	s, q, top := make([]float32, m*w), testutil.Filled(d*w, 1), make([]float32, w)
	for j := 0; j < m; j += blockKeys {
		s, u16, i8 := s[j*w:], k.u16[j*d:], k.i8[j*d:]
		switch typ {
		case f16:
			p.Skinny.QKF16(s, u16, d, q, 1, blockKeys, d, top, u16, 0)
		case bf16:
			p.Skinny.QKBF16(s, u16, d, q, 1, blockKeys, d, top, u16, 0)
		case factors:
			off := make([]int, blockKeys)
			for i := range off {
				off[i] = 2 * i * d
			}
			p.Skinny.QKEvenOdd(s, u16, off, q, 1, d, 1, top, off)
		default:
			p.Skinny.QKInt8(ukernel.QKInt8Args{S: s, K: i8, Ldk: d, Scales: k.scales[j:], Lsc: blockKeys, Group: d, Q: q, N: 1, M: blockKeys, D: d, Max: top, Next: i8})
		}
	}
	return s
}

// accumulate returns all elements times 1, in rows of 4096. 256 elements share a scale.
func (v narrowRows) accumulate(p *kernelSet, typ element) []float32 {
	const dv, group = 4096, 256
	o, one := make([]float32, len(v.u16)), testutil.Filled(8, 1)
	for at := 0; at < len(o); at += dv {
		o, u16, i8 := o[at:], v.u16[at:], v.i8[at:]
		switch typ {
		case f16:
			p.Skinny.PVF16(o, dv, u16, dv, one, 1, 1, 1, dv, false, u16, 0)
		case bf16:
			p.Skinny.PVBF16(o, dv, u16, dv, one, 1, 1, 1, dv, false, u16, 0)
		case factors:
			p.Skinny.PVEvenOdd(o, dv, u16, []int{0}, one, 1, 1, dv, false, []int{0})
		default:
			p.Skinny.PVInt8(ukernel.PVInt8Args{O: o, Ldo: dv, V: i8, Ldv: dv, Scales: v.scales[at/group:], Group: group, P: one, Ldp: 1, N: 1, M: 1, Dv: dv, Next: i8})
		}
	}
	return o
}

var narrowMutants = []mutant{
	{"Skinny.HalvesE4M3", "a NaN is a number", func(p *kernelSet) {
		f := p.Skinny.HalvesE4M3
		p.Skinny.HalvesE4M3 = func(dst []uint16, ldd int, src []byte, lds, n, d int) {
			f(dst, ldd, src, lds, n, d)
			for i := range n * d {
				if src[i/d*lds+i%d] == 0xff {
					dst[i/d*ldd+i%d] = scalar.ToBF16(-480)
				}
			}
		}
	}},
	{"Skinny.HalvesE5M2", "the last number is left out", func(p *kernelSet) {
		f := p.Skinny.HalvesE5M2
		p.Skinny.HalvesE5M2 = func(dst []uint16, ldd int, src []byte, lds, n, d int) {
			f(dst, ldd, src, lds, n, max(d-1, ukernel.HalvesColumns))
		}
	}},
	{"Skinny.QKF16", "a subnormal is 0", func(p *kernelSet) {
		f := p.Skinny.QKF16
		p.Skinny.QKF16 = func(s []float32, k []uint16, ldk int, q []float32, n, m, d int, max []float32, next []uint16, far int) {
			flushed := make([]uint16, len(k))
			for i, x := range k {
				if flushed[i] = x; x&0x7c00 == 0 {
					flushed[i] = x & 0x8000
				}
			}
			f(s, flushed, ldk, q, n, m, d, max, next, far)
		}
	}},
	{"Skinny.QKInt8", "the scale comes after the sum", func(p *kernelSet) {
		f := p.Skinny.QKInt8
		p.Skinny.QKInt8 = func(a ukernel.QKInt8Args) {
			if a.Group < a.D {
				f(a)
				return
			}
			b := a
			b.Scales, b.Lsc, b.Max = testutil.Filled(a.M, 1), 0, testutil.Filled(len(a.Max), testutil.Inf)
			f(b)
			for j := range a.M {
				for lane := range p.Lanes {
					a.S[j*p.Lanes+lane] *= a.Scales[j]
				}
			}
			ref.MaskSpan(a.S, p.Lanes, 0, a.M, make([]int32, p.Lanes), filledInt32(p.Lanes, int32(a.M)), a.Max)
		}
	}},
	{"Skinny.PVInt8", "all of a row has the first scale", func(p *kernelSet) {
		f := p.Skinny.PVInt8
		p.Skinny.PVInt8 = func(a ukernel.PVInt8Args) {
			a.Group = a.Dv
			f(a)
		}
	}},
	{"Skinny.QKEvenOdd", "keys are no factors", func(p *kernelSet) {
		f := p.Skinny.QKEvenOdd
		p.Skinny.QKEvenOdd = func(s []float32, k []uint16, off []int, q []float32, n, d int, scale float32, max []float32, next []int) {
			f(s, k, off, q, n, d, scale, max, next)
			first := k[off[0]/2]
			if x := first &^ 0x8000; x > 0 && x < 0x2380 && scalar.BF16(first)*q[0] != 0 {
				s[0] += scalar.BF16(first) * q[0]
			}
		}
	}},
	{"Skinny.PVEvenOdd", "one chain for all rows", func(p *kernelSet) {
		p.Skinny.PVEvenOdd = p.Skinny.PVRowsBF16
	}},
	{"Skinny.PVBF16", "a half is rounded to 7 bits", func(p *kernelSet) {
		f := p.Skinny.PVBF16
		p.Skinny.PVBF16 = func(o []float32, ldo int, v []uint16, ldv int, w []float32, ldp, n, m, dv int, load bool, next []uint16, far int) {
			short := make([]uint16, len(v))
			for i, x := range v {
				short[i] = x &^ 1
			}
			f(o, ldo, short, ldv, w, ldp, n, m, dv, load, next, far)
		}
	}},
}
