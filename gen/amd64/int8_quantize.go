package amd64

import (
	"math"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// WeightQuantize takes a block in four vectors of 8. Vector i has the steps 8i to 8i+7, which are
// the bytes i of the 8 words of codes: so no lane moves. With AVX-512 it is the kernel of AVX2.
func (g *gen) WeightQuantize() {
	if g.EVEX() {
		return
	}
	g.Kernel(spec.WeightQuantize)
	dst, src, n := g.Slice("dst"), g.Slice("src"), g.SliceLen("src")
	magnitude, most := g.Vec(), g.Vec()
	g.VMOVUPS(g.Constant(^uint32(spec.SignBit)), magnitude)
	g.VMOVUPS(g.Constant(math.Float32bits(spec.MostCode)), most)
	g.JumpIfZero(n, "done")
	g.Label("block")
	xs := g.Vecs(4)
	largest := g.Vec()
	for i, x := range xs {
		g.VMOVUPS(emit.At(src, i*g.VecBytes()), x)
		if i == 0 {
			g.VPAND(magnitude, x, largest)
			continue
		}
		t := g.Vec()
		g.VPAND(magnitude, x, t)
		g.VPMAXUD(t, largest, largest)
	}
	a := g.acrossLanes(largest, g.VPMAXUD)
	bits := g.GP32()
	g.VMOVD(a, bits)
	g.CMPL(bits, operand.U32(infinity))
	g.JAE(operand.LabelRef("infinite"))
	g.CMPL(bits, operand.U32(spec.LeastOfBlock))
	g.JB(operand.LabelRef("zeros"))

	inverse := g.Vec()
	g.VDIVSS(a, most.AsX(), inverse.AsX())
	g.VBROADCASTSS(inverse.AsX(), inverse)
	sums, words := g.Vecs(2), g.Vec()
	byteMask := g.Constant(255)
	for i, x := range xs {
		g.VMULPS(inverse, x, x)
		g.VCVTPS2DQ(x, x)
		if group := sums[i/2]; i%2 == 0 {
			g.VMOVDQU(x, group)
		} else {
			g.VPADDD(x, group, group)
		}
		if i < 3 {
			g.VPAND(byteMask, x, x)
		}
		if i == 0 {
			words = x
			continue
		}
		g.VPSLLD(operand.Imm(uint64(8*i)), x, x)
		g.VPOR(x, words, words)
	}
	g.VMOVDQU(words, emit.At(dst, 0))
	g.Comment("The sums of both groups are halves of a lane.")
	g.VPSLLD(operand.Imm(16), sums[1], sums[1])
	g.VPBLENDW(operand.Imm(0xaa), sums[1], sums[0], sums[0])
	pair := g.acrossLanes(sums[0], g.VPADDW)
	d, zero, total := g.XMM(), g.XMM(), g.XMM()
	g.VMULSS(g.Constant(spec.PerCode), a, d)
	g.VMOVSS(d, emit.At(dst, spec.RowScale))
	g.VPMADDWD(g.Constant(1<<16|1), pair, total)
	g.VPXOR(zero, zero, zero)
	g.VPSUBW(pair, zero, pair)
	g.VMOVD(pair, emit.At(dst, spec.RowGroups))
	g.VPSUBD(total, zero, zero)
	g.VMOVD(zero, emit.At(dst, spec.RowMinusSum))
	g.VCVTDQ2PS(total, total)
	g.VMULSS(d, total, total)
	g.VMOVSS(total, emit.At(dst, spec.RowSum))
	g.Label("next")
	g.ADDQ(operand.U32(4*spec.BlockSteps), src)
	g.ADDQ(operand.U32(spec.RowBytes), dst)
	g.SUBQ(operand.U32(spec.BlockSteps), n)
	g.JNZ(operand.LabelRef("block"))
	g.Label("done")
	g.Return()

	scale := g.GP32()
	g.Label("infinite")
	g.MOVL(operand.U32(spec.NaN), scale)
	g.JMP(operand.LabelRef("fill"))
	g.Label("zeros")
	g.XORL(scale, scale)
	g.Label("fill")
	none := g.Vec()
	g.VPXOR(none, none, none)
	g.VMOVDQU(none, emit.At(dst, 0))
	g.VMOVDQU(none.AsX(), emit.At(dst, spec.RowScale))
	g.MOVL(scale, emit.At(dst, spec.RowScale))
	g.MOVL(scale, emit.At(dst, spec.RowSum))
	g.JMP(operand.LabelRef("next"))
}

// acrossLanes combines the 8 lanes of a vector of AVX2 and returns the result in the lowest lane.
func (g *gen) acrossLanes(v reg.VecVirtual, combine func(ops ...operand.Op)) reg.VecVirtual {
	x, t := g.XMM(), g.XMM()
	g.VEXTRACTI128(operand.Imm(1), v, x)
	combine(v.AsX(), x, x)
	g.VPSHUFD(operand.Imm(0x4e), x, t)
	combine(t, x, x)
	g.VPSHUFD(operand.Imm(0xb1), x, t)
	combine(t, x, x)
	return x
}
