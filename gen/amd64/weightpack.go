package amd64

import (
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// packRows is the number of rows of weights that are packed at a time: the step of the width of a
// panel. Their float32 of a column fill 64 bytes.
const packRows = 16

// WeightPack transposes rows of weights into the lanes of a panel, 4 columns of 16 rows per
// iteration, see transpose.go.
func (g *gen) WeightPack() {
	g.weightPack(spec.WeightPack, spec.Float32, func(x reg.VecVirtual, lane int, to, ld reg.Register) {
		g.VMOVUPS(x, at(to, 4*lane))
		g.ADDQ(ld, to)
	})
}

// WeightPackHalves takes two neighbours of a row as one number of 32 bits, 8 columns of 16 rows
// per iteration: after the transpose, the lower and the upper halves of the lanes are a column
// each.
func (g *gen) WeightPackHalves() {
	g.weightPack(spec.WeightPackHalves, spec.F16, func(x reg.VecVirtual, lane int, to, ld reg.Register) {
		low := g.vec()
		g.VANDPS(g.constant(0xffff), x, low)
		g.storeWords(g.Context, low, at(to, 2*lane))
		g.ADDQ(ld, to)
		g.VPSRLD(operand.Imm(16), x, x)
		g.storeWords(g.Context, x, at(to, 2*lane))
		g.ADDQ(ld, to)
	})
}

// weightPack emits the function. It takes 16 bytes of each of 16 rows per iteration. store stores
// x, the words of 32 bits of one column, from a lane on at to, and moves to on.
func (g *gen) weightPack(f spec.Function, e spec.Element, store func(x reg.VecVirtual, lane int, to, ld reg.Register)) {
	g.function(f)
	width, size := 16>>e.Shift(), uint8(1)<<e.Shift()
	dst, ld, src, lds, lds3 := g.slice("dst"), g.strideOf("ld", e), g.slice("src"), g.strideOf("lds", e), g.GP64()
	n, d := g.num("n"), g.num("d")
	g.JumpIfZero(n, "end")
	g.LEAQ(indexed(lds, lds, 2), lds3)
	from, to := [packRows / 4]reg.GPVirtual{}, g.GP64()
	for i := range from {
		from[i] = g.GP64()
	}
	row := func(i int) operand.Mem {
		switch base := from[i/4]; i % 4 {
		case 0:
			return at(base, 0)
		case 3:
			return indexed(base, lds3, 1)
		default:
			return indexed(base, lds, uint8(i%4))
		}
	}

	g.Commentf("%d columns of %d rows per iteration.", width, packRows)
	g.Label("rows")
	for i := range from {
		g.MOVQ(src, from[i])
		g.LEAQ(indexed(src, lds, 4), src)
	}
	g.MOVQ(dst, to)
	g.columns("column", width, d, func() {
		q := g.GP64()
		for v := range packRows / g.lanes() {
			g.MOVQ(to, q)
			for _, x := range g.transpose4(g.keyRows(row, v)) {
				store(x, v*g.lanes(), q, ld)
			}
		}
	}, func(columns operand.Op) {
		if r, ok := columns.(reg.Register); ok {
			distance := g.GP64()
			for _, p := range from {
				g.LEAQ(indexed(p, r, size), p)
			}
			g.MOVQ(ld, distance)
			g.IMULQ(r, distance)
			g.ADDQ(distance, to)
			return
		}
		g.Advance(16, from[:]...)
		g.LEAQ(indexed(to, ld, uint8(width)), to)
	})
	g.ADDQ(operand.U32(packRows*int(size)), dst)
	g.CountDown(n, packRows, "rows")
	g.Label("end")
	g.Return()
}
