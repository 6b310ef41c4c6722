package neon

import (
	"fmt"
	"github.com/attn-go/attn/gen/neon/emit"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
)

// AddRows keeps the sums of some columns in registers, see amd64/addrows.go.
func (g *neon) AddRows() {
	g.Kernel(spec.AddRows)
	dst, src, lds, left := g.Slice("dst"), g.Slice("src"), g.Stride("lds"), g.LoadParam(g.Len("dst"))
	nan, scratch, p := g.Broadcast(spec.NaN), g.Vec(), g.GP()
	columns := func(name string, vectors int, move string, bytes int) {
		g.Scope(func() {
			sums, x, n := g.Vecs(vectors), g.Vec(), g.Num("n")
			for v, sum := range sums {
				g.Op(move, a64.At(dst, v*bytes), sum)
			}
			g.Op("MOVD", src, p)
			loop.AnyTimes(g, n, name+"row", name+"rows", true, func() {
				for v, sum := range sums {
					g.Op(move, a64.At(p, v*bytes), x)
					g.FADD(sum, sum, x)
				}
				g.Op("ADD", lds, p, p)
			})
			for _, sum := range sums {
				g.replaceNaN(sum, nan, scratch)
				g.Op(move+".P", sum, a64.At(dst, bytes))
			}
			g.Advance(vectors*bytes, src)
		})
	}
	for _, vectors := range []int{8} {
		name := fmt.Sprint("columns", vectors)
		g.Op("SUBS", vectors*emit.VecLanes, left, left)
		g.Jump("BLT", name+"end")
		g.Label(name)
		columns(name, vectors, "FMOVQ", emit.VecBytes)
		g.Op("SUBS", vectors*emit.VecLanes, left, left)
		g.Jump("BGE", name)
		g.Label(name + "end")
		g.Op("ADD", vectors*emit.VecLanes, left, left)
	}
	g.EachColumn(left, func(move string, bytes int) { columns(move, 1, move, bytes) })
	g.Ret()
}
