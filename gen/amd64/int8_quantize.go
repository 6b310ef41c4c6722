package amd64

import (
	"math"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// WeightQuantize takes a block in four vectors of 8. Vector i has the steps 8i to 8i+7, which are
// the bytes i of the 8 words of codes. With AVX-512 it is the kernel of AVX2: two vectors of 16
// take about as long, as most of the time goes by while lanes are combined.
func (g *gen) WeightQuantize() {
	if g.EVEX() {
		return
	}
	g.Kernel(spec.WeightQuantize)
	dst, src, n := g.Slice("dst"), g.Slice("src"), g.SliceLen("src")
	magnitude, most, ones, none := g.Vec(), g.XMM(), g.Vec(), g.XMM()
	g.VMOVUPS(g.Constant(^uint32(spec.SignBit)), magnitude)
	g.VMOVSS(g.Constant(math.Float32bits(spec.MostCode)), most)
	g.VMOVUPS(g.Constant(0x01010101), ones)
	g.VXORPS(none, none, none)
	g.JumpIfZero(n, "done")
	g.Label("block")
	xs, largest := g.Vecs(4), g.Vec()
	for i, x := range xs {
		if i == 0 {
			g.VANDPS(emit.At(src, 0), magnitude, largest)
			continue
		}
		g.VANDPS(emit.At(src, i*g.VecBytes()), magnitude, x)
		g.VPMAXUD(x, largest, largest)
	}
	a := g.acrossLanes(largest, g.VPMAXUD)
	bits := g.GP32()
	g.VMOVD(a, bits)
	g.CMPL(bits, operand.U32(infinity))
	g.JAE(operand.LabelRef("infinite"))
	g.CMPL(bits, operand.U32(spec.LeastOfBlock))
	g.JB(operand.LabelRef("zeros"))

	inverse := g.Vec()
	g.VDIVSS(a, most, inverse.AsX())
	g.VBROADCASTSS(inverse.AsX(), inverse)
	for i, x := range xs {
		g.VMULPS(emit.At(src, i*g.VecBytes()), inverse, x)
		g.VCVTPS2DQ(x, x)
	}
	words := xs[0]
	g.VPACKSSDW(xs[1], xs[0], words)
	g.VPACKSSDW(xs[3], xs[2], xs[2])
	g.VPACKSSWB(xs[2], words, words)
	g.VPSHUFB(g.Repeated("codes", 0x0c080400, 0x0d090501, 0x0e0a0602, 0x0f0b0703), words, words)
	g.VMOVUPS(words, emit.At(dst, 0))
	g.Comment("The sums of both groups are halves of a lane.")
	g.VPMADDUBSW(words, ones, words)
	pair := g.acrossLanes(words, g.VPADDW)
	d, minus, total := g.XMM(), g.XMM(), g.XMM()
	g.VMULSS(g.Constant(spec.PerCode), a, d)
	g.VMOVSS(d, emit.At(dst, spec.RowScale))
	g.VPMADDWD(g.Constant(1<<16|1), pair, total)
	g.VPSUBW(pair, none, pair)
	g.VMOVD(pair, emit.At(dst, spec.RowGroups))
	g.VPSUBD(total, none, minus)
	g.VMOVD(minus, emit.At(dst, spec.RowMinusSum))
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
	for at := range spec.RowBytes / 16 {
		g.VMOVUPS(none, emit.At(dst, 16*at))
	}
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
