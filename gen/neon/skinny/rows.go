package skinny

import (
	"math"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
)

// SkinnyMerge and SkinnyUnpack follow amd64/skinny/rows.go.

func (g *neon) SkinnyMerge() {
	g.Kernel(spec.SkinnyMerge)
	o, ldo, part, ldp := g.Slice("o"), g.Stride("ldo"), g.Slice("part"), g.Stride("ldp")
	alpha, beta, n, s := g.Slice("alpha"), g.Slice("beta"), g.Num("n"), g.GP()
	a, b, c, x := g.Vec(), g.Vec(), g.Vec(), g.Vec()
	po, pp := g.GP(), g.GP()
	loop.AnyTimes(g, n, "row", "done", false, func() {
		for _, f := range []struct {
			p a64.GP
			v a64.Vec
		}{{alpha, a}, {beta, b}} {
			g.Op("MOVWU", a64.At(f.p, 0), s)
			g.Op("VDUP", s, f.v.S4())
		}
		g.Op("MOVD", o, po)
		g.Op("MOVD", part, pp)
		g.EachColumn(g.Num("dv"), func(move string, size int) {
			g.Op(move, a64.At(po, 0), c)
			g.Op(move, a64.At(pp, 0), x)
			g.FMUL(c, c, a)
			g.Op("VFMLA", b.S4(), x.S4(), c.S4())
			g.Op(move, c, a64.At(po, 0))
			g.Advance(size, po, pp)
		})
		g.Op("ADD", ldo, o, o)
		g.Op("ADD", ldp, part, part)
		g.Advance(4, alpha, beta)
	})
	g.Ret()
}

func (g *neon) SkinnyUnpack() {
	g.Kernel(spec.SkinnyUnpack)
	dst, off, o, ldo := g.Slice("dst"), g.Slice("off"), g.Slice("o"), g.Stride("ldo")
	sum, n, nans, row, s := g.Slice("sum"), g.Num("n"), g.GP(), g.GP(), g.GP()
	one, zero := g.Broadcast(math.Float32bits(1)), g.Broadcast(0)
	inv, finite, x, y := g.Vec(), g.Vec(), g.Vec(), g.Vec()
	from, to := g.GP(), g.GP()
	g.Op("MOVD", 0, nans)
	g.Op("MOVD", 1, row) // the bit of the row
	loop.AnyTimes(g, n, "row", "done", false, func() {
		g.Commentf("1/sum, 0 for a sum of 0.")
		g.Op("MOVWU", a64.At(sum, 0), s)
		g.Op("VDUP", s, x.S4())
		g.FCMEQZero(y, x)
		g.FDIV(inv, one, x)
		g.BIC(inv, inv, y)
		g.FCMEQ(finite, zero, zero) // all lanes
		g.Op("MOVD", a64.At(off, 0), to)
		g.Op("ADD", to.Shl(2), dst, to)
		g.Op("MOVD", o, from)
		g.EachColumn(g.Num("dv"), func(move string, size int) {
			g.Op(move, a64.At(from, 0), x)
			g.FMUL(x, x, inv)
			g.FADD(x, x, zero)
			if move == "FMOVS" {
				g.Op("VDUP", x.S(0), y.S4()) // 0·inv is NaN in the other lanes if inv is Inf
				g.FCMEQ(y, y, y)
			} else {
				g.FCMEQ(y, x, x)
			}
			g.Op("VAND", y.B16(), finite.B16(), finite.B16())
			g.Op(move, x, a64.At(to, 0))
			g.Advance(size, from, to)
		})
		g.BIC(y, one, finite)
		g.Op("VADDV", y.S4(), y.Whole()) // the sum of up to four times the same bits is not 0
		g.Op("VMOV", y.S(0), s)
		g.Jump("CBZ", "finite", s)
		g.Op("ORR", row, nans, nans)
		g.Label("finite")
		g.Op("ADD", ldo, o, o)
		g.Advance(4, sum)
		g.Advance(8, off)
		g.Op("LSL", 1, row, row)
	})
	g.Op("MOVD", nans, g.Result())
	g.Ret()
}
