package amd64

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// All that kernels of grouped formats know of the kinds of scales: binary16 times integers, and
// float32.

// header makes the scales and minima of some lanes, and sets numbers to theirs.
func (w *groupWidener) header(block, lane reg.GPVirtual) {
	for i, q := range spec.GroupedKinds {
		next, last := fmt.Sprint("scales", i+1), i == len(spec.GroupedKinds)-1
		if !last {
			w.g.CMPQ(w.about.kind, operand.Imm(uint64(spec.ScaleKind(q))))
			w.g.JNE(operand.LabelRef(next))
		}
		if w.format = q; q.Float32Scales() {
			w.singles(block, lane)
		} else {
			w.halves(block, lane)
		}
		if !last {
			w.g.JMP(operand.LabelRef("numbers"))
			w.g.Label(next)
		}
	}
	w.g.Label("numbers")
}

// halves is header with scales of 16 bits and integers.
func (w *groupWidener) halves(block, lane reg.GPVirtual) {
	g, p := w.g, w.g.GP64()
	next := func() { g.LEAQ(emit.Indexed(p, w.lanes, 2), p) }
	if w.format.Segmented() {
		g.MOVQ(w.about.heads, p)
		g.LEAQ(emit.Indexed(p, lane, 2), p)
	} else {
		g.LEAQ(emit.Indexed(block, lane, 2), p)
	}
	scale, least := g.Vec(), g.Vec()
	g.VCVTPH2PS(emit.At(p, 0), scale)
	next()
	minima := w.format.Offset() == 0
	if minima {
		g.VCVTPH2PS(emit.At(p, 0), least)
		next()
	}
	integers := uint8(w.format.Integers())
	if w.format.Segmented() {
		g.LEAQ(emit.Indexed(block, lane, integers), p)
		next = func() { g.LEAQ(emit.Indexed(p, w.lanes, integers), p) }
	}
	w.products(p, scale, w.d)
	next()
	if minima {
		w.products(p, least, w.m)
		next()
	} else {
		w.takeOffset()
	}
	g.LEAQ(emit.Indexed(p, lane, 2), w.numbers)
	if integers == 1 {
		g.ADDQ(lane, w.numbers)
	}
}

// passHead goes past the head before a block of a segmented format, if there is one. k inputs are
// left.
func (w *groupWidener) passHead(block, lanes, k reg.GPVirtual) {
	g := w.g
	g.TESTQ(operand.U32(spec.InputSegment-1), k)
	g.JNZ(operand.LabelRef("passed"))
	g.MOVQ(block, w.about.heads)
	for _, q := range spec.GroupedKinds {
		if !q.Segmented() {
			continue
		}
		next := "unlike" + q.String()
		g.CMPQ(w.about.kind, operand.Imm(uint64(spec.ScaleKind(q))))
		g.JNE(operand.LabelRef(next))
		for range q.Halves() {
			g.LEAQ(emit.Indexed(block, lanes, 2), block)
		}
		g.Label(next)
	}
	g.Label("passed")
}

// takeOffset makes the minima of a format with an offset.
func (w *groupWidener) takeOffset() {
	for i, d := range w.d {
		w.g.VMULPS(w.g.Constant(math.Float32bits(float32(w.format.Offset()))), d, w.m[i])
	}
}

// singles is header with scales of float32.
func (w *groupWidener) singles(block, lane reg.GPVirtual) {
	w.g.LEAQ(emit.Indexed(block, lane, 4), w.numbers)
	for _, d := range w.d {
		w.g.VMOVUPS(emit.At(w.numbers, 0), d)
		w.g.ADDQ(w.row, w.numbers)
	}
	w.takeOffset()
}

// widenScales loads scales or minima of a format.
func (g *gen) widenScales(q ukernel.PackedFormat, from operand.Mem, v reg.VecVirtual) {
	if q.BFloat16Scales() {
		g.VPMOVZXWD(from, v)
		g.VPSLLD(operand.Imm(16), v, v)
		return
	}
	g.VCVTPH2PS(from, v)
}

// products makes y the products of x and the int8 at p, for both halves of the steps or each.
func (w *groupWidener) products(p reg.GPVirtual, x reg.VecVirtual, y [2]reg.VecVirtual) {
	g := w.g
	if w.format.Integers() == 1 {
		g.VPMOVSXBD(emit.At(p, 0), y[0])
		g.VCVTDQ2PS(y[0], y[0])
		g.VMULPS(x, y[0], y[0])
		g.VMOVUPS(y[0], y[1])
		return
	}
	g.VPMOVSXBW(emit.At(p, 0), y[1])
	g.VPSLLD(operand.Imm(16), y[1], y[0])
	for _, v := range y {
		g.VPSRAD(operand.Imm(16), v, v)
		g.VCVTDQ2PS(v, v)
		g.VMULPS(x, v, v)
	}
}

