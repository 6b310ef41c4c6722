package neon

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
)

// AddWeighted takes one vector of columns of all rows at a time, and what is left one by one.
func (g *neon) AddWeighted() {
	g.Kernel(spec.AddWeighted)
	dst, src, weights := g.Slice("dst"), g.Slice("src"), g.Slice("weights")
	ldd, lds, left := g.Stride("ldd"), g.Stride("lds"), g.LoadParam(g.Len("weights"))
	nan := g.Broadcast(spec.NaN)
	g.EachColumn(left, func(move string, bytes int) {
		g.Scope(func() {
			w, x, sum, scratch := g.Vec(), g.Vec(), g.Vec(), g.Vec()
			from, to, n := g.GP(), g.GP(), g.Num("n")
			g.Op(move+".P", a64.At(weights, bytes), w)
			g.Op("MOVD", src, from)
			g.Op("MOVD", dst, to)
			loop.AnyTimes(g, n, "row"+move, "rows"+move, true, func() {
				g.Op(move, a64.At(from, 0), x)
				g.Op(move, a64.At(to, 0), sum)
				g.FMUL(x, x, w)
				g.FADD(sum, sum, x)
				g.replaceNaN(sum, nan, scratch)
				g.Op(move, sum, a64.At(to, 0))
				g.Op("ADD", lds, from, from)
				g.Op("ADD", ldd, to, to)
			})
			g.Advance(bytes, dst, src)
		})
	})
	g.Ret()
}
