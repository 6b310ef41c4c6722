package amd64

import (
	"fmt"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/lane"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The converters work row by row, one vector of elements per iteration. If the vector
// does not divide the row, the last iteration goes back to the row's last elements: some
// are converted a second time, with the same result. Rows shorter than a vector are
// converted element by element.

// elements emits the loop over count ≥ 1 elements. i is the index of the element, or of a vector's
// first one. name begins its labels.
func (g *gen) elements(name string, count reg.Register, vector, single func(i reg.Register)) {
	g.elementsBy(g.Lanes(), 0, name, count, vector, single)
}

// elementsBy is elements with so many elements in a vector. If below is not 0, count is less.
func (g *gen) elementsBy(lanes, below int, name string, count reg.Register, vector, single func(i reg.Register)) {
	g.vectorsOr(lanes, below, name, count, vector, func() {
		i := g.GP64()
		g.XORQ(i, i)
		g.Label(name + "single")
		single(i)
		g.INCQ(i)
		g.CMPQ(i, count)
		g.JL(operand.LabelRef(name + "single"))
	})
}

// vectorsOr is elementsBy where fewer takes all elements if they are less than a vector.
func (g *gen) vectorsOr(lanes, below int, name string, count reg.Register, vector func(i reg.Register), fewer func()) {
	i, last := g.GP64(), g.GP64()
	g.XORQ(i, i)
	g.MOVQ(count, last)
	g.SUBQ(operand.U32(lanes), last)
	g.JL(operand.LabelRef(name + "fewer"))
	g.Label(name + "vector")
	vector(i)
	g.ADDQ(operand.U32(lanes), i)
	if lane.Repeats(lanes, below) {
		g.CMPQ(i, last)
		g.JLE(operand.LabelRef(name + "vector"))
	}
	g.CMPQ(i, count)
	g.JE(operand.LabelRef(name + "done"))
	g.Comment("Less than a vector is left: convert the last one.")
	g.MOVQ(last, i)
	g.JMP(operand.LabelRef(name + "vector"))
	g.Label(name + "fewer")
	fewer()
	g.Label(name + "done")
}

// wholeSteps emits a loop over count elements, at least as many as a step takes. The last ones may
// be taken a second time.
func (g *gen) wholeSteps(step int, count reg.Register, do func(i reg.Register)) {
	i, last := g.GP64(), g.GP64()
	g.XORQ(i, i)
	g.LEAQ(emit.At(count, -step), last)
	g.Label("step")
	do(i)
	g.ADDQ(operand.U32(step), i)
	g.CMPQ(i, last)
	g.JLE(operand.LabelRef("step"))
	g.CMPQ(i, count)
	g.MOVQ(last, i)
	g.JNE(operand.LabelRef("step"))
}

// rows emits a function that converts rows of elements of from bytes to elements of to
// bytes. The distance of rows counts elements if they are float32, else bytes. init loads the
// constants of the conversions.
func (g *gen) rows(f spec.Function, from, to uint8, vector, single func(src, dst operand.Mem), init func()) {
	g.Kernel(f)
	src, dst, lds, ldd := g.Slice("src"), g.Slice("dst"), g.Num("lds"), g.Num("ldd")
	n, d := g.Num("n"), g.Num("d")
	g.JumpIfZero(n, "end")
	g.JumpIfZero(d, "end")
	init()
	place := func(convert func(src, dst operand.Mem)) func(i reg.Register) {
		return func(i reg.Register) { convert(emit.Indexed(src, i, from), emit.Indexed(dst, i, to)) }
	}
	loop.Times(g, n, "row", func() {
		g.elements("", d, place(vector), place(single))
		g.LEAQ(emit.Indexed(src, lds, strideUnit(from)), src)
		g.LEAQ(emit.Indexed(dst, ldd, strideUnit(to)), dst)
	})
	g.Label("end")
	g.Return()
}

// strideUnit is what the distance of rows of elements of size bytes counts, in bytes.
func strideUnit(size uint8) uint8 {
	if size == 4 {
		return 4
	}
	return 1
}

func (g *gen) Widen(from spec.Element) {
	if from == spec.E4M3 || from == spec.E5M2 {
		g.widenFloat8(from)
		return
	}
	single := map[spec.Element]func(src, dst operand.Mem){spec.F16: g.widenF16, spec.BF16: g.widenBF16}[from]
	g.rows(spec.Widen(from), 1<<from.Shift(), 4, func(src, dst operand.Mem) {
		v := g.Vec()
		g.LoadWide(from, src, v)
		g.VMOVUPS(v, dst)
	}, single, func() {})
}

// widenFloat8 makes binary16 of bytes first. An E5M2 is the upper half of one. The sign, exponent
// and fraction of an E4M3, moved to their places, are a binary16 of 2^-8 times the value, as its
// bias is 8 less. For the NaN, the number after which a place higher is set, that place makes its
// exponent the highest one.
func (g *gen) widenFloat8(from spec.Element) {
	places, next, carry, scale := g.Vec(), g.Vec(), g.Vec(), g.Vec()
	half := func(v reg.VecVirtual) reg.Register { // the register of as many words as a vector has lanes
		if g.Lanes() == 8 {
			return v.AsX()
		}
		return v.AsY()
	}
	widen := func(words func(v reg.VecVirtual) reg.Register, w reg.Register) {
		if from == spec.E5M2 {
			g.VPSLLW(operand.Imm(8), w, w)
			return
		}
		t := words(g.Vec())
		g.VPSLLW(operand.Imm(7), w, w)
		g.VPAND(words(places), w, w)
		g.VPADDW(words(next), w, t)
		g.VPAND(words(carry), t, t)
		g.VPOR(t, w, w)
	}
	g.rows(spec.Widen(from), 1, 4, func(src, dst operand.Mem) {
		v := g.Vec()
		g.VPMOVSXBW(src, half(v))
		widen(half, half(v))
		g.VCVTPH2PS(half(v), v)
		if from == spec.E4M3 {
			g.VMULPS(scale, v, v)
		}
		g.VMOVUPS(v, dst)
	}, func(src, dst operand.Mem) {
		number, x := g.GP32(), g.XMM()
		g.MOVBLSX(src, number)
		g.VMOVD(number, x)
		widen(func(v reg.VecVirtual) reg.Register { return v.AsX() }, x)
		g.VCVTPH2PS(x, x)
		if from == spec.E4M3 {
			g.VMULSS(scale.AsX(), x, x)
		}
		g.VMOVSS(x, dst)
	}, func() {
		if from == spec.E4M3 {
			g.VMOVUPS(g.Constant(spec.E4M3Places), places)
			g.VMOVUPS(g.Constant(spec.E4M3Next), next)
			g.VMOVUPS(g.Constant(spec.E4M3Carry), carry)
			g.VMOVUPS(g.Constant(spec.E4M3Scale), scale)
		}
	})
}

func (g *gen) widenF16(src, dst operand.Mem) {
	h, x := g.GP32(), g.XMM()
	g.MOVWLZX(src, h)
	g.VMOVD(h, x)
	g.VCVTPH2PS(x, x)
	g.VMOVSS(x, dst)
}

func (g *gen) widenBF16(src, dst operand.Mem) {
	h := g.GP32()
	g.MOVWLZX(src, h)
	g.SHLL(operand.Imm(16), h)
	g.MOVL(h, dst)
}

// WidenInt8 works group by group within a row, but for short rows: those of different scales cannot
// be one long row, as those of other types.
func (g *gen) WidenInt8() {
	g.Kernel(spec.WidenInt8)
	g.widenShort()
	g.Label("groups")
	g.widenGroups(1, func() {}, func(r groupRow, scale reg.VecVirtual) {
		vector := func(of func(v reg.VecVirtual) reg.Register) func(i reg.Register) {
			return func(i reg.Register) { g.widenInt8(r.from, r.to, i, scale, of) }
		}
		g.vectorsOr(g.Lanes(), 0, "", r.count, vector(whole), func() {
			g.elementsBy(4, g.Lanes(), "of4", r.count, vector(quarter), func(i reg.Register) { g.widenOneInt8(r.from, r.to, i, scale) })
		})
	})
}

// widenShort emits loops over rows of less than 16 columns that have one scale, with few
// instructions around the numbers. A row is its first and its last vector, or three of its numbers,
// some of which may be the same. Other rows are left to what follows the label groups.
func (g *gen) widenShort() {
	last, n := g.Num("d"), g.Num("n")
	g.CMPQ(last, g.Argument("group"))
	g.JNE(operand.LabelRef("groups"))
	g.CMPQ(last, operand.Imm(16))
	g.JGE(operand.LabelRef("groups"))
	g.JumpIfZero(n, "groups")
	src, dst, scales := g.Slice("src"), g.Slice("dst"), g.Slice("scales")
	lds, ldd, lsc := g.Num("lds"), g.Stride("ldd"), g.Stride("lsc")
	first, middle, scale := g.GP64(), g.GP64(), g.Vec()
	g.XORQ(first, first)
	rows := func(name string, convert func()) {
		loop.Times(g, n, name, func() {
			g.VBROADCASTSS(emit.At(scales, 0), scale)
			convert()
			g.ADDQ(lds, src)
			g.ADDQ(ldd, dst)
			g.ADDQ(lsc, scales)
		})
		g.Return()
	}
	for _, part := range []struct {
		lanes int
		of    func(v reg.VecVirtual) reg.Register
	}{{8, half}, {4, quarter}} {
		fewer := fmt.Sprintf("lessthan%d", part.lanes)
		g.SUBQ(operand.Imm(uint64(part.lanes)), last)
		g.JL(operand.LabelRef(fewer))
		rows(fmt.Sprintf("rowsof%d", part.lanes), func() {
			g.widenInt8(src, dst, first, scale, part.of)
			g.widenInt8(src, dst, last, scale, part.of)
		})
		g.Label(fewer)
		g.ADDQ(operand.Imm(uint64(part.lanes)), last)
	}
	g.MOVQ(last, middle)
	g.SHRQ(operand.Imm(1), middle)
	g.DECQ(last)
	rows("rowsof1", func() {
		for _, i := range []reg.Register{first, middle, last} {
			g.widenOneInt8(src, dst, i, scale)
		}
	})
}

// whole, half and quarter are v, and the registers of 8 and 4 lanes in it.
func whole(v reg.VecVirtual) reg.Register   { return v }
func half(v reg.VecVirtual) reg.Register    { return v.AsY() }
func quarter(v reg.VecVirtual) reg.Register { return v.AsX() }

// widenInt8 emits the conversion of integers from number i on, as many as of(v) has lanes.
func (g *gen) widenInt8(src, dst, i reg.Register, scale reg.VecVirtual, of func(v reg.VecVirtual) reg.Register) {
	v := of(g.Vec())
	g.VPMOVSXBD(emit.Indexed(src, i, 1), v)
	g.VCVTDQ2PS(v, v)
	g.VMULPS(of(scale), v, v)
	g.VMOVUPS(v, emit.Indexed(dst, i, 4))
}

// widenOneInt8 emits the conversion of number i.
func (g *gen) widenOneInt8(src, dst, i reg.Register, scale reg.VecVirtual) {
	number, x := g.GP32(), g.XMM()
	g.MOVBLSX(emit.Indexed(src, i, 1), number)
	g.VMOVD(number, x)
	g.VCVTDQ2PS(x, x)
	g.VMULSS(scale.AsX(), x, x)
	g.VMOVSS(x, emit.Indexed(dst, i, 4))
}

// A groupRow is where a kernel of integers with scales stands in a row: at a group.
type groupRow struct {
	from, to, s reg.GPVirtual // the numbers of the group in both forms, and its scale
	count       reg.GPVirtual // bytes of integers of the group
}

// widenGroups emits the loops over rows and their groups around convert, which widens the r.count
// bytes of a group, each of so many integers. start comes before the loops, if there are rows.
func (g *gen) widenGroups(perByte int, start func(), convert func(r groupRow, scale reg.VecVirtual)) {
	src, dst, scales := g.Slice("src"), g.Slice("dst"), g.Slice("scales")
	group, n := g.Num("group"), g.Num("n")
	bytes := func(numbers reg.Register) { // sets the zero flag
		if perByte == 1 {
			g.TESTQ(numbers, numbers)
		} else {
			g.SHRQ(operand.Imm(1), numbers)
		}
	}
	if perByte > 1 {
		bytes(group)
	}
	g.JumpIfZero(n, "end")
	start()
	g.Label("row")
	r := groupRow{from: g.GP64(), to: g.GP64(), s: g.GP64()}
	left := g.Num("d")
	bytes(left)
	g.JZ(operand.LabelRef("end"))
	g.MOVQ(src, r.from)
	g.MOVQ(dst, r.to)
	g.MOVQ(scales, r.s)
	g.Label("group")
	r.count = g.GP64()
	scale := g.Vec()
	g.VBROADCASTSS(emit.At(r.s, 0), scale)
	g.ADDQ(operand.Imm(4), r.s)
	g.MOVQ(group, r.count)
	g.CMPQ(left, r.count)
	g.CMOVQLT(left, r.count)
	convert(r, scale)
	g.ADDQ(r.count, r.from)
	g.LEAQ(emit.Indexed(r.to, r.count, uint8(4*perByte)), r.to)
	g.SUBQ(r.count, left)
	g.JNZ(operand.LabelRef("group"))
	g.ADDQ(g.Num("lds"), src)
	g.LEAQ(emit.Indexed(dst, g.Num("ldd"), 4), dst)
	g.LEAQ(emit.Indexed(scales, g.Num("lsc"), 4), scales)
	g.DECQ(n)
	g.JNZ(operand.LabelRef("row"))
	g.Label("end")
	g.Return()
}

// Flush compares magnitudes as integers: comparing subnormal numbers takes long on some CPUs.
func (g *gen) Flush() {
	least, magnitude := g.Vec(), g.Vec()
	flush := func(v reg.VecVirtual) {
		a := g.Vec()
		g.VANDPS(magnitude, v, a)
		g.ZeroBelow(g.Context, v, a, least)
	}
	g.rows(spec.Flush, 4, 4, func(src, dst operand.Mem) {
		v := g.Vec()
		g.VMOVUPS(src, v)
		flush(v)
		g.VMOVUPS(v, dst)
	}, func(src, dst operand.Mem) {
		v := g.Vec()
		g.VMOVSS(src, v.AsX())
		flush(v)
		g.VMOVSS(v.AsX(), dst)
	}, func() {
		g.VBROADCASTSS(g.Argument("least"), least)
		g.VMOVUPS(g.Constant(^uint32(spec.SignBit)), magnitude)
	})
}

// Narrow rounds as package lane does it, and stores the bits that the type has.
func (g *gen) Narrow(to spec.Element) {
	var round *lane.Frame[reg.VecVirtual]
	rounded := func(v reg.VecVirtual) reg.VecVirtual {
		v = round.Of(v)[0]
		if to == spec.BF16 {
			g.VPSRLD(operand.Imm(16), v, v)
		}
		return v
	}
	g.rows(spec.Narrow(to), 4, 1<<to.Shift(), func(src, dst operand.Mem) {
		v := g.Vec()
		g.VMOVUPS(src, v)
		v = rounded(v)
		switch to {
		case spec.F16:
			g.VCVTPS2PH(operand.Imm(0), v, dst)
		case spec.BF16:
			g.StoreWords(g.Context, v, dst)
		default:
			g.StoreBytes(g.Context, v, dst)
		}
	}, func(src, dst operand.Mem) {
		v := g.Vec()
		g.VMOVSS(src, v.AsX())
		x := rounded(v).AsX()
		switch to {
		case spec.F16:
			g.VCVTPS2PH(operand.Imm(0), x, x)
			g.VPEXTRW(operand.Imm(0), x, dst)
		case spec.BF16:
			g.VPEXTRW(operand.Imm(0), x, dst)
		default:
			g.VPEXTRB(operand.Imm(0), x, dst)
		}
	}, func() { round = g.inline(lane.Rounded(to), 1, 0) })
}
