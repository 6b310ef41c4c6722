package amd64

import (
	"math/bits"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A vnniWhole multiplies formats that have an integer for all steps of a block, in whole panels.
// Its words need no order by groups, see vnniGrouped: a word of weights takes the instructions
// that make its numbers, and a VPDPBUSD. The sum of 32 products is at most 125,984 with 5 bits, and
// times an integer of 8 bits it is exact in float32. It is added to +0, as vnniGrouped's.
type vnniWhole struct{ vnniGrouped }

// A vnniHalves multiplies formats that have an integer for each half of the steps by few rows. As
// with AVX2, see avx2Grouped, VPMADDUBSW keeps the halves apart. VPDPWSSD multiplies the sums of
// two words by the integers, and VPMADDWD with 4 bits the sums of a block.
type vnniHalves struct{ vnniWhole }

// wholeBlocks emits the products of the first format if it has an integer for all steps, and
// returns what is left to emit: the other formats.
func (t *int8Gemmer) wholeBlocks() *int8Gemmer {
	rest := *t
	if t.formats[0].Integers() > 1 {
		return &rest
	}
	t.g.CMPQ(t.which, operand.Imm(uint64(t.formats[0])))
	t.g.JNE(operand.LabelRef("others"))
	first := *t
	first.formats, first.format = t.formats[:1], t.formats[0]
	first.wholePanel(&vnniWhole{}, "whole")
	t.g.Label("others")
	rest.formats = t.formats[1:]
	return &rest
}

// wholePanel emits the products of whole panels. What follows is for others. Four rows are the
// most: more have no registers for what makes C of their sums.
func (t *int8Gemmer) wholePanel(dot int8Dot, name string) {
	t.g.CMPQ(t.lanes2, operand.Imm(2*spec.PanelLanes))
	t.g.JNE(operand.LabelRef(name + "none"))
	for rows := manyRows; rows > 0; rows-- {
		t.tile(dot, spec.TileShape{Vectors: manyVectors, Rows: rows}, name)
	}
	t.finish()
	t.g.Label(name + "none")
}

func (*vnniWhole) prepare(*int8Gemmer) {}

// bothHalves emits f for so many words of numbers at once, ws by word and vector: a word of the
// panel has one in the lower halves of its bytes, and one in the upper halves.
//
// Prefetches follow each f: a CPU drops those for which it has no buffer, so they come a few at a
// time.
func (*vnniWhole) bothHalves(t *int8Gemmer, atOnce int, f func(word int, ws [][]reg.VecVirtual)) {
	g, masks := t.g, t.g.numberMasks(t.format)
	for from := 0; from < manyWords/2; from += atOnce {
		for half := range 2 {
			first, ws := from+half*manyWords/2, make([][]reg.VecVirtual, atOnce)
			for i := range ws {
				ws[i] = g.Vecs(manyVectors)
				for v := range ws[i] {
					ws[i][v] = g.number(t.format, masks, emit.At(t.numbers, v*g.VecBytes()), first+i)
				}
			}
			f(first, ws)
			t.prefetch(manyWords / atOnce)
		}
	}
	t.prefetchRest(manyWords / atOnce)
}

func (d *vnniWhole) sums(t *int8Gemmer, _ string) {
	g, x, zero := t.g, t.g.rowsFrom(t.x, t.ldx, t.rows), t.g.Vec()
	t.eachAcc(func(_, _ int, acc reg.VecVirtual) { g.Zero(g.Context, acc) })
	d.bothHalves(t, 1, func(word int, ws [][]reg.VecVirtual) {
		for i, row := range t.acc {
			codes := g.Vec()
			g.VPBROADCASTD(x.at(i, 4*word), codes)
			for v, w := range ws[0] {
				g.VPDPBUSD(codes, w, row[v])
			}
		}
	})
	g.Zero(g.Context, zero)
	for v := range manyVectors {
		integer := g.Vec()
		g.VPMOVSXBD(emit.At(t.block, v*g.Lanes()), integer)
		g.VCVTDQ2PS(integer, integer)
		for _, row := range t.acc {
			g.VCVTDQ2PS(row[v], row[v])
			g.VFMADD213PS(zero, integer, row[v])
		}
	}
	t.floats = true
}

func (d *vnniHalves) sums(t *int8Gemmer, name string) {
	if t.format.Bits() == 4 {
		d.sums4(t, name)
		return
	}
	g, x, integers := t.g, t.g.rowsFrom(t.x, t.ldx, t.rows), t.g.Vecs(manyVectors)
	t.loadIntegers(name, 0, integers)
	t.eachAcc(func(i, v int, acc reg.VecVirtual) {
		if t.format.Offset() == 0 {
			g.Zero(g.Context, acc)
			return
		}
		g.VPBROADCASTD(x.at(i, spec.RowGroups), acc)
		g.VPMADDWD(integers[v], acc, acc)
		g.VPSLLD(operand.Imm(uint64(bits.TrailingZeros(uint(t.format.Offset())))), acc, acc)
	})
	d.bothHalves(t, 2, func(word int, ws [][]reg.VecVirtual) {
		for i, row := range t.acc {
			a, b := g.Vec(), g.Vec()
			g.VPBROADCASTD(x.at(i, 4*word), a)
			g.VPBROADCASTD(x.at(i, 4*word+4), b)
			for v, acc := range row {
				p, q := g.Vec(), g.Vec()
				g.VPMADDUBSW(a, ws[0][v], p)
				g.VPMADDUBSW(b, ws[1][v], q)
				g.VPADDW(q, p, p)
				g.VPDPWSSD(integers[v], p, acc)
			}
		}
	})
}

// sums4 multiplies by the integers at the end: 16 bits hold the sums of a block.
func (d *vnniHalves) sums4(t *int8Gemmer, name string) {
	g, x := t.g, t.g.rowsFrom(t.x, t.ldx, t.rows)
	t.eachAcc(func(_, _ int, acc reg.VecVirtual) { g.Zero(g.Context, acc) })
	d.bothHalves(t, 1, func(word int, ws [][]reg.VecVirtual) {
		for i, row := range t.acc {
			codes := g.Vec()
			g.VPBROADCASTD(x.at(i, 4*word), codes)
			for v, acc := range row {
				p := g.Vec()
				g.VPMADDUBSW(codes, ws[0][v], p)
				g.VPADDW(p, acc, acc)
			}
		}
	})
	t.eachInteger(name, func(v int, s reg.VecVirtual) {
		for _, row := range t.acc {
			g.VPMADDWD(s, row[v], row[v])
		}
	})
}
