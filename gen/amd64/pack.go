package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"math"

	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Pack transposes query rows into a packed panel and scales them, one vector of lanes after
// the other, see emit/transpose.go. A single row is broadcast. Up to 4 rows fill every quarter,
// so that 4 loads replace 16. Rows of less than 4 columns are moved number by number.
func (g *gen) Pack() {
	g.Kernel(spec.Pack)
	p := packer{g: g, dst: g.Slice("dst"), ld: g.Stride("ld"), src: g.Slice("src"), off: g.Slice("off"), lanes: g.SliceLen("off"), d: g.Num("d"), scale: g.Vec()}
	g.VBROADCASTSS(g.Argument("scale"), p.scale)
	g.TESTQ(p.d, p.d)
	g.JZ(operand.LabelRef("done"))
	n := p.g.Num("n")
	g.CMPQ(n, operand.Imm(1))
	g.JNE(operand.LabelRef("many"))
	g.CMPQ(p.lanes, operand.U32(g.Lanes()))
	g.JE(operand.LabelRef("single"))
	g.Label("many")
	g.CMPQ(p.d, operand.Imm(4))
	g.JL(operand.LabelRef("narrow"))
	g.CMPQ(n, operand.Imm(4))
	g.JLE(operand.LabelRef("few"))
	next := func(name string) {
		g.ADDQ(operand.U32(8*g.Lanes()), p.off)
		g.SUBQ(operand.U32(g.Lanes()), p.lanes)
		g.JNZ(operand.LabelRef(name + "columns"))
		g.Return()
	}
	below := 0
	if g.wideColumns() {
		below = 8
		g.CMPQ(p.d, operand.Imm(8))
		g.JL(operand.LabelRef("packcolumns"))
		p.transpose("wide", 8, 0, func(v []reg.VecVirtual, src reg.Register) { p.loadEight(v, src) })
		next("wide")
	}
	p.transpose("pack", 4, below, func(v []reg.VecVirtual, src reg.Register) {
		for i := range v {
			g.LoadQuarters(g.Context, v[i], func(q int) operand.Mem { return g.Row(src, p.off, 4*q+i) })
		}
	})
	next("pack")
	g.Label("few")
	p.transpose("few", 4, 0, func(v []reg.VecVirtual, src reg.Register) {
		for i := range v {
			g.RepeatQuarter(g.Context, g.Row(src, p.off, i), v[i])
		}
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
	g                           *gen
	dst, ld, src, off, lanes, d reg.GPVirtual
	scale                       reg.VecVirtual
}

// wideColumns tells whether rows of 8 columns and more are moved 8 columns at a time. The start
// of a row is then loaded half as often. It takes two sets of vectors, of a few lanes each.
func (g *gen) wideColumns() bool { return g.Lanes() == 8 }

// transpose emits a loop over vectors of lanes, with labels that begin with name. load loads a
// number of columns, 4 or 8, into as many vectors: vector i of each 4 has the columns of the rows
// in lanes i, i+4, ... Rows have fewer columns than below, unless that is 0.
func (p packer) transpose(name string, columns, below int, load func(v []reg.VecVirtual, src reg.Register)) {
	src, dst := p.g.GP64(), p.g.GP64()
	p.g.Commentf("One vector of lanes, %d columns of its rows per iteration.", columns)
	p.g.Label(name + "columns")
	p.g.MOVQ(p.src, src)
	p.g.MOVQ(p.dst, dst)
	p.g.Columns(name, columns, below, p.d, func() {
		v := p.g.Vecs(columns)
		load(v, src)
		q := p.g.GP64()
		p.g.MOVQ(dst, q)
		for x := 0; x < columns; x += 4 {
			for i, t := range p.g.Transpose4(v[x : x+4]) {
				p.g.VMULPS(p.scale, t, t)
				p.g.VMOVUPS(t, emit.At(q, 0))
				if x+i < columns-1 {
					p.g.ADDQ(p.ld, q)
				}
			}
		}
	}, func(n operand.Op) {
		if r, ok := n.(reg.Register); ok {
			rows := p.g.GP64()
			p.g.LEAQ(emit.Indexed(src, r, 4), src)
			p.g.MOVQ(p.ld, rows)
			p.g.IMULQ(r, rows)
			p.g.ADDQ(rows, dst)
			return
		}
		p.g.ADDQ(operand.Imm(uint64(4*columns)), src)
		p.g.LEAQ(emit.Indexed(dst, p.ld, 4), dst)
		if columns == 8 {
			p.g.LEAQ(emit.Indexed(dst, p.ld, 4), dst)
		}
	})
	p.g.ADDQ(operand.U32(p.g.VecBytes()), p.dst)
}

// loadEight loads 8 columns of the rows of a vector of 8 lanes, with one load of each row's start.
func (p packer) loadEight(v []reg.VecVirtual, src reg.Register) {
	for i := range 4 {
		lower, upper := p.g.Row(src, p.off, i), p.g.Row(src, p.off, 4+i)
		for x, c := range []int{i, 4 + i} {
			quarters := []operand.Mem{lower.Offset(16 * x), upper.Offset(16 * x)}
			p.g.LoadQuarters(p.g.Context, v[c], func(q int) operand.Mem { return quarters[q] })
		}
	}
}

// broadcast emits the code for a single row. It is unrolled, as such a call takes only a
// few hundred cycles.
func (p packer) broadcast() {
	o, ld3 := p.g.GP64(), p.g.GP64()
	p.g.MOVQ(emit.At(p.off, 0), o)
	p.g.LEAQ(emit.Indexed(p.src, o, 4), p.src)
	p.g.LEAQ(emit.Indexed(p.ld, p.ld, 2), ld3)
	number := func(i int, dst operand.Mem) {
		v := p.g.Vec()
		p.g.VBROADCASTSS(emit.At(p.src, 4*i), v)
		p.g.VMULPS(p.scale, v, v)
		p.g.VMOVUPS(v, dst)
	}
	p.g.SUBQ(operand.Imm(4), p.d)
	p.g.JL(operand.LabelRef("numbers"))
	p.g.Label("fournumbers")
	number(0, emit.At(p.dst, 0))
	number(1, emit.Indexed(p.dst, p.ld, 1))
	number(2, emit.Indexed(p.dst, p.ld, 2))
	number(3, emit.Indexed(p.dst, ld3, 1))
	p.g.ADDQ(operand.Imm(16), p.src)
	p.g.LEAQ(emit.Indexed(p.dst, p.ld, 4), p.dst)
	p.g.SUBQ(operand.Imm(4), p.d)
	p.g.JGE(operand.LabelRef("fournumbers"))
	p.g.Label("numbers")
	p.g.ADDQ(operand.Imm(4), p.d)
	p.g.JZ(operand.LabelRef("done"))
	p.g.Label("number")
	number(0, emit.At(p.dst, 0))
	p.g.ADDQ(operand.Imm(4), p.src)
	p.g.ADDQ(p.ld, p.dst)
	p.g.DECQ(p.d)
	p.g.JNZ(operand.LabelRef("number"))
}

// scalars emits the code for rows of less than 4 columns.
func (p packer) scalars() {
	p.g.Comment("Rows of less than 4 columns: lane by lane.")
	p.g.Label("lane")
	o, src, dst, left := p.g.GP64(), p.g.GP64(), p.g.GP64(), p.g.GP64()
	p.g.MOVQ(emit.At(p.off, 0), o)
	p.g.LEAQ(emit.Indexed(p.src, o, 4), src)
	p.g.MOVQ(p.dst, dst)
	p.g.MOVQ(p.d, left)
	p.g.Label("lanenumber")
	x := p.g.XMM()
	p.g.VMOVSS(emit.At(src, 0), x)
	p.g.VMULSS(p.scale.AsX(), x, x)
	p.g.VMOVSS(x, emit.At(dst, 0))
	p.g.ADDQ(operand.Imm(4), src)
	p.g.ADDQ(p.ld, dst)
	p.g.DECQ(left)
	p.g.JNZ(operand.LabelRef("lanenumber"))
	p.g.ADDQ(operand.Imm(4), p.dst)
	p.g.ADDQ(operand.Imm(8), p.off)
	p.g.DECQ(p.lanes)
	p.g.JNZ(operand.LabelRef("lane"))
}

// Unpack normalises the output of a tile, out = o·(1/sum) + (+0), and transposes it back
// into rows, one vector of lanes after the other, see emit/transpose.go. It works from the last
// lane to the first: idle lanes have the address of the last row in use, which is then
// written after them, and the bits of the lanes with a NaN can be shifted in. Vectors of
// idle lanes are skipped. Of up to 4 rows only the first quarters are stored. A single row,
// and rows of less than 4 columns, have code of their own.
func (g *gen) Unpack() {
	g.Kernel(spec.Unpack)
	u := unpacker{g: g, dst: g.Slice("dst"), off: g.Slice("off"), src: g.Slice("src"), ld: g.Stride("ld"), sum: g.Slice("sum"), d: g.Num("d"), nans: g.GP64()}
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
	g.CMPQ(u.d, operand.U32(g.Lanes()))
	g.JL(operand.LabelRef("narrow"))
	u.transpose("wide", g.Lanes(), 0, n, g.Lanes())
	g.JMP(operand.LabelRef("done"))
	g.Label("narrow")
	u.transpose("unpack", 4, g.Lanes(), n, g.Lanes())
	g.JMP(operand.LabelRef("done"))
	g.Label("few")
	g.TESTQ(n, n)
	g.JZ(operand.LabelRef("done"))
	g.MOVQ(operand.U32(g.Lanes()), n)
	u.transpose("few", 4, 0, n, 4)
	g.Label("done")
	g.Store(u.nans, g.ReturnIndex(0))
	g.Return()
	g.Label("scalars")
	u.scalars(n)
	g.JMP(operand.LabelRef("done"))
}

type unpacker struct {
	g                               *gen
	dst, off, src, ld, sum, d, nans reg.GPVirtual
}

// transpose emits a loop over lanes, a multiple of a vector's, and stores the first rows of
// every vector, a number of columns at a time: 4 or as many as a vector has lanes. The labels begin
// with name. Rows have fewer columns than below, unless that is 0.
func (u unpacker) transpose(name string, columns, below int, lanes reg.GPVirtual, rows int) {
	zero := u.g.Vec()
	u.g.Zero(u.g.Context, zero)
	// Go to the end of the lanes, and back a vector at a time.
	u.g.LEAQ(emit.Indexed(u.src, lanes, 4), u.src)
	u.g.LEAQ(emit.Indexed(u.sum, lanes, 4), u.sum)
	u.g.LEAQ(emit.Indexed(u.off, lanes, 8), u.off)
	src, dst := u.g.GP64(), u.g.GP64()
	u.g.Commentf("One vector of lanes, %d columns of its rows per iteration.", columns)
	u.g.Label(name + "columns")
	u.g.SUBQ(operand.U32(u.g.VecBytes()), u.src)
	u.g.SUBQ(operand.U32(u.g.VecBytes()), u.sum)
	u.g.SUBQ(operand.U32(8*u.g.Lanes()), u.off)
	inv := u.inverse(zero)
	set := u.g.NewSet(u.g.Context)
	u.g.MOVQ(u.src, src)
	u.g.MOVQ(u.dst, dst)
	u.g.Columns(name, columns, below, u.d, func() {
		q := u.g.GP64()
		u.g.MOVQ(src, q)
		v := u.g.Vecs(columns)
		for x := range v {
			u.g.VMULPS(emit.At(q, 0), inv, v[x])
			u.g.VADDPS(zero, v[x], v[x])
			if x%2 == 1 {
				u.g.OrNaN(u.g.Context, set, v[x-1], v[x])
			}
			if x < columns-1 {
				u.g.ADDQ(u.ld, q)
			}
		}
		if columns == 16 {
			u.storeLines(v, dst)
		} else {
			u.storeQuarters(v, dst, rows)
		}
	}, func(n operand.Op) {
		if r, ok := n.(reg.Register); ok {
			rows := u.g.GP64()
			u.g.LEAQ(emit.Indexed(dst, r, 4), dst)
			u.g.MOVQ(u.ld, rows)
			u.g.IMULQ(r, rows)
			u.g.ADDQ(rows, src)
			return
		}
		u.g.ADDQ(operand.Imm(uint64(4*columns)), dst)
		for x := 0; x < columns; x += 4 {
			u.g.LEAQ(emit.Indexed(src, u.ld, 4), src)
		}
	})
	bits := u.g.GP64()
	u.g.SetBits(u.g.Context, set, bits)
	u.g.SHLQ(operand.Imm(uint64(u.g.Lanes())), u.nans)
	u.g.ORQ(bits, u.nans)
	if rows == u.g.Lanes() { // else there is one vector
		u.g.SUBQ(operand.U32(u.g.Lanes()), lanes)
		u.g.JNZ(operand.LabelRef(name + "columns"))
	}
}

// storeQuarters stores the columns v of the first rows of a vector, 4 columns of a row at a time.
func (u unpacker) storeQuarters(v []reg.VecVirtual, dst reg.Register, rows int) {
	var t []reg.VecVirtual
	for x := 0; x < len(v); x += 4 {
		t = append(t, u.g.Transpose4(v[x:x+4])...)
	}
	for lane := rows - 1; lane >= 0; lane-- {
		to := u.g.Row(dst, u.off, lane)
		for x := 0; x < len(v); x += 4 {
			u.g.StoreQuarter(u.g.Context, t[x+lane%4], lane/4, to.Offset(4*x))
		}
	}
}

// storeLines stores 16 columns of 16 rows, 64 bytes of a row at a time. Rows whose distance is a
// multiple of 4 KiB share a set of L1, which has fewer lines than that: each would be fetched again
// for every part.
func (u unpacker) storeLines(v []reg.VecVirtual, dst reg.Register) {
	t := u.g.TransposeSquare(v)
	for lane := len(t) - 1; lane >= 0; lane-- {
		u.g.VMOVUPS(t[lane], u.g.Row(dst, u.off, lane))
	}
}

// inverse emits 1/sum, or 0 for a sum of 0.
func (u unpacker) inverse(zero reg.VecVirtual) reg.VecVirtual {
	u.g.Comment("1/sum, 0 for a sum of 0.")
	sum, inv := u.g.Vec(), u.g.Vec()
	u.g.VMOVUPS(emit.At(u.sum, 0), sum)
	u.g.VMOVUPS(u.g.Constant(math.Float32bits(1)), inv)
	u.g.VDIVPS(sum, inv, inv)
	u.g.ZeroWhere(u.g.Context, inv, sum, zero)
	return inv
}

// scalars normalises n rows one after the other, 4 numbers at a time and then one by one.
func (u unpacker) scalars(n reg.GPVirtual) {
	lane, ld3 := u.g.GP64(), u.g.GP64()
	u.g.XORQ(lane, lane)
	u.g.LEAQ(emit.Indexed(u.ld, u.ld, 2), ld3)
	u.g.Comment("Lane by lane.")
	u.g.Label("lane")
	src, dst, left, o, sum := u.g.GP64(), u.g.GP64(), u.g.GP64(), u.g.GP64(), u.g.GP64()
	u.g.LEAQ(emit.Indexed(u.src, lane, 4), src)
	u.g.MOVQ(emit.Indexed(u.off, lane, 8), o)
	u.g.LEAQ(emit.Indexed(u.dst, o, 4), dst)
	u.g.MOVQ(u.d, left)
	inv, zero, nan := u.g.XMM(), u.g.XMM(), u.g.XMM()
	u.g.VXORPS(zero, zero, zero)
	u.g.VXORPS(nan, nan, nan)
	u.g.VXORPS(inv, inv, inv)
	u.g.MOVL(emit.Indexed(u.sum, lane, 4), sum.As32())
	u.g.SHLL(operand.Imm(1), sum.As32())
	u.g.JZ(operand.LabelRef("inverse")) // ±0: the inverse stays 0
	u.g.VMOVSS(u.g.Constant(math.Float32bits(1)), inv)
	u.g.VDIVSS(emit.Indexed(u.sum, lane, 4), inv, inv)
	u.g.VSHUFPS(operand.Imm(0), inv, inv, inv)
	u.g.Label("inverse")

	// check adds the lanes in which x is NaN to a mask.
	check := func(x reg.VecVirtual) {
		m := u.g.XMM()
		u.g.VCMPPS(operand.Imm(emit.Unordered), x, x, m)
		u.g.VORPS(m, nan, nan)
	}
	u.g.SUBQ(operand.Imm(4), left)
	u.g.JL(operand.LabelRef("numbers"))
	u.g.Label("fournumbers")
	x := u.g.XMM()
	u.g.VMOVSS(emit.At(src, 0), x)
	u.g.VINSERTPS(operand.Imm(0x10), emit.Indexed(src, u.ld, 1), x, x)
	u.g.VINSERTPS(operand.Imm(0x20), emit.Indexed(src, u.ld, 2), x, x)
	u.g.VINSERTPS(operand.Imm(0x30), emit.Indexed(src, ld3, 1), x, x)
	u.g.VMULPS(inv, x, x)
	u.g.VADDPS(zero, x, x)
	u.g.VMOVUPS(x, emit.At(dst, 0))
	check(x)
	u.g.ADDQ(operand.Imm(16), dst)
	u.g.LEAQ(emit.Indexed(src, u.ld, 4), src)
	u.g.SUBQ(operand.Imm(4), left)
	u.g.JGE(operand.LabelRef("fournumbers"))
	u.g.Label("numbers")
	u.g.ADDQ(operand.Imm(4), left)
	u.g.JZ(operand.LabelRef("next"))
	u.g.Label("number")
	x = u.g.XMM()
	u.g.VMULSS(emit.At(src, 0), inv, x) // the upper lanes hold inv: they are NaN only if the row is
	u.g.VADDSS(zero, x, x)
	u.g.VMOVSS(x, emit.At(dst, 0))
	check(x)
	u.g.ADDQ(operand.Imm(4), dst)
	u.g.ADDQ(u.ld, src)
	u.g.DECQ(left)
	u.g.JNZ(operand.LabelRef("number"))

	u.g.Label("next")
	u.g.VMOVMSKPS(nan, o.As32())
	u.g.TESTL(o.As32(), o.As32())
	u.g.JZ(operand.LabelRef("finite"))
	u.g.BTSQ(lane, u.nans)
	u.g.Label("finite")
	u.g.INCQ(lane)
	u.g.CMPQ(lane, n)
	u.g.JL(operand.LabelRef("lane"))
}