// scales returns the scales of 16 lanes by groups: integers of 32 bits, and float32 with more than
// 4 bits.
func (d *vnniGrouped) scales(t *int8Gemmer, name string) (scales [2]reg.VecVirtual) {
	g, from := t.g, t.g.GP64()
	if t.format.Float32Scales() {
		g.LEAQ(emit.Indexed(t.block, t.lane2, 2), from)
		scales = [2]reg.VecVirtual{g.Vec(), g.Vec()}
		g.VMOVUPS(emit.At(from, 0), scales[0])
		g.VMOVUPS(emit.Indexed(from, t.lanes2, 2), scales[1])
		return scales
	}
	t.eachInteger(name, func(_ int, s reg.VecVirtual) {
		scales = [2]reg.VecVirtual{g.Vec(), s}
		g.VPSLLD(operand.Imm(16), s, scales[0])
		for _, v := range scales {
			if d.wide(t) {
				g.VPSRAD(operand.Imm(16), v, v)
				g.VCVTDQ2PS(v, v)
			} else {
				g.VPSRLD(operand.Imm(16), v, v)
			}
		}
	})
	return scales
}

// groupedDot returns how AVX2 multiplies a format.
func groupedDot(q ukernel.PackedFormat) int8Dot {
	switch {
	case q.Float32Scales():
		return avx2Scales{}
	case q.Bits() == 4:
		return avx2Grouped{}
	}
	return avx2GroupedBytes{}
}

// avx2Scales is avx2GroupedBytes with scales of float32 for both groups, whose sums have
// accumulators of their own: VPMADDWD with 1 and 0 takes the first group's, with 0 and 1 the
// second's.
type avx2Scales struct{ avx2GroupedBytes }

func (avx2Scales) tiles(ukernel.PackedFormat) [][]spec.TileShape {
	return [][]spec.TileShape{{{Vectors: 2, Rows: 2}, {Vectors: 2, Rows: 1}}}
}

// groupFactor has a factor for a group and 0 for the other, 16 bits each.
func (t *int8Gemmer) groupFactor(group int, factor uint32) operand.Mem {
	return t.g.Constant(factor << (16 * group))
}

func (d avx2Scales) sums(t *int8Gemmer, name string) {
	g := t.g
	second, x := make([][]reg.VecVirtual, t.rows), g.rowsFrom(t.x, t.ldx, t.rows)
	for i := range second {
		second[i] = g.Vecs(t.vectors)
	}
	t.clearOthers(t.acc)
	t.clearOthers(second)
	t.eachRow(func(i int) {
		for v, first := range t.acc[i] {
			for group, acc := range []reg.VecVirtual{first, second[i][v]} {
				g.VPBROADCASTD(x.at(i, spec.RowGroups), acc)
				g.VPMADDWD(t.groupFactor(group, 1), acc, acc)
				g.VPSLLD(operand.Imm(uint64(bits.TrailingZeros(uint(t.format.Offset())))), acc, acc)
			}
		}
	})
	add := func(factor uint32) func(i, v int, p reg.VecVirtual) {
		return func(i, v int, p reg.VecVirtual) {
			q := g.Vec()
			g.VPMADDWD(t.groupFactor(1, factor), p, q)
			g.VPADDD(q, second[i][v], second[i][v])
			g.VPMADDWD(t.groupFactor(0, factor), p, p)
			g.VPADDD(p, t.acc[i][v], t.acc[i][v])
		}
	}
	if t.format.Bits() == 8 { // the lower 4 bits of all numbers, then the upper ones
		d.words(t, name, 0, add(1))
		d.words(t, name+"upper", 0, add(16))
	} else {
		d.words(t, name, t.format.Bits()-4, add(1))
	}
	t.prefetchRest(t.wordPairs())
	t.scaleGroups(second)
	t.scaled = true
}

// scaleGroups makes the accumulators float32: the sums of both groups, times their scales. The
// second product is added to +0, as otherwise a sum of zeros could be -0.
func (t *int8Gemmer) scaleGroups(second [][]reg.VecVirtual) {
	g, zero, from := t.g, t.g.Vec(), t.g.GP64()
	g.VPXOR(zero, zero, zero)
	for group := 1; group >= 0; group-- {
		g.LEAQ(emit.Indexed(t.block, t.lane2, 2), from)
		if group == 1 {
			g.LEAQ(emit.Indexed(from, t.lanes2, 2), from)
		}
		for v := range t.acc[0] {
			scale := g.Vec()
			g.VMOVUPS(emit.At(from, v*g.VecBytes()), scale)
			t.eachRow(func(i int) {
				acc, s := t.acc[i][v], second[i][v]
				if group == 1 {
					g.VCVTDQ2PS(s, s)
					g.VFMADD213PS(zero, scale, s)
				} else {
					g.VCVTDQ2PS(acc, acc)
					g.VFMADD213PS(s, scale, acc)
				}
			})
		}
	}
}

// addScaled adds accumulators of float32 to C, times the scales of the rows.
func (t *int8Gemmer) addScaled(x, c rowPointers) {
	g := t.g
	t.eachRow(func(i int) {
		d := g.Vec()
		g.VBROADCASTSS(x.at(i, spec.RowScale), d)
		for v, acc := range t.acc[i] {
			g.VFMADD213PS(c.at(i, v*g.VecBytes()), d, acc)
			g.VMOVUPS(acc, c.at(i, v*g.VecBytes()))
		}
	})
}
