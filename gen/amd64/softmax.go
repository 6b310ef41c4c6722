package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/lane"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// SkinnySoftmax is softmax for the first 4 lanes, with a row in every quarter (or half) of a
// vector: 4 rows per iteration, for which exp2 is computed once, or twice side by side. In a
// tile of 8 lanes that needs no shuffles, of which there would be 6 per iteration: a load of
// the second half of the rows, 16 bytes early, has its rows where the first half has idle
// lanes. The weights are stored to the same two places, as whole vectors, the first half
// first: that overwrites idle lanes, but none of those after the last row.
//
//	row 0  0000 ....              first half      0000 .... 1111 ....
//	row 1  1111 ....  ──► load    second, early   .... 2222 .... 3333    merged  0000 2222 1111 3333
//	row 2  2222 ....
//	row 3  3333 ....
//
// The weights are added to the sums row by row, in one chain as the contract wants. All else
// does not wait for the chain: the processor works on the next iterations meanwhile. The
// remaining rows, and rows of tiles of other widths, are computed one by one.
//
// Predicted for Zen 4: 12 cycles per iteration, which the chain takes. exp2 keeps the units
// busy for 10 of them, with AVX2 for 8. Measured: 16 with AVX-512, 21 with AVX2, where the
// latency of exp2 is not quite hidden. Softmax, for 8 lanes, takes 34 for these rows.
//
// Vector registers: maximum, sum, and what exp2 takes.
func (g *gen) SkinnySoftmax() {
	g.Kernel(spec.SkinnySoftmax)
	f := &rowSoftmax{g: g, s: g.Slice("s"), sum: g.XMM()}
	ld, left, m := g.Stride("ld"), g.Num("n"), g.Vec()
	g.RepeatQuarter(g.Context, emit.At(g.Slice("max"), 0), m)
	f.z = g.inline((*lane.Builder).Finite, 1, 0).Of(m)[0]
	g.VXORPS(f.sum, f.sum, f.sum)
	f.odd = g.OddQuarters(g.Context)
	f.weight = g.inline((*lane.Builder).Weight, 4*softmaxRow/(2*g.VecBytes()), 3)
	g.CMPQ(ld, operand.Imm(softmaxRow))
	g.JNE(operand.LabelRef("rows"))
	g.SUBQ(operand.Imm(4), left)
	g.JL(operand.LabelRef("rest"))
	g.AlignLoop()
	g.Label("turn")
	f.four()
	g.SUBQ(operand.Imm(4), left)
	g.JGE(operand.LabelRef("turn"))
	g.Label("rest")
	g.ADDQ(operand.Imm(4), left)
	g.Label("rows")
	loop.AnyTimes(g, left, "row", "done", false, func() {
		f.single()
		g.ADDQ(ld, f.s)
	})
	g.VMOVUPS(f.sum, emit.At(g.Slice("sum"), 0))
	g.Return()
}

// softmaxRow is the size of a row of a tile of 8 lanes.
const softmaxRow = 8 * 4

type rowSoftmax struct {
	g   *gen
	s   reg.GPVirtual
	z   reg.VecVirtual // maximum
	sum reg.VecVirtual
	odd operand.Op

	weight *lane.Frame[reg.VecVirtual]
}

// four emits 4 rows and goes on to the next ones.
func (f *rowSoftmax) four() {
	size := f.g.VecBytes()
	xs := f.g.Vecs(4 * softmaxRow / (2 * size))
	halves := func(v int) (first, second operand.Mem) { return emit.At(f.s, 2*size*v), emit.At(f.s, 2*size*v+size-16) }
	for v, x := range xs {
		first, second := halves(v)
		f.g.VMOVUPS(first, x)
		f.g.MergeQuarters(f.g.Context, x, second, f.odd)
	}
	for v, p := range f.weights(xs) {
		first, second := halves(v)
		f.g.VMOVUPS(p, first)
		f.g.VMOVUPS(p, second)
		rows := 2 * size / softmaxRow
		for row := range rows {
			f.g.VADDPS(f.g.Quarter(f.g.Context, p, row%2*rows/2+row/2), f.sum, f.sum)
		}
	}
	f.g.Advance(4*softmaxRow, f.s)
}

// single emits one row, with zeros in the other quarters.
func (f *rowSoftmax) single() {
	x := f.g.Vec()
	emit.LoadFirst(f.g.Context, emit.At(f.s, 0), x, x.AsX())
	p := f.weights([]reg.VecVirtual{x})[0].AsX()
	f.g.VMOVUPS(p, emit.At(f.s, 0))
	f.g.VADDPS(p, f.sum, f.sum)
}

// weights emits the weights of scores, which are overwritten.
func (f *rowSoftmax) weights(xs []reg.VecVirtual) []reg.VecVirtual {
	for _, x := range xs {
		f.g.VSUBPS(f.z, x, x)
	}
	return f.weight.Of(xs...)
}
