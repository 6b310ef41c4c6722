package amd64

import (
	"math"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The conversions of integers of 4 bits, two in a byte. With AVX-512 those to and from float32 are
// the kernels of AVX2: a row has a quarter of the bytes in memory that it has in the cache.

// pairsOfVector are the bytes of a vector of widened numbers.
const pairsOfVector = 4

// WidenInt4 works group by group within a row, as WidenInt8 does. The four bytes of a vector are in
// all of its lanes; each lane moves its four bits to the top, and from there down again with their
// sign.
func (g *gen) WidenInt4() {
	if g.EVEX() {
		return
	}
	g.Kernel(spec.WidenInt4)
	up := g.Vec()
	g.widenGroups(2, func() {
		g.VMOVDQU(g.Repeated("nibbles", 28, 24, 20, 16, 12, 8, 4, 0), up)
	}, func(r groupRow, scale reg.VecVirtual) {
		g.elementsBy(pairsOfVector, 0, "", r.count, func(i reg.Register) {
			v := g.Vec()
			g.VPBROADCASTD(emit.Indexed(r.from, i, 1), v)
			g.VPSLLVD(up, v, v)
			g.VPSRAD(operand.Imm(28), v, v)
			g.VCVTDQ2PS(v, v)
			g.VMULPS(scale, v, v)
			g.VMOVUPS(v, emit.Indexed(r.to, i, 8))
		}, func(i reg.Register) {
			number, x := g.GP32(), g.XMM()
			g.MOVBLSX(emit.Indexed(r.from, i, 1), number)
			g.VMOVD(number, x)
			g.VPBROADCASTD(x, x)
			g.VPSLLVD(up.AsX(), x, x)
			g.VPSRAD(operand.Imm(28), x, x)
			g.VCVTDQ2PS(x, x)
			g.VMULPS(scale.AsX(), x, x)
			g.VMOVLPS(x, emit.Indexed(r.to, i, 8))
		})
	})
}

// UnpackInt4 makes words of 16 bytes, moves the second half of a byte above the first, and looks
// the numbers up. With AVX-512 rows of less than a vector are left to AVX2.
func (g *gen) UnpackInt4() {
	g.Kernel(spec.UnpackInt4)
	step := g.VecBytes() / 2
	if g.EVEX() {
		g.CMPQ(g.Argument("d"), operand.Imm(uint64(2*step)))
		g.JL(operand.LabelRef("few"))
	}
	src, dst, lds, ldd := g.Slice("src"), g.Slice("dst"), g.Num("lds"), g.Num("ldd")
	n, pairs := g.Num("n"), g.Num("d")
	g.JumpIfZero(n, "end")
	g.SHRQ(operand.Imm(1), pairs)
	g.JZ(operand.LabelRef("end"))
	low, numbers := g.Vec(), g.Vec()
	g.VMOVUPS(g.Constant(0x0f0f0f0f), low)
	g.VMOVUPS(g.Bytes("int4", func(i int) uint8 { return uint8(int8(i<<4) >> 4) }), numbers)
	vector := func(i reg.Register) {
		v, second := g.Vec(), g.Vec()
		g.VPMOVZXBW(emit.Indexed(src, i, 1), v)
		g.VPSLLW(operand.Imm(4), v, second)
		if g.EVEX() {
			const aOrBAndC = 0xa8
			g.VPTERNLOGD(operand.U8(aOrBAndC), low, second, v)
		} else {
			g.VPOR(second, v, v)
			g.VPAND(low, v, v)
		}
		g.VPSHUFB(v, numbers, v)
		g.VMOVUPS(v, emit.Indexed(dst, i, 2))
	}
	loop.Times(g, n, "row", func() {
		if g.EVEX() {
			g.wholeSteps(step, pairs, vector)
		} else {
			g.elementsBy(step, 0, "", pairs, vector, func(i reg.Register) {
				first, second := g.GP32(), g.GP32()
				g.MOVBLSX(emit.Indexed(src, i, 1), second)
				g.MOVL(second, first)
				g.SHLL(operand.Imm(28), first)
				g.SARL(operand.Imm(28), first)
				g.SARL(operand.Imm(4), second)
				g.MOVB(first.As8(), emit.Indexed(dst, i, 2))
				g.MOVB(second.As8(), emit.Indexed(dst, i, 2).Offset(1))
			})
		}
		g.ADDQ(lds, src)
		g.ADDQ(ldd, dst)
	})
	g.Label("end")
	g.Return()
	if g.EVEX() {
		g.toAVX2(spec.UnpackInt4)
	}
}

// QuantizeInt4 follows QuantizeInt8. The scale is an eighth of the largest magnitude, negative if a
// number of it is positive: as bits, such a number is the largest of all.
func (g *gen) QuantizeInt4() {
	if g.EVEX() {
		return
	}
	g.Kernel(spec.QuantizeInt4)
	magnitude, all, high, low := g.Vec(), g.Vec(), g.Vec(), g.Vec()
	g.quantizeGroups(func() {
		g.VMOVUPS(g.Constant(^uint32(spec.SignBit)), magnitude)
		g.VMOVUPS(g.Constant(1<<32-1), all)
		g.VMOVUPS(g.Constant(math.Float32bits(7)), high)
		g.VMOVUPS(g.Constant(math.Float32bits(-8)), low)
	}, func(r groupRow, group reg.GPVirtual) reg.GPVirtual {
		m, scale, none := g.largest(r.from, group, magnitude), g.XMM(), g.XMM()
		g.CMPL(m, operand.U32(infinity))
		g.JGE(operand.LabelRef("infinite"))
		top := g.largestNamed("top", r.from, group, all)
		g.zeroBelow(m, spec.LeastInt4)
		g.VMOVD(m, scale)
		g.VMULSS(g.Constant(math.Float32bits(0.125)), scale, scale)
		g.VXORPS(none, none, none)
		g.CMPL(top, m)
		g.JNE(operand.LabelRef("negative"))
		g.VSUBSS(scale, none, scale)
		g.Label("negative")
		g.VMOVSS(scale, emit.At(r.s, 0))
		divisor, pairs := g.divisor(scale, none), g.GP64()
		g.MOVQ(group, pairs)
		g.SHRQ(operand.Imm(1), pairs)
		low4 := g.Constant(15)
		g.elementsBy(pairsOfVector, 0, "quotient", pairs, func(i reg.Register) {
			x, second := g.Vec(), g.Vec()
			g.VMOVUPS(emit.Indexed(r.from, i, 8), x)
			g.VDIVPS(divisor, x, x)
			g.VMINPS(high, x, x)
			g.VMAXPS(low, x, x)
			g.VCVTPS2DQ(x, x)
			g.VPAND(low4, x, x)
			g.Comment("The second of a pair, 28 bits down, is above the first. The pair is the low byte of 64 bits.")
			g.VPSRLQ(operand.Imm(28), x, second)
			g.VPOR(second, x, x)
			y := g.XMM()
			g.VEXTRACTI128(operand.Imm(1), x, y)
			g.VSHUFPS(operand.U8(0x88), y, x.AsX(), y)
			g.VPAND(g.Constant(255), y, y)
			g.VPACKUSDW(y, y, y)
			g.VPACKUSWB(y, y, y)
			g.VMOVD(y, emit.Indexed(r.to, i, 1))
		}, func(i reg.Register) {
			x, first, second := g.XMM(), g.GP32(), g.GP32()
			g.VMOVSD(emit.Indexed(r.from, i, 8), x)
			g.VDIVPS(divisor.AsX(), x, x)
			g.VMINPS(high.AsX(), x, x)
			g.VMAXPS(low.AsX(), x, x)
			g.VCVTPS2DQ(x, x)
			g.VMOVD(x, first)
			g.VPEXTRD(operand.Imm(1), x, second)
			g.ANDL(operand.Imm(15), first)
			g.SHLL(operand.Imm(4), second)
			g.ORL(second, first)
			g.MOVB(first.As8(), emit.Indexed(r.to, i, 1))
		})
		return pairs
	})
}
