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
		g.eachColumn("dv", func(x reg.GPVirtual, where reg.VecVirtual) {
			c, y := g.columns(emit.Indexed(o, x, 1), where), g.columns(emit.Indexed(part, x, 1), where)
			g.VMULPS(a, c, c)
			g.VFMADD231PS(y, b, c)
			g.storeColumns(c, emit.Indexed(o, x, 1), where)
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
		g.eachColumn("dv", func(x reg.GPVirtual, where reg.VecVirtual) {
			if where != nil { // no NaN where there is no column
				g.VANDPS(where, inv, inv)
			}
			c := g.columns(emit.Indexed(o, x, 1), where)
			g.VMULPS(inv, c, c)
			g.VADDPS(zero, c, c)
			g.OrNaN(g.Context, set, c, c)
			g.storeColumns(c, emit.Indexed(to, x, 1), where)
		})
		g.SetBits(g.Context, set, bits)
		g.TESTQ(bits, bits)
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

// eachColumn emits a loop over the columns of a row. The last vector may be under a mask, else
// where is nil. x is the columns' distance in bytes.
func (g *gen) eachColumn(count string, vector func(x reg.GPVirtual, where reg.VecVirtual)) {
	left, x, where := g.Num(count), g.GP64(), g.Vec()
	g.XORQ(x, x)
	g.SUBQ(operand.U32(g.Lanes()), left)
	g.JL(operand.LabelRef("rest"))
	g.Label("vector")
	vector(x, nil)
	g.Advance(g.VecBytes(), x)
	g.SUBQ(operand.U32(g.Lanes()), left)
	g.JGE(operand.LabelRef("vector"))
	g.Label("rest")
	g.ADDQ(operand.U32(g.Lanes()), left)
	g.JZ(operand.LabelRef("end"))
	g.VMOVUPS(emit.At(g.Masks(left), 0), where)
	vector(x, where)
	g.Label("end")
}

// columns loads columns of a row, and storeColumns stores them.
func (g *gen) columns(m operand.Mem, where reg.VecVirtual) reg.VecVirtual {
	v := g.Vec()
	if where == nil {
		g.VMOVUPS(m, v)
	} else {
		g.LoadWhere(g.Context, m, where, v)
	}
	return v
}

func (g *gen) storeColumns(v reg.VecVirtual, m operand.Mem, where reg.VecVirtual) {
	if where == nil {
		g.VMOVUPS(v, m)
	} else {
		g.StoreWhere(g.Context, v, where, m)
	}
}
