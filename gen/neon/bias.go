package neon

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/spec"
)

// Bias adds the biases of a row of keys to every lane, 4 keys a turn; see bias.go.
func (g *neon) Bias() {
	g.function(spec.Bias)
	b := biaser{neon: g, s: g.slice("s"), ld: g.stride("ld"), src: g.slice("src"), off: g.slice("off"),
		keys: []a64.GP{g.GP(), g.GP(), g.GP(), g.GP()}, row: g.GP(), factor: g.broadcast(spec.Log2E), inf: g.broadcast(spec.MinusInf), top: g.Vec()}
	max, lanes, left := g.slice("max"), g.param(g.Len("max")), g.GP()
	g.Comment("One vector of lanes, its maximum in a register.")
	g.Label("lanes")
	g.load(a64.At(max, 0), b.top)
	for lane, r := range b.keys {
		g.Op("MOVD", a64.At(b.off, 8*lane), r)
		g.Op("ADD", r.Shl(2), b.src, r)
	}
	g.Op("MOVD", b.s, b.row)
	g.Load(g.Param("n"), left)
	g.Op("SUBS", 4, left, left)
	g.Jump("BLT", "few")
	g.Align(32)
	g.Label("four")
	b.four()
	g.Op("SUBS", 4, left, left)
	g.Jump("BGE", "four")
	g.Label("few")
	g.Op("ADDS", 4, left, left)
	g.Jump("BEQ", "next")
	g.Label("one")
	b.one()
	g.Op("SUBS", 1, left, left)
	g.Jump("BNE", "one")
	g.Label("next")
	g.store(b.top, a64.At(max, 0))
	g.advance(vecBytes, b.s, max)
	g.advance(8*vecLanes, b.off)
	g.Op("SUBS", vecLanes, lanes, lanes)
	g.Jump("BNE", "lanes")
	g.Ret()
}

type biaser struct {
	*neon
	s, ld, src, off  a64.GP
	keys             []a64.GP // in the lanes' rows of src
	row              a64.GP   // of scores
	factor, inf, top a64.Vec
}

func (b *biaser) four() {
	b.Scope(func() {
		v, t := b.Vecs(4), b.Vecs(4)
		for i, r := range b.keys {
			b.Op("FMOVQ.P", a64.At(r, vecBytes), v[i])
		}
		b.transpose4(v, t)
		for i := range v {
			b.add(v[i], t[i])
		}
	})
}

// one does a single key.
func (b *biaser) one() {
	b.Scope(func() {
		v, t := b.Vec(), b.Vec()
		for i, r := range b.keys {
			b.Op("VLD1", a64.At(r, 0), v.S(i))
		}
		b.advance(4, b.keys...)
		b.add(v, t)
	})
}

// add adds the biases x to a row of scores and goes on to the next. Where a bias is
// -Inf, so is the score, even if it was NaN or +Inf.
func (b *biaser) add(x, scratch a64.Vec) {
	b.Scope(func() {
		y := b.Vec()
		b.load(a64.At(b.row, 0), y)
		b.FCMEQ(scratch, x, b.inf)
		b.Op("VFMLA", b.factor.S4(), x.S4(), y.S4())
		b.Op("VBIT", scratch.B16(), x.B16(), y.B16())
		b.store(y, a64.At(b.row, 0))
		b.raise(b.top, y, scratch)
		b.Op("ADD", b.ld, b.row, b.row)
	})
}
