package amd64

import (
	"fmt"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Dropout drops weights, one vector of lanes after the other. An evaluation of Philox
// gives the random numbers of 4 keys, one vector each. A round turns the counter
// (c0, c1, c2, c3) into, with the low and high words of the products,
//
//	(high(M1·c2) ^ c1 ^ k0, low(M1·c2), high(M0·c0) ^ c3 ^ k1, low(M0·c0))
//
// A product of 32-bit numbers has 64 bits. So a vector of lanes is computed in two halves,
// with numbers in the lower words of 64-bit lanes and anything in the upper words: then the
// low word of a product needs no move.
//
// The counters of a tile, (sequence, head, position, key / 4), differ little: the first and
// the last word are the same in all lanes. The products of the first round do not depend on
// the key. After it one word depends on the key, and it is still the same in all lanes. So
// the product of the second round that depends on the key is a scalar one, and only from
// the third round on everything is computed in vectors for every 4 keys.
//
// Vector registers: 3 words of each half that do not depend on the key, the 4 words of the
// first half while the second is computed, and for that 4 words and 2 more.
func (g *gen) Dropout() {
	g.Kernel(spec.Dropout)
	d := dropper{g: g, s: g.Slice("s"), ld: g.Stride("ld"), keys: g.Slice("keys"), head: g.Slice("head"), pos: g.Slice("pos"),
		m0: g.AtHand(g.Constant(spec.PhiloxM0)), m1: g.AtHand(g.Constant(spec.PhiloxM1))}
	left := g.SliceLen("pos")
	d.rows = g.Num("n")
	g.JumpIfZero(d.rows, "done")
	loop.Lanes(g, left, "One vector of lanes, an evaluation of Philox per iteration.", []reg.GPVirtual{d.s, d.head, d.pos}, nil, func() {
		d.begin()
		g.AlignLoop()
		g.Label("group")
		d.apply(d.words())
		g.INCQ(d.group)
		g.Goto("group")
		d.enter()
		g.Label("next")
	})
	g.Label("done")
	g.Return()
}

type dropper struct {
	g                      *gen
	s, ld, keys, head, pos reg.GPVirtual
	m0, m1                 operand.Op

	row, rows reg.GPVirtual        // the current row, rows left
	group     reg.GPVirtual        // number of the row's key / 4
	first     reg.GPVirtual        // the first row's key in its group, then 0
	mixed     reg.GPVirtual        // the number that the first round adds to the last word of the counter
	halves    [2][3]reg.VecVirtual // c1 after the first round, c2 and c3 after the second
}

// apply drops weights of up to 4 rows by the numbers of their group, from row first on.
func (d *dropper) apply(words []reg.VecVirtual) {
	d.g.Comment("Keep or drop, row by row.")
	threshold, scale := d.g.Vec(), d.g.Vec()
	d.g.VBROADCASTSS(d.g.Argument("threshold"), threshold)
	d.g.VBROADCASTSS(d.g.Argument("scale"), scale)
	d.g.TESTQ(d.first, d.first)
	d.g.JNZ(operand.LabelRef("within"))
	for w, word := range words {
		if w > 0 {
			d.g.Label(fmt.Sprintf("word%d", w))
		}
		x := d.g.Vec()
		d.g.VMULPS(emit.At(d.row, 0), scale, x)
		d.g.ZeroBelow(d.g.Context, x, word, threshold)
		d.g.VMOVUPS(x, emit.At(d.row, 0))
		d.g.ADDQ(d.ld, d.row)
		d.g.DECQ(d.rows)
		d.g.JZ(operand.LabelRef("next"))
	}
}

// enter jumps into apply at row first, once.
func (d *dropper) enter() {
	d.g.Comment("The first key is not the first of its group.")
	d.g.Label("within")
	w := d.g.GP64()
	d.g.MOVQ(d.first, w)
	d.g.XORQ(d.first, d.first)
	d.g.CMPQ(w, operand.Imm(2))
	d.g.JL(operand.LabelRef("word1"))
	d.g.JE(operand.LabelRef("word2"))
	d.g.JMP(operand.LabelRef("word3"))
}

// begin begins a vector of lanes: it computes all that does not depend on the key.
func (d *dropper) begin() {
	d.row, d.rows, d.group, d.first, d.mixed = d.g.GP64(), d.g.Num("n"), d.g.Num("j0"), d.g.GP64(), d.g.GP64()
	d.g.MOVQ(d.s, d.row)
	d.g.MOVQ(d.group, d.first)
	d.g.SHRQ(operand.Imm(2), d.group)
	d.g.ANDQ(operand.Imm(3), d.first)
	d.g.Comment("The first two rounds, without the key.")
	m, low, x := d.g.GP64(), d.g.Vec(), d.g.XMM()
	d.g.MOVL(d.g.Argument("sequence"), d.mixed.As32())
	d.g.MOVL(operand.U32(spec.PhiloxM0), m.As32())
	d.g.IMULQ(m, d.mixed)
	d.g.VMOVD(d.mixed.As32(), x)
	d.g.VPBROADCASTD(x, low)
	d.g.SHRQ(operand.Imm(32), d.mixed)
	d.g.XORL(d.key(1), d.mixed.As32())
	head, pos := d.spread(d.head), d.spread(d.pos)
	for h := range d.halves {
		c0, c1 := d.g.Vec(), d.g.Vec()
		d.g.VPMULUDQ(d.m1, pos[h], c1)
		d.g.VPSRLQ(operand.Imm(32), c1, c0)
		d.g.Xor(d.g.Context, c0, head[h], d.key(0))
		c2, c3 := d.g.Vec(), d.g.Vec()
		d.g.VPMULUDQ(d.m0, c0, c3)
		d.g.VPSRLQ(operand.Imm(32), c3, c2)
		d.g.Xor(d.g.Context, c2, low, d.key(3))
		d.halves[h] = [3]reg.VecVirtual{c1, c2, c3}
	}
}

// spread loads a vector and returns its halves: the first and the last two numbers of
// every quarter.
func (d *dropper) spread(p reg.GPVirtual) [2]reg.VecVirtual {
	x, h := d.g.Vec(), [2]reg.VecVirtual{d.g.Vec(), d.g.Vec()}
	d.g.VMOVUPS(emit.At(p, 0), x)
	d.g.VPUNPCKLDQ(x, x, h[0])
	d.g.VPUNPCKHDQ(x, x, h[1])
	return h
}

// key is the memory of a round key. A round has two.
func (d *dropper) key(i int) operand.Mem { return emit.At(d.keys, 4*i) }

// words emits an evaluation of Philox.
func (d *dropper) words() []reg.VecVirtual {
	d.g.Comment("The second round's product of the word with the key.")
	p, m, x, low, high := d.g.GP64(), d.g.GP64(), d.g.XMM(), d.g.Vec(), d.g.Vec()
	d.g.MOVL(d.group.As32(), p.As32())
	d.g.XORL(d.mixed.As32(), p.As32())
	d.g.MOVL(operand.U32(spec.PhiloxM1), m.As32())
	d.g.IMULQ(m, p)
	d.g.VMOVD(p.As32(), x)
	d.g.VPBROADCASTD(x, low)
	d.g.SHRQ(operand.Imm(32), p)
	d.g.XORL(d.key(2), p.As32())
	d.g.VMOVD(p.As32(), x)
	d.g.VPBROADCASTD(x, high)
	var w [][]reg.VecVirtual
	if d.g.EVEX() { // registers for both halves at once, which then hide each other's latency
		w = d.rounds(d.halves[:], low, high)
	} else {
		w = append(d.rounds(d.halves[:1], low, high), d.rounds(d.halves[1:], low, high)...)
	}
	d.g.Comment("Put the numbers of both halves into one vector.")
	for i, x := range w[0] {
		d.g.VSHUFPS(operand.Imm(0x88), w[1][i], x, x)
	}
	return w[0]
}

// rounds emits the end of the second round of some halves, and the remaining rounds.
func (d *dropper) rounds(halves [][3]reg.VecVirtual, low, high reg.VecVirtual) [][]reg.VecVirtual {
	d.g.Comment("The rounds from the third on.")
	c := make([][]reg.VecVirtual, len(halves))
	for h, half := range halves {
		c0 := d.g.Vec()
		d.g.VXORPS(high, half[0], c0)
		c[h] = []reg.VecVirtual{c0, low, half[1], half[2]}
	}
	for r := 2; r < spec.PhiloxRounds; r++ {
		for h := range c {
			c[h] = d.round(r, c[h])
		}
	}
	return c
}

func (d *dropper) round(r int, c []reg.VecVirtual) []reg.VecVirtual {
	low0, low1, high0, high1 := d.g.Vec(), d.g.Vec(), d.g.Vec(), d.g.Vec()
	d.g.VPMULUDQ(d.m0, c[0], low0)
	d.g.VPMULUDQ(d.m1, c[2], low1)
	d.g.VPSRLQ(operand.Imm(32), low1, high1)
	d.g.Xor(d.g.Context, high1, c[1], d.key(2*r))
	d.g.VPSRLQ(operand.Imm(32), low0, high0)
	d.g.Xor(d.g.Context, high0, c[3], d.key(2*r+1))
	return []reg.VecVirtual{high1, low1, high0, low0}
}
