package neon

import (
	"fmt"
	"math"
	"slices"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
)

// All that kernels of grouped formats know of the kinds of scales: binary16 or bfloat16 times
// integers, and float32.

// header makes the scales and minima, and sets numbers to the lanes' numbers.
func (w *groupWidener) header() {
	for i, q := range spec.GroupedKinds {
		next, last := fmt.Sprint("scales", i+1), i == len(spec.GroupedKinds)-1
		if !last {
			w.Op("MOVD", w.kind, w.count)
			w.Op("CMP", spec.ScaleKind(q), w.count)
			w.Jump("BNE", next)
		}
		if w.format = q; q.Float32Scales() {
			w.singles()
		} else {
			w.integers()
		}
		if !last {
			w.Goto("numbers")
			w.Label(next)
		}
	}
	w.Label("numbers")
}

// integers is header with scales of 16 bits and integers.
func (w *groupWidener) integers() {
	next := func() { w.Op("ADD", w.lanes.Shl(1), w.scales, w.scales) }
	if w.format.Segmented() {
		w.Op("MOVD", w.heads(), w.scales)
		w.Op("ADD", w.lane.Shl(1), w.scales, w.scales)
	}
	single := w.format.Integers() == 1
	w.Scope(func() {
		minima := w.format.Offset() == 0
		d := w.halves(w.scales, 0, groupVectors)
		next()
		var m []a64.Vec
		if minima {
			m = w.halves(w.scales, 0, groupVectors)
			next()
		}
		switch {
		case single:
			w.Op("ADD", w.lane, w.block, w.scales)
			next = func() { w.Op("ADD", w.lanes, w.scales, w.scales) }
		case w.format.Segmented():
			w.Op("ADD", w.lane.Shl(1), w.block, w.scales)
		}
		w.products(w.d[0], w.d[3], d, 1)
		next()
		if !minima {
			w.addOffset(slices.Concat(w.d[0], w.d[3]))
			return
		}
		first, second := w.Vecs(groupVectors), w.Vecs(groupVectors)
		w.products(first, second, m, -1)
		w.setMinima(append(first, second...))
		next()
	})
	w.Op("ADD", w.lane.Shl(1), w.scales, w.numbers)
	if single {
		w.Op("ADD", w.lane, w.numbers, w.numbers)
	}
	w.scaleBytes()
}

// heads is where the head of a segment is written down.
func (w *groupWidener) heads() a64.Param { return w.Base("b").Local() }

// passHead goes past the head before a block of a segmented format, if there is one. k inputs are
// left.
func (w *groupWidener) passHead(k a64.GP) {
	w.Op("AND", spec.InputSegment-1, k, w.count)
	w.Jump("CBNZ", "passed", w.count)
	w.Op("MOVD", w.block, w.heads())
	w.Op("MOVD", w.kind, w.count)
	for _, q := range spec.GroupedKinds {
		if !q.Segmented() {
			continue
		}
		next := "unlike" + q.String()
		w.Op("CMP", spec.ScaleKind(q), w.count)
		w.Jump("BNE", next)
		for range q.Halves() {
			w.Op("ADD", w.lanes.Shl(1), w.block, w.block)
		}
		w.Label(next)
	}
	w.Label("passed")
}

// scaleBytes makes the scales of the other bytes of a word.
func (w *groupWidener) scaleBytes() {
	w.times(w.d[1], w.d[0], 0x1p-8)
	w.times(w.d[2], w.d[3], 0x1p-16)
}

// singles is header with scales of float32.
func (w *groupWidener) singles() {
	w.Op("ADD", w.lane.Shl(1), w.scales, w.numbers)
	for _, half := range []int{0, 3} {
		w.LoadVecs(w.numbers, w.d[half])
		w.Op("ADD", w.row, w.numbers, w.numbers)
	}
	w.Scope(func() { w.addOffset(slices.Concat(w.d[0], w.d[3])) })
	w.scaleBytes()
}

