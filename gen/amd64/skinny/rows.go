package skinny

import (
	"math"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// SkinnyMerge merges the output of a block into the running output, both of them in rows,
// row by row.
func (g *gen) SkinnyMerge() {
	g.Kernel(spec.SkinnyMerge)
	o, ldo, part, ldp := g.Slice("o"), g.Stride("ldo"), g.Slice("part"), g.Stride("ldp")
	alpha, beta, n := g.Slice("alpha"), g.Slice("beta"), g.Num("n")
	a, b := g.Vec(), g.Vec()
	loop.AnyTimes(g, n, "row", "done", false, func() {
		g.VBROADCASTSS(emit.At(alpha, 0), a)
		g.VBROADCASTSS(emit.At(beta, 0), b)
		g.eachColumn("dv", func(x reg.GPVirtual) {
			c := g.Vec()
			g.VMULPS(emit.Indexed(o, x, 1), a, c)
			g.VFMADD231PS(emit.Indexed(part, x, 1), b, c)
			g.VMOVUPS(c, emit.Indexed(o, x, 1))
		}, func(x reg.GPVirtual) {
			// qemu reads 16 bytes if a scalar instruction has one number in memory.
			c, y := g.XMM(), g.XMM()
			g.VMOVSS(emit.Indexed(o, x, 1), c)
			g.VMULSS(a.AsX(), c, c)
			g.VMOVSS(emit.Indexed(part, x, 1), y)
			g.VFMADD231SS(y, b.AsX(), c)
			g.VMOVSS(c, emit.Indexed(o, x, 1))
		})
		g.ADDQ(ldo, o)
		g.ADDQ(ldp, part)
		g.Advance(4, alpha, beta)
	})
	g.Return()
}

// SkinnyUnpack normalises an output in rows, o·(1/sum) + (+0), row by row.
func (g *gen) SkinnyUnpack() {
	g.Kernel(spec.SkinnyUnpack)
	dst, off, o, ldo := g.Slice("dst"), g.Slice("off"), g.Slice("o"), g.Stride("ldo")
	sum, n, nans, row := g.Slice("sum"), g.Num("n"), g.GP64(), g.GP64()
	g.XORQ(nans, nans)
	g.XORQ(row, row)
	zero, one := g.Vec(), g.Vec()
	g.Zero(g.Context, zero)
	g.VMOVUPS(g.Constant(math.Float32bits(1)), one)
	loop.AnyTimes(g, n, "row", "done", false, func() {
		g.Comment("1/sum, 0 for a sum of 0.")
		s, inv := g.Vec(), g.Vec()
		g.VBROADCASTSS(emit.At(sum, 0), s)
		g.VDIVPS(s, one, inv)
		g.ZeroWhere(g.Context, inv, s, zero)
		to, set, bits := g.GP64(), g.NewSet(g.Context), g.GP64()
		g.MOVQ(emit.Indexed(off, row, 8), to)
		g.LEAQ(emit.Indexed(dst, to, 4), to)
		nan := g.XMM()
		g.VXORPS(nan, nan, nan)
		g.eachColumn("dv", func(x reg.GPVirtual) {
			c := g.Vec()
			g.VMULPS(emit.Indexed(o, x, 1), inv, c)
			g.VADDPS(zero, c, c)
			g.OrNaN(g.Context, set, c, c)
			g.VMOVUPS(c, emit.Indexed(to, x, 1))
		}, func(x reg.GPVirtual) {
			c, m := g.XMM(), g.XMM()
			g.VMOVSS(emit.Indexed(o, x, 1), c)
			g.VMULSS(inv.AsX(), c, c)
			g.VADDSS(zero.AsX(), c, c)
			g.VMOVSS(c, emit.Indexed(to, x, 1))
			g.VCMPSS(operand.Imm(emit.Unordered), c, c, m)
			g.VORPS(m, nan, nan)
		})
		g.SetBits(g.Context, set, bits)
		g.VMOVMSKPS(nan, to.As32())
		g.ANDL(operand.Imm(1), to.As32())
		g.ORQ(to, bits)
		g.JZ(operand.LabelRef("finite"))
		g.BTSQ(row, nans)
		g.Label("finite")
		g.ADDQ(ldo, o)
		g.Advance(4, sum)
		g.INCQ(row)
	})
	g.Store(nans, g.ReturnIndex(0))
	g.Return()
}

// eachColumn emits a loop over the columns of a row, first in whole vectors, then one by
// one. x is the column's distance in bytes.
func (g *gen) eachColumn(count string, vector, single func(x reg.GPVirtual)) {
	left, x := g.Num(count), g.GP64()
	g.XORQ(x, x)
	g.SUBQ(operand.U32(g.Lanes()), left)
	g.JL(operand.LabelRef("rest"))
	g.Label("vector")
	vector(x)
	g.Advance(g.VecBytes(), x)
	g.SUBQ(operand.U32(g.Lanes()), left)
	g.JGE(operand.LabelRef("vector"))
	g.Label("rest")
	g.ADDQ(operand.U32(g.Lanes()), left)
	g.JZ(operand.LabelRef("end"))
	g.Label("single")
	single(x)
	g.Advance(4, x)
	g.DECQ(left)
	g.JNZ(operand.LabelRef("single"))
	g.Label("end")
}
