package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Halves emits the conversions of types of 8 bits to a type of 16. An E5M2 is the upper half of a
// binary16. The upper and the lower bytes of the bfloat16 of E4M3 are looked up. Both are put
// together at the end. CPUs with AVX-512 that look up all magnitudes at once need no such rows of
// E4M3, see skinny.SkinnyQKRows, and the others have the kernel of AVX2.
func (g *gen) Halves() {
	if !g.EVEX() {
		g.halves(spec.HalvesE4M3, g.lookupE4M3)
	}
	g.halves(spec.HalvesE5M2, func(load loadBytes) func(src operand.Mem) (lower, upper reg.VecVirtual) {
		zeros := g.Vec()
		g.Zero(g.Context, zeros)
		return func(src operand.Mem) (lower, upper reg.VecVirtual) { return zeros, load(src) }
	})
}

// A loadBytes emits the load of a vector of bytes. Its 8-byte words are ordered so that bytes are
// in order after upper and lower ones are put together.
type loadBytes func(src operand.Mem) reg.VecVirtual

func (g *gen) loadBytes() loadBytes {
	order := func(src operand.Mem, x reg.VecVirtual) { g.VPERMQ(operand.U8(0xd8), src, x) }
	if g.EVEX() {
		words := g.Vec()
		g.VMOVUPS(g.Repeated("wordOrder", 0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15), words)
		order = func(src operand.Mem, x reg.VecVirtual) { g.VPERMD(src, words, x) }
	}
	return func(src operand.Mem) reg.VecVirtual {
		x := g.Vec()
		order(src, x)
		return x
	}
}

// halves emits a function of rows of at least a vector of numbers, of which start returns the upper
// and lower bytes. The last numbers of a row may be converted a second time.
func (g *gen) halves(f spec.Function, start func(loadBytes) func(src operand.Mem) (lower, upper reg.VecVirtual)) {
	g.Kernel(f)
	src, dst, lds, ldd := g.Slice("src"), g.Slice("dst"), g.Num("lds"), g.Num("ldd")
	n, d, far := g.Num("n"), g.Num("d"), g.GP64()
	g.JumpIfZero(n, "end")
	g.MOVQ(lds, far)
	g.IMUL3Q(operand.Imm(ukernel.HalvesAhead), far, far)
	g.ADDQ(src, far)
	bytes := start(g.loadBytes())
	loop.Times(g, n, "row", func() {
		g.wholeSteps(g.VecBytes(), d, func(i reg.Register) {
			g.PREFETCHT0(emit.Indexed(far, i, 1))
			lower, upper := bytes(emit.Indexed(src, i, 1))
			for half, unpack := range []func(...operand.Op){g.VPUNPCKLBW, g.VPUNPCKHBW} {
				x := g.Vec()
				unpack(upper, lower, x)
				g.VMOVUPS(x, emit.Indexed(dst, i, 2).Offset(half*g.VecBytes()))
			}
		})
		g.ADDQ(lds, src)
		g.ADDQ(lds, far)
		g.LEAQ(emit.Indexed(dst, ldd, 2), dst)
	})
	g.Label("end")
	g.Return()
}

// lookupE4M3 looks up the sign and the upper bits of the exponent, and makes the lower byte of the
// others. That is wrong for subnormals, and the NaN is a number. A table mends both, in which
// numbers with an upper bit, which are all others, have 0. On Zen 3, products in place of shifts
// took as long or longer.
func (g *gen) lookupE4M3(load loadBytes) func(src operand.Mem) (lower, upper reg.VecVirtual) {
	table := func(name string, entry func(i int) uint8) reg.VecVirtual {
		v := g.Vec()
		g.VMOVUPS(g.Bytes(name, func(i int) uint8 { return entry(i % 16) }), v)
		return v
	}
	normal := func(i int) [2]uint8 { return [2]uint8{uint8(i << 4), uint8(i>>4)&7 + 60} }
	exponents := table("exponentsE4M3", func(i int) uint8 { return uint8(i)>>3<<7 | normal(i << 4)[1] })
	mend := func(b int) func(i int) uint8 { // the NaN, then subnormals
		return func(i int) uint8 {
			if i < 7 {
				return 0
			}
			x := (i - 8) & 0x7f
			return spec.BytesE4M3(x)[b] ^ normal(x)[b]
		}
	}
	mended := []reg.VecVirtual{table("lowerE4M3", mend(0)), table("upperE4M3", mend(1))}
	constant := func(x uint32) operand.Mem { return g.Constant(x * 0x01010101) }
	return func(src operand.Mem) (lower, upper reg.VecVirtual) {
		x, t, lower, upper := load(src), g.Vec(), g.Vec(), g.Vec()
		g.VPSRLW(operand.Imm(4), x, upper)
		g.VPAND(constant(0x0f), upper, upper)
		g.VPSHUFB(upper, exponents, upper)
		g.VPSLLW(operand.Imm(4), x, lower)
		g.VPAND(constant(0xf0), lower, lower)
		g.Comment("0x77 for the NaN, then up to 0x7f for subnormals, at least 0x80 for others.")
		g.VPADDB(constant(0x01), x, x)
		g.VPAND(constant(0x7f), x, x)
		g.VPADDB(constant(0x77), x, x)
		for b, v := range []reg.VecVirtual{lower, upper} {
			g.VPSHUFB(x, mended[b], t)
			g.VPXOR(t, v, v)
		}
		return lower, upper
	}
}