// times sets ys to the products of xs and a number.
func (g *neon) times(ys, xs []a64.Vec, by float32) {
	factor := g.Broadcast(math.Float32bits(by))
	for i, y := range ys {
		g.FMUL(y, xs[i], factor)
	}
	g.Free(factor)
}

// products sets first and second to the products of the numbers in xs, times a sign, and the pairs
// of int8 at the scales. Every int8 is taken as the upper byte of an int16, and the numbers as
// smaller by as much, which is exact.
func (w *groupWidener) products(first, second, xs []a64.Vec, sign float32) {
	w.Scope(func() {
		pairs, small := w.Vec(), w.Vecs(len(xs))
		w.times(small, xs, sign*0x1p-8)
		if w.format.Integers() == 1 {
			w.loadTwice(w.scales, pairs)
		} else {
			w.LoadFrom(a64.At(w.scales, 0), pairs)
		}
		for i, ys := range [][]a64.Vec{first, second} {
			if i > 0 {
				w.Op("VUSHR", 8, pairs.H8(), pairs.H8())
			}
			w.Scope(func() {
				upper := w.Vec()
				w.Op("VSHL", 8, pairs.H8(), upper.H8())
				w.SXTL(ys[0], upper)
				w.SXTL2(ys[1], upper)
			})
			for v, y := range ys {
				w.SCVTF(y, y)
				w.FMUL(y, y, small[v])
			}
		}
	})
}

// WeightGemmInt8Grouped is WeightGemmInt8 for grouped formats.
func (g *neon) WeightGemmInt8Grouped(q ukernel.PackedFormat) {
	const name = "weightInt8Grouped"
	if q.Bits() == 8 {
		g.gemmInt8(name+"Long8", true, spec.WeightGemmInt8(q), q, groupedBlocks{&groupedLong{eight: true}, true})
		g.gemmInt8(name+"Dot8", true, spec.WeightGemmInt8Dot(q), q, groupedBlocks{&groupedSDOT{}, true})
		return
	}
	first := q == spec.GroupedFormats[0]
	g.gemmInt8(name+"Long", first, spec.WeightGemmInt8(q), q, groupedBlocks{&groupedLong{}, false})
	g.gemmInt8(name+"Dot", first, spec.WeightGemmInt8Dot(q), q, groupedBlocks{&groupedSDOT{}, false})
}

// Bits of an offset, above the 32 that count, for formats with scales of float32, for segmented
// ones, and for one integer of a scale and a block.
const (
	float32Bit   = 33
	segmentedBit = 34
	singleBit    = 35
)

// offsetOf returns the offset of a grouped format with these bits: none of 8-bit numbers, whose
// highest bit is flipped.
func offsetOf(q ukernel.PackedFormat) int {
	offset := q.Offset()
	if q.Bits() == 8 {
		offset = 0
	}
	if q.Float32Scales() {
		offset |= 1 << float32Bit
	}
	if q.Segmented() {
		offset |= 1 << segmentedBit
	}
	if q.Integers() == 1 {
		offset |= 1 << singleBit
	}
	return offset
}

// add adds the sums of a block to C. The scales of 8-bit numbers are float32.
func (b groupedBlocks) add(t *int8Gemmer, name func(part string) string) {
	if b.eight {
		b.addScaled(t)
		return
	}
	t.JumpIfBit(float32Bit, t.offset, name("float32"))
	t.Apart(func() {
		t.Label(name("float32"))
		t.Scope(func() { b.addScaled(t) })
		t.Goto(name("next"))
	})
	t.Scope(func() { b.addToC(t, name("scales")) })
	t.Jump("CBZ", name("next"), t.minima)
	b.takeMinima(t, name("minima"))
	t.Label(name("next"))
}

