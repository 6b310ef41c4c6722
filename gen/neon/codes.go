package neon

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
)

// Codes emits what rounds queries and weights of quantized attention, see amd64/codes_round.go. The
// products are those for float32: SMLAL multiplies as many words of 16 bits in an instruction as
// FMLA float32, so integers would gain nothing.
func (g *neon) Codes() {
	g.round()
	g.scaleRows()
}

// rowAndFactor loads the vector of lanes at row and the number at scale, and goes on to the next
// ones.
func (g *neon) rowAndFactor(x, factor a64.Vec, row, ld, scale, lsc a64.GP) {
	g.Op("VLD1R", a64.At(scale, 0), []a64.Arr{factor.S4()})
	g.LoadVec(row, 0, x)
	g.Op("ADD", ld, row, row)
	g.Op("ADD", lsc, scale, scale)
}

// round takes a vector of lanes at a time: it finds the largest magnitude as an integer, and from
// its exponent the unit and 1.5·2^23 units, by whose addition numbers are rounded. keep selects the
// lanes whose numbers stay; other has what stands elsewhere, 0 or NaN.
func (g *neon) round() {
	g.Kernel(spec.Round)
	dst, s, ld, n, scales, lsc, units := g.Slice("dst"), g.Slice("s"), g.Stride("ld"), g.Num("n"), g.Slice("scales"), g.Stride("lsc"), g.Slice("unit")
	row, scale, to, left := g.GP(), g.GP(), g.GP(), g.GP()
	exponent, between := g.Broadcast(0x7f800000), g.Broadcast(23<<23|1<<22)
	beyond, least, nan := g.Broadcast(contract.BeyondRounding), g.Broadcast(contract.LeastRounded), g.Broadcast(spec.NaN)
	bits := g.BroadcastParam("bits")
	g.Op("VSHL", 23, bits.S4(), bits.S4())
	largest, x, factor, magic, keep, other := g.Vec(), g.Vec(), g.Vec(), g.Vec(), g.Vec(), g.Vec()
	rows := func(label string, each func()) {
		g.Op("MOVD", s, row)
		g.Op("MOVD", scales, scale)
		g.Op("MOVD", n, left)
		loop.Times(g, left, label, func() {
			g.rowAndFactor(x, factor, row, ld, scale, lsc)
			g.FMUL(x, x, factor)
			each()
		})
	}
	choose := func(v a64.Vec) {
		g.Op("VAND", keep.B16(), v.B16(), v.B16())
		g.Op("VORR", other.B16(), v.B16(), v.B16())
	}
	loop.Lanes(g, g.LoadParam(g.Len("unit")), "One vector of lanes.", []a64.GP{dst, s, units}, nil, func() {
		g.Zero(largest)
		rows("largest", func() {
			g.FABS(x, x)
			g.CMGT(factor, x, largest)
			g.Op("VBIT", factor.B16(), x.B16(), largest.B16())
		})
		g.CMGE(other, largest, beyond)
		g.CMGE(keep, largest, least)
		g.BIC(keep, keep, other)
		g.Op("VAND", nan.B16(), other.B16(), other.B16())
		g.Op("VAND", exponent.B16(), largest.B16(), largest.B16())
		g.Op("VSUB", bits.S4(), largest.S4(), largest.S4())
		g.Op("VADD", between.S4(), largest.S4(), magic.S4())
		choose(largest)
		g.StoreVec(largest, units, 0)
		g.Op("MOVD", dst, to)
		rows("row", func() {
			g.FADD(x, x, magic)
			g.FSUB(x, x, magic)
			choose(x)
			g.StoreVec(x, to, 0)
			g.Op("ADD", ld, to, to)
		})
	})
	g.Return()
}

// scaleRows multiplies a vector of lanes of all rows.
func (g *neon) scaleRows() {
	g.Kernel(spec.ScaleRows)
	s, ld, a, lda, n := g.Slice("s"), g.Stride("ld"), g.Slice("a"), g.Stride("lda"), g.Num("n")
	scales, lsc, max, load := g.Slice("scales"), g.Stride("lsc"), g.Slice("max"), g.LoadParam(g.Param("load"))
	to, from, scale, left := g.GP(), g.GP(), g.GP(), g.GP()
	top, x, y, factor := g.Vec(), g.Vec(), g.Vec(), g.Vec()
	loop.Lanes(g, g.LoadParam(g.Len("max")), "One vector of lanes.", []a64.GP{s, a, max}, nil, func() {
		g.LoadVec(max, 0, top)
		g.Op("MOVD", s, to)
		g.Op("MOVD", a, from)
		g.Op("MOVD", scales, scale)
		g.Op("MOVD", n, left)
		g.Jump("CBNZ", "loads", load)
		loop.AnyTimes(g, left, "row", "rows", false, func() {
			g.rowAndFactor(x, factor, from, lda, scale, lsc)
			g.FMUL(x, x, factor)
			g.storeScores(x, to, 0, top, factor)
			g.Op("ADD", ld, to, to)
		})
		g.Jump("B", "next")
		g.Label("loads")
		loop.AnyTimes(g, left, "sum", "next", false, func() {
			g.rowAndFactor(x, factor, from, lda, scale, lsc)
			g.LoadVec(to, 0, y)
			g.Op("VFMLA", factor.S4(), x.S4(), y.S4())
			g.storeScores(y, to, 0, top, factor)
			g.Op("ADD", ld, to, to)
		})
		g.StoreVec(top, max, 0)
	})
	g.Return()
}
