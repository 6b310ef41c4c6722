package amd64

import (
	"fmt"

	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Bias adds the biases of a row of keys to every lane, one vector of lanes after
// the other: a transpose of as many keys as there are lanes, see transpose.go, and
// then the keys' rows of scores one by one. What is left goes 4 keys at a time and
// then key by key: a step back to the last 4 would add to some scores twice.
//
// With AVX-512 a load takes a whole line of the cache. Rows of biases often lie a
// power of two apart; then 16 lines do not stay in L1 from one turn to the next.
func (g *gen) Bias() {
	g.function(spec.Bias)
	b := biaser{gen: g, s: g.slice("s"), ld: g.stride("ld"), src: g.slice("src"), off: g.slice("off"), max: g.slice("max"), factor: g.vec()}
	n, left := g.num("n"), g.sliceLen("max")
	g.VMOVUPS(g.constant(spec.Log2E), b.factor)
	b.inf = g.atHand(g.constant(spec.MinusInf))
	g.Comment("One vector of lanes, its maximum in a register.")
	g.Label("lanes")
	b.top, b.row, b.key = g.vec(), g.GP64(), g.GP64()
	g.VMOVUPS(at(b.max, 0), b.top)
	g.MOVQ(b.s, b.row)
	g.MOVQ(b.src, b.key)
	keys := g.GP64()
	g.MOVQ(n, keys)
	b.turns(g.lanes(), keys, b.square)
	b.turns(4, keys, b.four)
	g.JZ(operand.LabelRef("next"))
	g.Label("one")
	b.one()
	g.DECQ(keys)
	g.JNZ(operand.LabelRef("one"))
	g.Label("next")
	g.VMOVUPS(b.top, at(b.max, 0))
	g.advance(g.bytes(), b.s, b.max)
	g.advance(8*g.lanes(), b.off)
	g.SUBQ(operand.U32(g.lanes()), left)
	g.JNZ(operand.LabelRef("lanes"))
	g.ret()
}

type biaser struct {
	*gen
	s, ld, src, off, max reg.GPVirtual

	row, key    reg.GPVirtual // of scores, and in the lanes' rows of src
	top, factor reg.VecVirtual
	inf         operand.Op
}

// turns emits a loop over n keys a turn, while that many are left.
func (b *biaser) turns(n int, keys reg.GPVirtual, turn func()) {
	name, step := fmt.Sprintf("keys%d", n), operand.U32(n)
	b.SUBQ(step, keys)
	b.JL(operand.LabelRef(name + "done"))
	b.align()
	b.Label(name)
	turn()
	b.SUBQ(step, keys)
	b.JGE(operand.LabelRef(name))
	b.Label(name + "done")
	b.ADDQ(step, keys)
}

// square does as many keys as there are lanes in a vector.
func (b *biaser) square() {
	v := b.vectorsOf(b.lanes())
	for lane := range v {
		b.VMOVUPS(b.gen.row(b.key, b.off, lane), v[lane])
	}
	for _, x := range b.transposeSquare(v) {
		b.add(x)
	}
	b.ADDQ(operand.U32(b.bytes()), b.key)
}

// four does 4 keys.
func (b *biaser) four() {
	v := b.vectorsOf(4)
	for i := range v {
		b.loadQuarters(b.Context, v[i], func(q int) operand.Mem { return b.gen.row(b.key, b.off, 4*q+i) })
	}
	for _, x := range b.transpose4(v) {
		b.add(x)
	}
	b.ADDQ(operand.Imm(16), b.key)
}

// one does a single key.
func (b *biaser) one() {
	v := b.vec()
	for q := 0; 4*q < b.lanes(); q++ {
		x := v.AsX()
		if q > 0 {
			x = b.XMM()
		}
		b.VMOVSS(b.gen.row(b.key, b.off, 4*q), x)
		for i := 1; i < 4; i++ {
			b.VINSERTPS(operand.Imm(uint64(i<<4)), b.gen.row(b.key, b.off, 4*q+i), x, x)
		}
		if q > 0 {
			b.insertQuarter(b.Context, x, q, v)
		}
	}
	b.add(v)
	b.ADDQ(operand.Imm(4), b.key)
}

// add adds the biases x to a row of scores and goes on to the next. Where a bias is
// -Inf, so is the score, even if it was NaN or +Inf.
func (b *biaser) add(x reg.VecVirtual) {
	b.fmaUnless(b.Context, x, b.factor, at(b.row, 0), b.inf)
	b.VMOVUPS(x, at(b.row, 0))
	b.VMAXPS(b.top, x, b.top)
	b.ADDQ(b.ld, b.row)
}
