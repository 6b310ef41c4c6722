package amd64

import (
	"fmt"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Bias adds a row of biases to every lane, one vector of lanes after the other: it
// transposes as many keys as there are lanes, see emit/transpose.go, and adds them to the keys'
// rows of scores one by one. The remaining keys are done in groups of 4, and then one by
// one: to go back to the last 4 would add to some scores twice.
//
// With AVX-512 a load takes a whole cache line. Rows of biases often lie a power of two
// apart, and then 16 lines do not stay in L1 from one iteration to the next.
func (g *gen) Bias() {
	g.Kernel(spec.Bias)
	b := biaser{g: g, s: g.Slice("s"), ld: g.Stride("ld"), src: g.Slice("src"), off: g.Slice("off"), max: g.Slice("max"), limit: g.Vec(), aid: g.Vec()}
	n, left := g.Num("n"), g.SliceLen("max")
	b.factor = g.AtHand(g.Constant(spec.Log2E))
	g.VMOVUPS(g.Constant(spec.MostBias), b.limit)
	g.VMOVUPS(g.Constant(g.LimitAid(spec.MostBias)), b.aid)
	loop.Lanes(g, left, "One vector of lanes, its maxima in a register.", []reg.GPVirtual{b.s, b.max}, []reg.GPVirtual{b.off}, func() {
		b.top, b.row, b.key = g.Vec(), g.GP64(), g.GP64()
		g.LoadVec(b.max, 0, b.top)
		g.MOVQ(b.s, b.row)
		g.MOVQ(b.src, b.key)
		keys := g.GP64()
		g.MOVQ(n, keys)
		b.groups(g.Lanes(), true, keys, b.square)
		b.groups(4, g.Lanes() > 8, keys, b.four)
		g.JZ(operand.LabelRef("next"))
		loop.Times(g, keys, "one", b.one)
		g.Label("next")
		g.StoreVec(b.top, b.max, 0)
	})
	g.Return()
}

type biaser struct {
	g                    *gen
	s, ld, src, off, max reg.GPVirtual

	row, key        reg.GPVirtual // of scores, and in the lanes' rows of src
	top, limit, aid reg.VecVirtual
	factor          operand.Op
}

// groups emits groups of n keys, while n are left: several in a loop, else one at most. It leaves in
// keys how many are left, and the flags for that.
func (b *biaser) groups(n int, several bool, keys reg.GPVirtual, group func()) {
	name, step := fmt.Sprintf("keys%d", n), operand.U32(n)
	b.g.SUBQ(step, keys)
	b.g.JL(operand.LabelRef(name + "done"))
	if several {
		b.g.AlignLoop()
		b.g.Label(name)
	}
	group()
	b.g.SUBQ(step, keys)
	if several {
		b.g.JGE(operand.LabelRef(name))
	}
	b.g.Label(name + "done")
	b.g.ADDQ(step, keys)
}

// square adds the biases of as many keys as a vector has lanes.
func (b *biaser) square() {
	v := b.g.Vecs(b.g.Lanes())
	for lane := range v {
		b.g.VMOVUPS(b.g.Row(b.key, b.off, lane), v[lane])
	}
	for _, x := range b.g.TransposeSquare(v) {
		b.add(x)
	}
	b.g.ADDQ(operand.U32(b.g.VecBytes()), b.key)
}

// four adds the biases of 4 keys.
func (b *biaser) four() {
	v := b.g.Vecs(4)
	for i := range v {
		b.g.LoadQuarters(b.g.Context, v[i], func(q int) operand.Mem { return b.g.Row(b.key, b.off, 4*q+i) })
	}
	for _, x := range b.g.Transpose4(v) {
		b.add(x)
	}
	b.g.ADDQ(operand.Imm(16), b.key)
}

// one adds the biases of a single key.
func (b *biaser) one() {
	v := b.g.Vec()
	for q := 0; 4*q < b.g.Lanes(); q++ {
		x := v.AsX()
		if q > 0 {
			x = b.g.XMM()
		}
		b.g.VMOVSS(b.g.Row(b.key, b.off, 4*q), x)
		for i := 1; i < 4; i++ {
			b.g.VINSERTPS(operand.Imm(uint64(i<<4)), b.g.Row(b.key, b.off, 4*q+i), x, x)
		}
		if q > 0 {
			b.g.InsertQuarter(b.g.Context, x, q, v)
		}
	}
	b.add(v)
	b.g.ADDQ(operand.Imm(4), b.key)
}

// add adds the biases x to a row of scores and goes on to the next row. A bias that is
// infinite or a NaN becomes the score.
func (b *biaser) add(x reg.VecVirtual) {
	y := b.g.FMALimited(b.g.Context, x, b.limit, b.aid, b.factor, emit.At(b.row, 0))
	b.g.storeScores(y, b.row, 0, b.top)
	b.g.ADDQ(b.ld, b.row)
}

// storeScores stores vector v of a row at p, and raises its maxima. VMAXPS returns its
// second source if one is NaN or both are zero, which here is the running maximum.
func (g *gen) storeScores(x reg.VecVirtual, p reg.GPVirtual, v int, max reg.VecVirtual) {
	g.StoreVec(x, p, v)
	g.VMAXPS(max, x, max)
}
