package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/reg"
)

// AddRows keeps the sums of some columns in registers while it goes over the rows: of as many
// vectors as hide the latency of an addition, then of one, and then of less than one under a mask.
func (g *gen) AddRows() {
	g.Kernel(spec.AddRows)
	r := &rowAdder{g: g, dst: g.Slice("dst"), src: g.Slice("src"), lds: g.Stride("lds")}
	left := g.SliceLen("dst")
	r.nan = g.Vec()
	g.VMOVUPS(g.Constant(spec.NaN), r.nan)
	g.columns(8, left, []reg.GPVirtual{r.dst, r.src}, r.columns)
	g.Return()
}

// A rowAdder emits AddRows.
type rowAdder struct {
	g             *gen
	dst, src, lds reg.GPVirtual
	nan           reg.VecVirtual
}

// columns emits the sums of some vectors of columns.
func (r *rowAdder) columns(name string, vectors int, move mover) {
	sums, p := r.g.Vecs(vectors), r.g.GP64()
	for v, sum := range sums {
		move.load(emit.At(r.dst, v*r.g.VecBytes()), sum)
	}
	r.g.MOVQ(r.src, p)
	loop.AnyTimes(r.g, r.g.Num("n"), name+"row", name+"rows", true, func() {
		for v, sum := range sums {
			x := r.g.Vec()
			move.load(emit.At(p, v*r.g.VecBytes()), x)
			r.g.VADDPS(x, sum, sum)
		}
		r.g.ADDQ(r.lds, p)
	})
	for v, sum := range sums {
		r.g.ReplaceNaN(r.g.Context, sum, r.nan)
		move.store(sum, emit.At(r.dst, v*r.g.VecBytes()))
	}
}
