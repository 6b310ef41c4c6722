package amd64

import (
	"math"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// QuantizeInt8 goes through a group twice: for its largest magnitude, as bits, and for the
// quotients. The latter are divisions, which take most of the time: a product with 1/scale is
// another number.
func (g *gen) QuantizeInt8() {
	g.Kernel(spec.QuantizeInt8)
	most := math.Float32bits(127)
	magnitude := g.Vec()
	g.quantizeGroups(func() {
		g.VMOVUPS(g.Constant(^uint32(spec.SignBit)), magnitude)
	}, func(r groupRow, group reg.GPVirtual) reg.GPVirtual {
		m, scale, none := g.largest(r.from, group, magnitude), g.XMM(), g.XMM()
		g.CMPL(m, operand.U32(infinity))
		g.JGE(operand.LabelRef("infinite"))
		g.zeroBelow(m, spec.LeastInt8)
		g.limitTo(m, spec.MostInt8)
		g.VMOVD(m, scale)
		g.VDIVSS(g.Constant(most), scale, scale)
		g.VMOVSS(scale, emit.At(r.s, 0))
		g.VXORPS(none, none, none)
		divisor := g.divisor(scale, none)
		g.elements("quotient", group, func(i reg.Register) {
			x := g.Vec()
			g.VMOVUPS(emit.Indexed(r.from, i, 4), x)
			g.VDIVPS(divisor, x, x)
			g.VCVTPS2DQ(x, x)
			g.StoreBytes(g.Context, x, emit.Indexed(r.to, i, 1))
		}, func(i reg.Register) {
			x, number := g.XMM(), g.GP32()
			g.VMOVSS(emit.Indexed(r.from, i, 4), x)
			g.VDIVSS(divisor.AsX(), x, x)
			g.VCVTSS2SI(x, number)
			g.MOVB(number.As8(), emit.Indexed(r.to, i, 1))
		})
		return group
	})
}

// zeroBelow makes the bits of a magnitude 0 below others.
func (g *gen) zeroBelow(m reg.GPVirtual, least uint32) {
	zero := g.GP32()
	g.XORL(zero, zero)
	g.CMPL(m, operand.U32(least))
	g.CMOVLLT(zero, m)
}

// limitTo makes the bits of a magnitude at most others.
func (g *gen) limitTo(m reg.GPVirtual, bits uint32) {
	most := g.GP32()
	g.MOVL(operand.U32(bits), most)
	g.CMPL(m, most)
	g.CMOVLGT(most, m)
}

// quantizeGroups emits the loops over rows and their groups around convert, which quantizes a group
// and returns the bytes of its integers. start comes before the loops.
func (g *gen) quantizeGroups(start func(), convert func(r groupRow, group reg.GPVirtual) (bytes reg.GPVirtual)) {
	src, dst, scales := g.Slice("src"), g.Slice("dst"), g.Slice("scales")
	group, n := g.Num("group"), g.Num("n")
	start()
	g.JumpIfZero(n, "finite")
	g.Label("row")
	r := groupRow{from: g.GP64(), to: g.GP64(), s: g.GP64()}
	left := g.Num("d")
	g.JumpIfZero(left, "finite")
	g.MOVQ(src, r.from)
	g.MOVQ(dst, r.to)
	g.MOVQ(scales, r.s)
	g.Label("group")
	bytes := convert(r, group)
	g.LEAQ(emit.Indexed(r.from, group, 4), r.from)
	g.ADDQ(bytes, r.to)
	g.ADDQ(operand.Imm(4), r.s)
	g.SUBQ(group, left)
	g.JNZ(operand.LabelRef("group"))
	g.LEAQ(emit.Indexed(src, g.Num("lds"), 4), src)
	g.ADDQ(g.Num("ldd"), dst)
	g.LEAQ(emit.Indexed(scales, g.Num("lsc"), 4), scales)
	g.DECQ(n)
	g.JNZ(operand.LabelRef("row"))
	g.returnFinite()
}

// divisor returns the scale of a group in all lanes, or 1 if it is none, which is 0.
func (g *gen) divisor(scale, none reg.VecVirtual) reg.VecVirtual {
	g.Comment("Divided by 1, numbers whose scale is 0 become 0.")
	g.VUCOMISS(none, scale)
	g.JNE(operand.LabelRef("divisible"))
	g.VMOVSS(g.Constant(math.Float32bits(1)), scale)
	g.Label("divisible")
	divisor := g.Vec()
	g.VBROADCASTSS(scale, divisor)
	return divisor
}

func (g *gen) Finite() {
	g.Kernel(spec.Finite)
	src, count, magnitude := g.Slice("src"), g.SliceLen("src"), g.Vec()
	g.JumpIfZero(count, "finite")
	g.VMOVUPS(g.Constant(^uint32(spec.SignBit)), magnitude)
	g.CMPL(g.largest(src, count, magnitude), operand.U32(infinity))
	g.JGE(operand.LabelRef("infinite"))
	g.returnFinite()
}

// infinity is +Inf. The bits of a NaN without its sign are larger.
const infinity = spec.MinusInf &^ spec.SignBit

// returnFinite returns true, and false at the label infinite.
func (g *gen) returnFinite() {
	result := g.GP8()
	g.Label("finite")
	g.MOVB(operand.U8(1), result)
	g.Store(result, g.ReturnIndex(0))
	g.Return()
	g.Label("infinite")
	result = g.GP8()
	g.MOVB(operand.U8(0), result)
	g.Store(result, g.ReturnIndex(0))
	g.Return()
}

// largest returns the bits of the largest magnitude of count ≥ 1 numbers at from. Magnitudes
// are ordered like their bits.
func (g *gen) largest(from, count reg.Register, magnitude reg.VecVirtual) reg.GPVirtual {
	return g.largestNamed("magnitude", from, count, magnitude)
}

// largestNamed is largest of the bits under a mask, as integers, and at least 0. name begins its
// labels.
func (g *gen) largestNamed(name string, from, count reg.Register, magnitude reg.VecVirtual) reg.GPVirtual {
	most := g.Vec()
	g.Zero(g.Context, most)
	g.elements(name, count, func(i reg.Register) {
		x := g.Vec()
		g.VANDPS(emit.Indexed(from, i, 4), magnitude, x)
		g.VPMAXSD(x, most, most)
	}, func(i reg.Register) {
		x := g.XMM()
		g.VMOVSS(emit.Indexed(from, i, 4), x)
		g.VANDPS(magnitude.AsX(), x, x)
		g.VPMAXSD(x, most.AsX(), most.AsX())
	})
	x := g.XMM()
	g.VPMAXSD(g.Quarter(g.Context, most, 1), most.AsX(), x)
	for q := 2; q < g.Lanes()/4; q++ {
		g.VPMAXSD(g.Quarter(g.Context, most, q), x, x)
	}
	const otherHalf, otherLane = 0x4e, 0xb1
	for _, order := range []uint64{otherHalf, otherLane} {
		y := g.XMM()
		g.VPSHUFD(operand.Imm(order), x, y)
		g.VPMAXSD(y, x, x)
	}
	bits := g.GP32()
	g.VMOVD(x, bits)
	return bits
}
