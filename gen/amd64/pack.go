package amd64

import (
	"math"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Pack transposes query rows into a packed panel and scales them, one vector of lanes after
// the other, see emit/transpose.go. A single row is broadcast. Up to 4 rows fill every quarter,
// so that 4 loads replace 16. Rows of less than 4 columns are moved number by number.
func (g *gen) Pack() {
	g.Kernel(spec.Pack)
	p := packer{gen: g, dst: g.Slice("dst"), ld: g.Stride("ld"), src: g.Slice("src"), off: g.Slice("off"), lanes: g.SliceLen("off"), d: g.Num("d"), scale: g.Vec()}
	g.VBROADCASTSS(g.Argument("scale"), p.scale)
	g.TESTQ(p.d, p.d)
	g.JZ(operand.LabelRef("done"))
	n := p.Num("n")
	g.CMPQ(n, operand.Imm(1))
	g.JNE(operand.LabelRef("many"))
	g.CMPQ(p.lanes, operand.U32(g.Lanes()))
	g.JE(operand.LabelRef("single"))
	g.Label("many")
	g.CMPQ(p.d, operand.Imm(4))
	g.JL(operand.LabelRef("narrow"))
	g.CMPQ(n, operand.Imm(4))
	g.JLE(operand.LabelRef("few"))
	p.transpose("pack", func(v reg.VecVirtual, src reg.Register, i int) {
		g.LoadQuarters(g.Context, v, func(q int) operand.Mem { return g.Row(src, p.off, 4*q+i) })
	})
	g.ADDQ(operand.U32(8*g.Lanes()), p.off)
	g.SUBQ(operand.U32(g.Lanes()), p.lanes)
	g.JNZ(operand.LabelRef("packcolumns"))
	g.Return()
	g.Label("few")
	p.transpose("few", func(v reg.VecVirtual, src reg.Register, i int) {
		g.RepeatQuarter(g.Context, g.Row(src, p.off, i), v)
	})
	g.SUBQ(operand.U32(g.Lanes()), p.lanes)
	g.JNZ(operand.LabelRef("fewcolumns"))
	g.Return()
	g.Label("single")
	p.broadcast()
	g.Return()
	g.Label("narrow")
	p.scalars()
	g.Label("done")
	g.Return()
}

type packer struct {
	*gen
	dst, ld, src, off, lanes, d reg.GPVirtual
	scale                       reg.VecVirtual
}

// transpose emits a loop over vectors of lanes, with labels that begin with name. load
// loads 4 columns of the rows in lanes i, i+4, ...
func (p packer) transpose(name string, load func(v reg.VecVirtual, src reg.Register, i int)) {
	src, dst := p.GP64(), p.GP64()
	p.Comment("One vector of lanes, 4 columns of its rows per iteration.")
	p.Label(name + "columns")
	p.MOVQ(p.src, src)
	p.MOVQ(p.dst, dst)
	p.Columns(name, 4, p.d, func() {
		v := p.Vecs(4)
		for i := range v {
			load(v[i], src, i)
		}
		q := p.GP64()
		p.MOVQ(dst, q)
		for i, t := range p.Transpose4(v) {
			p.VMULPS(p.scale, t, t)
			p.VMOVUPS(t, emit.At(q, 0))
			if i < 3 {
				p.ADDQ(p.ld, q)
			}
		}
	}, func(columns operand.Op) {
		if r, ok := columns.(reg.Register); ok {
			rows := p.GP64()
			p.LEAQ(emit.Indexed(src, r, 4), src)
			p.MOVQ(p.ld, rows)
			p.IMULQ(r, rows)
			p.ADDQ(rows, dst)
			return
		}
		p.ADDQ(operand.Imm(16), src)
		p.LEAQ(emit.Indexed(dst, p.ld, 4), dst)
	})
	p.ADDQ(operand.U32(p.VecBytes()), p.dst)
}

// broadcast emits the code for a single row. It is unrolled, as such a call takes only a
// few hundred cycles.
func (p packer) broadcast() {
	o, ld3 := p.GP64(), p.GP64()
	p.MOVQ(emit.At(p.off, 0), o)
	p.LEAQ(emit.Indexed(p.src, o, 4), p.src)
	p.LEAQ(emit.Indexed(p.ld, p.ld, 2), ld3)
	number := func(i int, dst operand.Mem) {
		v := p.Vec()
		p.VBROADCASTSS(emit.At(p.src, 4*i), v)
		p.VMULPS(p.scale, v, v)
		p.VMOVUPS(v, dst)
	}
	p.SUBQ(operand.Imm(4), p.d)
	p.JL(operand.LabelRef("numbers"))
	p.Label("fournumbers")
	number(0, emit.At(p.dst, 0))
	number(1, emit.Indexed(p.dst, p.ld, 1))
	number(2, emit.Indexed(p.dst, p.ld, 2))
	number(3, emit.Indexed(p.dst, ld3, 1))
	p.ADDQ(operand.Imm(16), p.src)
	p.LEAQ(emit.Indexed(p.dst, p.ld, 4), p.dst)
	p.SUBQ(operand.Imm(4), p.d)
	p.JGE(operand.LabelRef("fournumbers"))
	p.Label("numbers")
	p.ADDQ(operand.Imm(4), p.d)
	p.JZ(operand.LabelRef("done"))
	p.Label("number")
	number(0, emit.At(p.dst, 0))
	p.ADDQ(operand.Imm(4), p.src)
	p.ADDQ(p.ld, p.dst)
	p.DECQ(p.d)
	p.JNZ(operand.LabelRef("number"))
}

// scalars emits the code for rows of less than 4 columns.
func (p packer) scalars() {
	p.Comment("Rows of less than 4 columns: lane by lane.")
	p.Label("lane")
	o, src, dst, left := p.GP64(), p.GP64(), p.GP64(), p.GP64()
	p.MOVQ(emit.At(p.off, 0), o)
	p.LEAQ(emit.Indexed(p.src, o, 4), src)
	p.MOVQ(p.dst, dst)
	p.MOVQ(p.d, left)
	p.Label("lanenumber")
	x := p.XMM()
	p.VMOVSS(emit.At(src, 0), x)
	p.VMULSS(p.scale.AsX(), x, x)
	p.VMOVSS(x, emit.At(dst, 0))
	p.ADDQ(operand.Imm(4), src)
	p.ADDQ(p.ld, dst)
	p.DECQ(left)
	p.JNZ(operand.LabelRef("lanenumber"))
	p.ADDQ(operand.Imm(4), p.dst)
	p.ADDQ(operand.Imm(8), p.off)
	p.DECQ(p.lanes)
	p.JNZ(operand.LabelRef("lane"))
}

// Unpack normalises the output of a tile, out = o·(1/sum) + (+0), and transposes it back
// into rows, one vector of lanes after the other, see emit/transpose.go. It works from the last
// lane to the first: idle lanes have the address of the last row in use, which is then
// written after them, and the bits of the lanes with a NaN can be shifted in. Vectors of
// idle lanes are skipped. Of up to 4 rows only the first quarters are stored. A single row,
// and rows of less than 4 columns, have code of their own.
func (g *gen) Unpack() {
	g.Kernel(spec.Unpack)
	u := unpacker{gen: g, dst: g.Slice("dst"), off: g.Slice("off"), src: g.Slice("src"), ld: g.Stride("ld"), sum: g.Slice("sum"), d: g.Num("d"), nans: g.GP64()}
	g.XORQ(u.nans, u.nans)
	g.TESTQ(u.d, u.d)
	g.JZ(operand.LabelRef("done"))
	n := g.Num("n")
	g.CMPQ(n, operand.Imm(1))
	g.JE(operand.LabelRef("scalars"))
	g.CMPQ(u.d, operand.Imm(4))
	g.JL(operand.LabelRef("scalars"))
	g.CMPQ(n, operand.Imm(4))
	g.JLE(operand.LabelRef("few"))
	g.ADDQ(operand.U32(g.Lanes()-1), n) // up to whole vectors
	g.ANDQ(operand.I32(-g.Lanes()), n)
	u.transpose("unpack", n, g.Lanes())
	g.JMP(operand.LabelRef("done"))
	g.Label("few")
	g.TESTQ(n, n)
	g.JZ(operand.LabelRef("done"))
	g.MOVQ(operand.U32(g.Lanes()), n)
	u.transpose("few", n, 4)
	g.Label("done")
	g.Store(u.nans, g.ReturnIndex(0))
	g.Return()
	g.Label("scalars")
	u.scalars(n)
	g.JMP(operand.LabelRef("done"))
}

type unpacker struct {
	*gen
	dst, off, src, ld, sum, d, nans reg.GPVirtual
}

// transpose emits a loop over lanes, a multiple of a vector's, and stores the first rows of
// every vector. The labels begin with name.
func (u unpacker) transpose(name string, lanes reg.GPVirtual, rows int) {
	zero := u.Vec()
	u.Zero(u.Context, zero)
	// Go to the end of the lanes, and back a vector at a time.
	u.LEAQ(emit.Indexed(u.src, lanes, 4), u.src)
	u.LEAQ(emit.Indexed(u.sum, lanes, 4), u.sum)
	u.LEAQ(emit.Indexed(u.off, lanes, 8), u.off)
	src, dst := u.GP64(), u.GP64()
	u.Comment("One vector of lanes, 4 columns of its rows per iteration.")
	u.Label(name + "columns")
	u.SUBQ(operand.U32(u.VecBytes()), u.src)
	u.SUBQ(operand.U32(u.VecBytes()), u.sum)
	u.SUBQ(operand.U32(8*u.Lanes()), u.off)
	inv := u.inverse(zero)
	set := u.NewSet(u.Context)
	u.MOVQ(u.src, src)
	u.MOVQ(u.dst, dst)
	u.Columns(name, 4, u.d, func() {
		q := u.GP64()
		u.MOVQ(src, q)
		v := u.Vecs(4)
		for i := range v {
			u.VMULPS(emit.At(q, 0), inv, v[i])
			u.VADDPS(zero, v[i], v[i])
			u.OrNaN(u.Context, set, v[i])
			if i < 3 {
				u.ADDQ(u.ld, q)
			}
		}
		t := u.Transpose4(v)
		for lane := rows - 1; lane >= 0; lane-- {
			u.StoreQuarter(u.Context, t[lane%4], lane/4, u.Row(dst, u.off, lane))
		}
	}, func(columns operand.Op) {
		if r, ok := columns.(reg.Register); ok {
			rows := u.GP64()
			u.LEAQ(emit.Indexed(dst, r, 4), dst)
			u.MOVQ(u.ld, rows)
			u.IMULQ(r, rows)
			u.ADDQ(rows, src)
			return
		}
		u.ADDQ(operand.Imm(16), dst)
		u.LEAQ(emit.Indexed(src, u.ld, 4), src)
	})
	bits := u.GP64()
	u.SetBits(u.Context, set, bits)
	u.SHLQ(operand.Imm(uint64(u.Lanes())), u.nans)
	u.ORQ(bits, u.nans)
	u.SUBQ(operand.U32(u.Lanes()), lanes)
	u.JNZ(operand.LabelRef(name + "columns"))
}

// inverse emits 1/sum, or 0 for a sum of 0.
func (u unpacker) inverse(zero reg.VecVirtual) reg.VecVirtual {
	u.Comment("1/sum, 0 for a sum of 0.")
	sum, inv := u.Vec(), u.Vec()
	u.VMOVUPS(emit.At(u.sum, 0), sum)
	u.VMOVUPS(u.Constant(math.Float32bits(1)), inv)
	u.VDIVPS(sum, inv, inv)
	u.ZeroWhere(u.Context, inv, sum, zero)
	return inv
}

// scalars normalises n rows one after the other, 4 numbers at a time and then one by one.
func (u unpacker) scalars(n reg.GPVirtual) {
	lane, ld3 := u.GP64(), u.GP64()
	u.XORQ(lane, lane)
	u.LEAQ(emit.Indexed(u.ld, u.ld, 2), ld3)
	u.Comment("Lane by lane.")
	u.Label("lane")
	src, dst, left, o, sum := u.GP64(), u.GP64(), u.GP64(), u.GP64(), u.GP64()
	u.LEAQ(emit.Indexed(u.src, lane, 4), src)
	u.MOVQ(emit.Indexed(u.off, lane, 8), o)
	u.LEAQ(emit.Indexed(u.dst, o, 4), dst)
	u.MOVQ(u.d, left)
	inv, zero, nan := u.XMM(), u.XMM(), u.XMM()
	u.VXORPS(zero, zero, zero)
	u.VXORPS(nan, nan, nan)
	u.VXORPS(inv, inv, inv)
	u.MOVL(emit.Indexed(u.sum, lane, 4), sum.As32())
	u.SHLL(operand.Imm(1), sum.As32())
	u.JZ(operand.LabelRef("inverse")) // ±0: the inverse stays 0
	u.VMOVSS(u.Constant(math.Float32bits(1)), inv)
	u.VDIVSS(emit.Indexed(u.sum, lane, 4), inv, inv)
	u.VSHUFPS(operand.Imm(0), inv, inv, inv)
	u.Label("inverse")

	// check adds the lanes in which x is NaN to a mask.
	check := func(x reg.VecVirtual) {
		m := u.XMM()
		u.VCMPPS(operand.Imm(emit.Unordered), x, x, m)
		u.VORPS(m, nan, nan)
	}
	u.SUBQ(operand.Imm(4), left)
	u.JL(operand.LabelRef("numbers"))
	u.Label("fournumbers")
	x := u.XMM()
	u.VMOVSS(emit.At(src, 0), x)
	u.VINSERTPS(operand.Imm(0x10), emit.Indexed(src, u.ld, 1), x, x)
	u.VINSERTPS(operand.Imm(0x20), emit.Indexed(src, u.ld, 2), x, x)
	u.VINSERTPS(operand.Imm(0x30), emit.Indexed(src, ld3, 1), x, x)
	u.VMULPS(inv, x, x)
	u.VADDPS(zero, x, x)
	u.VMOVUPS(x, emit.At(dst, 0))
	check(x)
	u.ADDQ(operand.Imm(16), dst)
	u.LEAQ(emit.Indexed(src, u.ld, 4), src)
	u.SUBQ(operand.Imm(4), left)
	u.JGE(operand.LabelRef("fournumbers"))
	u.Label("numbers")
	u.ADDQ(operand.Imm(4), left)
	u.JZ(operand.LabelRef("next"))
	u.Label("number")
	x = u.XMM()
	u.VMULSS(emit.At(src, 0), inv, x) // the upper lanes hold inv: they are NaN only if the row is
	u.VADDSS(zero, x, x)
	u.VMOVSS(x, emit.At(dst, 0))
	check(x)
	u.ADDQ(operand.Imm(4), dst)
	u.ADDQ(u.ld, src)
	u.DECQ(left)
	u.JNZ(operand.LabelRef("number"))

	u.Label("next")
	u.VMOVMSKPS(nan, o.As32())
	u.TESTL(o.As32(), o.As32())
	u.JZ(operand.LabelRef("finite"))
	u.BTSQ(lane, u.nans)
	u.Label("finite")
	u.INCQ(lane)
	u.CMPQ(lane, n)
	u.JL(operand.LabelRef("lane"))
}