// addToC scales the sums and adds them to C.
func (b groupedBlocks) addToC(t *int8Gemmer, name string) {
	t.Scope(func() { b.scale(t, t.pairs(name, 0)) })
	t.Op("MOVD", t.heads(), t.p)
	t.Op("ADD", t.lane.Shl(1), t.p, t.p)
	scales, x, cs := t.halves(t.p, 0, int8Vectors), t.Vec(), t.Vecs(int8Vectors)
	product := t.Vec()
	t.Op("MOVD", t.xb, t.p)
	t.Op("ADD", t.lane.Shl(2), t.c, t.q)
	for _, row := range t.acc {
		t.Op("FMOVS", a64.At(t.p, spec.RowScale), x)
		t.Op("ADD", t.ldx, t.p, t.p)
		t.LoadVecs(t.q, cs)
		for v, c := range cs {
			t.SCVTF(row[v], row[v])
			t.FMULLane(product, scales[v], x.S(0))
			t.Op("VFMLA", product.S4(), row[v].S4(), c.S4())
		}
		t.StoreVecs(cs, t.q)
		t.Op("ADD", t.ldc, t.q, t.q)
	}
}

// addScaled adds the sums to C, times scales of float32. The product of the second group is added
// to +0, as otherwise a sum of zeros could be -0.
func (b groupedBlocks) addScaled(t *int8Gemmer) {
	var scales [2][]a64.Vec
	t.Op("ADD", t.lane.Shl(2), t.block, t.p)
	for i := range scales {
		scales[i] = t.Vecs(int8Vectors)
		t.LoadVecs(t.p, scales[i])
		t.Op("ADD", t.lanes.Shl(2), t.p, t.p)
	}
	d, zero, cs := t.Vec(), t.Vec(), t.Vecs(int8Vectors)
	t.Zero(zero)
	t.Op("MOVD", t.xb, t.p)
	t.Op("ADD", t.lane.Shl(2), t.c, t.q)
	for _, row := range t.acc {
		t.Op("FMOVS", a64.At(t.p, spec.RowScale), d)
		t.Op("VDUP", d.S(0), d.S4())
		t.Op("ADD", t.ldx, t.p, t.p)
		t.LoadVecs(t.q, cs)
		for v, c := range cs {
			first, second := b.groups(t, row, v)
			t.SCVTF(first, first)
			t.SCVTF(second, second)
			t.FMUL(second, second, scales[1][v])
			t.FADD(second, second, zero)
			t.Op("VFMLA", scales[0][v].S4(), first.S4(), second.S4())
			t.Op("VFMLA", d.S4(), second.S4(), c.S4())
		}
		t.StoreVecs(cs, t.q)
		t.Op("ADD", t.ldc, t.q, t.q)
	}
}

// takeMinima takes the minima off C, row by row.
func (b groupedBlocks) takeMinima(t *int8Gemmer, name string) {
	from, count := t.GP(), t.t
	t.Op("MOVD", t.heads(), t.p)
	t.Op("ADD", t.lane.Shl(1), t.p, t.p)
	t.Op("ADD", t.lanes.Shl(1), t.p, t.p)
	minima := t.halves(t.p, 0, int8Vectors)
	integers := t.pairs(name, 1)
	minus, sums, x, cs := t.Vec(), t.Vecs(2), t.Vec(), t.Vecs(int8Vectors)
	t.Op("MOVD", t.xb, t.p)
	t.Op("ADD", t.lane.Shl(2), t.c, t.q)
	t.Op("MOVD", b.place(t, 0, rowMinus).Addr(), from)
	t.eachRow(count, name, func() {
		t.LoadFrom(a64.At(from, 0), minus)
		t.Op("ADD", b.rowVectors()*emit.VecBytes, from, from)
		t.Op("FMOVS", a64.At(t.p, spec.RowScale), x)
		t.Op("ADD", t.ldx, t.p, t.p)
		t.LoadVecs(t.q, cs)
		for v, c := range cs {
			for i, sum := range sums {
				t.MUL(sum, integers[2*v+i], minus)
			}
			t.Op("VADDP", sums[1].S4(), sums[0].S4(), sums[0].S4())
			t.SCVTF(sums[0], sums[0])
			t.FMULLane(sums[1], minima[v], x.S(0))
			t.Op("VFMLA", sums[1].S4(), sums[0].S4(), c.S4())
		}
		t.StoreVecs(cs, t.q)
		t.Op("ADD", t.ldc, t.q, t.q)
	})
}
