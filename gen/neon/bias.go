package neon

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// Bias adds a row of biases to every lane, 4 keys per iteration. See amd64/bias.go.
func (g *neon) Bias() {
	g.Kernel(spec.Bias)
	b := biaser{neon: g, s: g.Slice("s"), ld: g.Stride("ld"), src: g.Slice("src"), off: g.Slice("off"),
		keys: []a64.GP{g.GP(), g.GP(), g.GP(), g.GP()}, row: g.GP(), factor: g.Broadcast(spec.Log2E), top: g.Vec(),
		highest: g.Broadcast(spec.MostBias), lowest: g.Broadcast(spec.MostBias | spec.SignBit), inf: g.Broadcast(spec.MinusInf)}
	max, lanes, left := g.Slice("max"), g.LoadParam(g.Len("max")), g.GP()
	loop.Lanes(g, lanes, "One vector of lanes, its maxima in a register.", []a64.GP{b.s, max}, []a64.GP{b.off}, func() {
		g.LoadVec(max, 0, b.top)
		for lane, r := range b.keys {
			g.Op("MOVD", a64.At(b.off, 8*lane), r)
			g.Op("ADD", r.Shl(2), b.src, r)
		}
		g.Op("MOVD", b.s, b.row)
		g.Load(g.Param("n"), left)
		g.Op("SUBS", 4, left, left)
		g.Jump("BLT", "few")
		g.AlignLoop()
		g.Label("four")
		b.four()
		g.Op("SUBS", 4, left, left)
		g.Jump("BGE", "four")
		g.Label("few")
		g.Op("ADDS", 4, left, left)
		g.Jump("BEQ", "next")
		loop.Times(g, left, "one", b.one)
		g.Label("next")
		g.StoreVec(b.top, max, 0)
	})
	g.Return()
}

type biaser struct {
	*neon
	s, ld, src, off a64.GP
	keys            []a64.GP // in the lanes' rows of src
	row             a64.GP   // of scores
	factor, top     a64.Vec

	highest, lowest, inf a64.Vec // limits of a finite bias, and -Inf
}

// four adds the biases of 4 keys.
func (b *biaser) four() {
	b.Scope(func() {
		v, t := b.Vecs(4), b.Vecs(4)
		for i, r := range b.keys {
			b.Op("FMOVQ.P", a64.At(r, emit.VecBytes), v[i])
		}
		b.Transpose4(v, t)
		for i := range v {
			b.add(v[i], t[i])
		}
	})
}

// one adds the biases of a single key.
func (b *biaser) one() {
	b.Scope(func() {
		v, t := b.Vec(), b.Vec()
		for i, r := range b.keys {
			b.Op("VLD1", a64.At(r, 0), v.S(i))
		}
		b.Advance(4, b.keys...)
		b.add(v, t)
	})
}

// add adds the biases x to a row of scores and goes on to the next row. A bias that is
// infinite becomes the score. A NaN goes through all operations.
func (b *biaser) add(x, scratch a64.Vec) {
	b.Scope(func() {
		y, limited := b.Vec(), b.Vec()
		b.LoadVec(b.row, 0, y)
		b.FACGE(scratch, x, b.inf)
		b.FMIN(limited, x, b.highest)
		b.FMAX(limited, limited, b.lowest)
		b.Op("VFMLA", b.factor.S4(), limited.S4(), y.S4())
		b.Op("VBIT", scratch.B16(), x.B16(), y.B16())
		b.storeScores(y, b.row, 0, b.top, scratch)
		b.Op("ADD", b.ld, b.row, b.row)
	})
}

// storeScores stores vector v of a row at p, and raises its maxima.
func (g *neon) storeScores(x a64.Vec, p a64.GP, v int, max, scratch a64.Vec) {
	g.StoreVec(x, p, v)
	g.Raise(max, x, scratch)
}
