package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/reg"
)

// AddWeighted keeps the weights of some columns in registers while it goes over the rows: of three
// vectors, then of one, and then of less than one under a mask.
func (g *gen) AddWeighted() {
	g.Kernel(spec.AddWeighted)
	a := &weightedAdder{g: g, dst: g.Slice("dst"), src: g.Slice("src"), weights: g.Slice("weights"), ldd: g.Stride("ldd"), lds: g.Stride("lds")}
	left := g.SliceLen("weights")
	a.nan = g.Vec()
	g.VMOVUPS(g.Constant(spec.NaN), a.nan)
	g.columns(3, left, []reg.GPVirtual{a.dst, a.src, a.weights}, a.columns)
	g.Return()
}

// A weightedAdder emits AddWeighted.
type weightedAdder struct {
	g                           *gen
	dst, src, weights, ldd, lds reg.GPVirtual
	nan                         reg.VecVirtual
}

// columns emits some vectors of columns of all rows.
func (a *weightedAdder) columns(name string, vectors int, move mover) {
	weights, from, to := a.g.Vecs(vectors), a.g.GP64(), a.g.GP64()
	for v, w := range weights {
		move.load(emit.At(a.weights, v*a.g.VecBytes()), w)
	}
	a.g.MOVQ(a.src, from)
	a.g.MOVQ(a.dst, to)
	loop.AnyTimes(a.g, a.g.Num("n"), name+"row", name+"rows", true, func() {
		for v, w := range weights {
			x, sum := a.g.Vec(), a.g.Vec()
			move.load(emit.At(from, v*a.g.VecBytes()), x)
			move.load(emit.At(to, v*a.g.VecBytes()), sum)
			a.g.VMULPS(w, x, x)
			a.g.VADDPS(x, sum, sum)
			a.g.ReplaceNaN(a.g.Context, sum, a.nan)
			move.store(sum, emit.At(to, v*a.g.VecBytes()))
		}
		a.g.ADDQ(a.lds, from)
		a.g.ADDQ(a.ldd, to)
	})
}
