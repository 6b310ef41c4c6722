package neon

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/lane"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
)

// SkinnySoftmax computes 4 rows at once, a row per vector: they hide each other's latency
// even on cores that do not look far ahead. See amd64/softmax.go.
func (g *neon) SkinnySoftmax() {
	g.Kernel(spec.SkinnySoftmax)
	f := &rowSoftmax{neon: g, s: g.Slice("s"), ld: g.Stride("ld"), out: g.GP(), z: g.Vec(), sum: g.Vec()}
	max, left := g.Slice("max"), g.Num("n")
	g.LoadFrom(a64.At(max, 0), f.z)
	f.z = g.inline((*lane.Builder).Finite, 1, 0).Of(f.z)[0]
	g.Zero(f.sum)
	f.weight = g.inline((*lane.Builder).Weight, 4, 0)
	g.Op("MOVD", f.s, f.out)
	g.Op("SUBS", 4, left, left)
	g.Jump("BLT", "rest")
	g.Align(32)
	g.Label("turn")
	f.rows(4)
	g.Op("SUBS", 4, left, left)
	g.Jump("BGE", "turn")
	g.Commentf("The remaining rows, one by one.")
	g.Label("rest")
	g.Op("ADDS", 4, left, left)
	g.Jump("BEQ", "done")
	loop.Times(g, left, "row", func() { f.rows(1) })
	g.Label("done")
	sum := g.Slice("sum")
	g.StoreTo(f.sum, a64.At(sum, 0))
	g.Ret()
}

type rowSoftmax struct {
	*neon
	s, out, ld a64.GP // the next scores, the place of their weights, the stride in bytes
	z, sum     a64.Vec
	weight     *lane.Frame[a64.Vec]
}

// rows emits n rows.
func (f *rowSoftmax) rows(n int) {
	f.Scope(func() {
		xs := f.Vecs(n)
		for _, x := range xs {
			f.LoadFrom(a64.At(f.s, 0), x)
			f.Op("ADD", f.ld, f.s, f.s)
			f.FSUB(x, x, f.z)
		}
		for _, x := range f.weight.Of(xs...) {
			f.StoreTo(x, a64.At(f.out, 0))
			f.Op("ADD", f.ld, f.out, f.out)
			f.FADD(f.sum, f.sum, x)
		}
	})
}
