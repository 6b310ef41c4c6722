package amd64

import (
	"math/bits"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/loop"
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
	t.eachTile(dot, wholeTiles(manyRows), name)
	t.finish()
	t.g.Label(name + "none")
}

func (*vnniWhole) prepare(*int8Gemmer) {}

// bothHalves emits the loop over the words of a panel, so many at once, and f for the numbers in
// the lower halves of their bytes, then for those in the upper halves: ws by word and vector. x
// moves on with them, and the codes of the first word are disp bytes from there.
//
// Prefetches follow each f: a CPU drops those for which it has no buffer, so they come a few at a
// time.
func (*vnniWhole) bothHalves(t *int8Gemmer, x rowPointers, atOnce int, name string, f func(disp int, ws [][]reg.VecVirtual)) {
	g, q, masks, count := t.g, t.format, t.g.numberMasks(t.format), t.g.GP64()
	vector := func(p reg.GPVirtual, v int) operand.Mem { return emit.At(p, v*g.VecBytes()) }
	far, high := t.numbers, []reg.VecVirtual(nil) // of more bits, as far as words move on
	switch q.Bits() {
	case 5:
		high = g.Vecs(manyVectors)
		for v, h := range high {
			g.VMOVDQU32(g.further(q, vector(t.numbers, v), 0), h)
		}
	case 6:
		far = g.GP64()
		g.MOVQ(t.numbers, far)
	}
	g.MOVQ(operand.U32(manyWords/2/atOnce), count)
	g.AlignLoop()
	loop.Times(g, count, name, func() {
		for half := range 2 {
			ws := make([][]reg.VecVirtual, atOnce)
			for i := range ws {
				ws[i] = g.Vecs(manyVectors)
				for v := range ws[i] {
					further := operand.Op(g.further(q, vector(far, v), i))
					if high != nil {
						further = high[v]
					}
					ws[i][v] = g.number(q, masks, vector(t.numbers, v), i+half*manyWords/2, further)
				}
			}
			f(4*half*manyWords/2, ws)
			t.prefetch(manyWords / atOnce)
		}
		for _, h := range high {
			g.VPSRLD(operand.Imm(uint64(atOnce)), h, h)
		}
		if far != t.numbers {
			g.ADDQ(operand.I32(manyVector), far)
		}
		g.ADDQ(operand.I32(atOnce*manyVector), t.numbers)
		x.advance(g, 4*atOnce)
	})
	t.prefetchRest(manyWords / atOnce)
}

func (d *vnniWhole) sums(t *int8Gemmer, name string) {
	g, x, zero := t.g, t.g.rowsFrom(t.x, t.ldx, t.rows), t.g.Vec()
	t.eachAcc(func(_, _ int, acc reg.VecVirtual) { g.Zero(g.Context, acc) })
	d.bothHalves(t, x, 1, name, func(disp int, ws [][]reg.VecVirtual) {
		t.eachRow(func(i int) {
			codes := g.Vec()
			g.VPBROADCASTD(x.at(i, disp), codes)
			for v, w := range ws[0] {
				g.VPDPBUSD(codes, w, t.acc[i][v])
			}
		})
	})
	g.Zero(g.Context, zero)
	for v := range manyVectors {
		integer := g.Vec()
		g.VPMOVSXBD(emit.At(t.block, v*g.Lanes()), integer)
		g.VCVTDQ2PS(integer, integer)
		t.eachRow(func(i int) {
			g.VCVTDQ2PS(t.acc[i][v], t.acc[i][v])
			g.VFMADD213PS(zero, integer, t.acc[i][v])
		})
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
	if t.format.Offset() == 0 {
		t.eachAcc(func(_, _ int, acc reg.VecVirtual) { g.Zero(g.Context, acc) })
	} else {
		t.clearOthers(t.acc)
		t.eachOf(t.acc, func(i, v int, acc reg.VecVirtual) {
			g.VPBROADCASTD(x.at(i, spec.RowGroups), acc)
			g.VPMADDWD(integers[v], acc, acc)
			g.VPSLLD(operand.Imm(uint64(bits.TrailingZeros(uint(t.format.Offset())))), acc, acc)
		})
	}
	d.bothHalves(t, x, 2, name+"pair", func(disp int, ws [][]reg.VecVirtual) {
		t.eachRow(func(i int) {
			a, b := g.Vec(), g.Vec()
			g.VPBROADCASTD(x.at(i, disp), a)
			g.VPBROADCASTD(x.at(i, disp+4), b)
			for v, acc := range t.acc[i] {
				p, q := g.Vec(), g.Vec()
				g.VPMADDUBSW(a, ws[0][v], p)
				g.VPMADDUBSW(b, ws[1][v], q)
				g.VPADDW(q, p, p)
				g.VPDPWSSD(integers[v], p, acc)
			}
		})
	})
}

// sums4 multiplies by the integers at the end: 16 bits hold the sums of a block.
func (d *vnniHalves) sums4(t *int8Gemmer, name string) {
	g, x := t.g, t.g.rowsFrom(t.x, t.ldx, t.rows)
	t.eachAcc(func(_, _ int, acc reg.VecVirtual) { g.Zero(g.Context, acc) })
	d.bothHalves(t, x, 1, name, func(disp int, ws [][]reg.VecVirtual) {
		t.eachRow(func(i int) {
			codes := g.Vec()
			g.VPBROADCASTD(x.at(i, disp), codes)
			for v, acc := range t.acc[i] {
				p := g.Vec()
				g.VPMADDUBSW(codes, ws[0][v], p)
				g.VPADDW(p, acc, acc)
			}
		})
	})
	t.eachInteger(name+"integers", func(v int, s reg.VecVirtual) {
		t.eachRow(func(i int) { g.VPMADDWD(s, t.acc[i][v], t.acc[i][v]) })
	})
}
