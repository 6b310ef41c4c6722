package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// packRows is the number of rows of weights that are packed at a time: the step of the width of a
// panel. Their float32 of a column fill 64 bytes.
const packRows = 16

// WeightPack transposes rows of weights into the lanes of a panel, 4 columns of 16 rows per
// iteration, see emit/transpose.go.
func (g *gen) WeightPack() { g.packWords(spec.WeightPack) }

func (g *gen) packWords(f spec.Function) {
	g.weightPack(f, spec.Float32, func(x reg.VecVirtual, lane int, to, ld reg.Register) {
		g.VMOVUPS(x, emit.At(to, 4*lane))
		g.ADDQ(ld, to)
	})
}

// WeightPackHalves takes two neighbours of a row as one number of 32 bits, 8 columns of 16 rows
// per iteration: after the transpose, the lower and the upper halves of the lanes are a column
// each.
func (g *gen) WeightPackHalves() {
	g.weightPack(spec.WeightPackHalves, spec.F16, func(x reg.VecVirtual, lane int, to, ld reg.Register) {
		low := g.Vec()
		g.VANDPS(g.Constant(0xffff), x, low)
		g.StoreWords(g.Context, low, emit.At(to, 2*lane))
		g.ADDQ(ld, to)
		g.VPSRLD(operand.Imm(16), x, x)
		g.StoreWords(g.Context, x, emit.At(to, 2*lane))
		g.ADDQ(ld, to)
	})
}

// weightPack emits the function. It takes 16 bytes of each of 16 rows per iteration. store stores
// x, the words of 32 bits of one column, from a lane on at to, and moves to on.
func (g *gen) weightPack(f spec.Function, e spec.Element, store func(x reg.VecVirtual, lane int, to, ld reg.Register)) {
	g.Kernel(f)
	width, size := 16>>e.Shift(), uint8(1)<<e.Shift()
	dst, ld, src, lds, lds3 := g.Slice("dst"), g.StrideOf("ld", e), g.Slice("src"), g.StrideOf("lds", e), g.GP64()
	n, d := g.Num("n"), g.Num("d")
	g.JumpIfZero(n, "end")
	g.LEAQ(emit.Indexed(lds, lds, 2), lds3)
	from, to := [packRows / 4]reg.GPVirtual{}, g.GP64()
	for i := range from {
		from[i] = g.GP64()
	}
	row := func(i int) operand.Mem { return emit.OfFour(from[i/4], lds, lds3, i%4) }

	g.Commentf("%d columns of %d rows per iteration.", width, packRows)
	g.Label("rows")
	for i := range from {
		g.MOVQ(src, from[i])
		g.LEAQ(emit.Indexed(src, lds, 4), src)
	}
	g.MOVQ(dst, to)
	g.Columns("column", width, 0, d, func() {
		q := g.GP64()
		for v := range packRows / g.Lanes() {
			g.MOVQ(to, q)
			for _, x := range g.Transpose4(g.KeyRows(row, v)) {
				store(x, v*g.Lanes(), q, ld)
			}
		}
	}, func(columns operand.Op) {
		if r, ok := columns.(reg.Register); ok {
			distance := g.GP64()
			for _, p := range from {
				g.LEAQ(emit.Indexed(p, r, size), p)
			}
			g.MOVQ(ld, distance)
			g.IMULQ(r, distance)
			g.ADDQ(distance, to)
			return
		}
		g.Advance(16, from[:]...)
		g.LEAQ(emit.Indexed(to, ld, uint8(width)), to)
	})
	g.ADDQ(operand.U32(packRows*int(size)), dst)
	g.CountDown(n, packRows, "rows")
	g.Label("end")
	g.Return()
}
