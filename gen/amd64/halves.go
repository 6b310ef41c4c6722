package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Halves emits the conversions of types of 8 bits to a type of 16. An E5M2 is the upper half of a
// binary16. The upper and the lower bytes of the bfloat16 of E4M3 are looked up, and put together
// at the end.
func (g *gen) Halves() {
	g.halves(spec.HalvesE5M2, g.VecBytes()/2, func() func(src, low, high operand.Mem) {
		return func(src, low, _ operand.Mem) {
			v := g.Vec()
			g.VPMOVZXBW(src, v)
			g.VPSLLW(operand.Imm(8), v, v)
			g.VMOVUPS(v, low)
		}
	})
	lookup := g.lookupE4M3
	if g.EVEX() {
		lookup = g.lookupAllE4M3
	}
	g.halves(spec.HalvesE4M3, g.VecBytes(), func() func(src, low, high operand.Mem) {
		bytes := lookup()
		return func(src, low, high operand.Mem) {
			lower, upper := bytes(src)
			for i, unpack := range []func(...operand.Op){g.VPUNPCKLBW, g.VPUNPCKHBW} {
				x := g.Vec()
				unpack(upper, lower, x)
				g.VMOVUPS(x, []operand.Mem{low, high}[i])
			}
		}
	})
}

// halves emits a function of rows of at least step numbers, of which start returns the conversion
// of so many. The last numbers of a row may be converted a second time.
func (g *gen) halves(f spec.Function, step int, start func() func(src, low, high operand.Mem)) {
	const ahead = 64 // rows: twice as many as kernels take at once
	g.Kernel(f)
	src, dst, lds, ldd := g.Slice("src"), g.Slice("dst"), g.Num("lds"), g.Num("ldd")
	n, d, far := g.Num("n"), g.Num("d"), g.GP64()
	g.JumpIfZero(n, "end")
	g.MOVQ(lds, far)
	g.IMUL3Q(operand.Imm(ahead), far, far)
	g.ADDQ(src, far)
	convert := start()
	loop.Times(g, n, "row", func() {
		g.wholeSteps(step, d, func(i reg.Register) {
			g.PREFETCHT0(emit.Indexed(far, i, 1))
			to := emit.Indexed(dst, i, 2)
			convert(emit.Indexed(src, i, 1), to, to.Offset(g.VecBytes()))
		})
		g.ADDQ(lds, src)
		g.ADDQ(lds, far)
		g.LEAQ(emit.Indexed(dst, ldd, 2), dst)
	})
	g.Label("end")
	g.Return()
}

// lookupAllE4M3 has a table of all magnitudes. The 8-byte words of a vector are ordered so that
// bytes are in order after they are put together.
func (g *gen) lookupAllE4M3() func(src operand.Mem) (lower, upper reg.VecVirtual) {
	const orAnd = 0xf8
	var tables [2][2]reg.VecVirtual
	for b, name := range []string{"lowerE4M3", "upperE4M3"} {
		for half := range tables[b] {
			tables[b][half] = g.Vec()
			g.VMOVUPS(g.Bytes(name+"AB"[half:half+1], func(i int) uint8 { return spec.BytesE4M3(64*half + i)[b] }), tables[b][half])
		}
	}
	order, sign := g.Vec(), g.Vec()
	g.VMOVUPS(g.Repeated("wordOrder", 0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15), order)
	g.VMOVUPS(g.Constant(0x80808080), sign)
	return func(src operand.Mem) (lower, upper reg.VecVirtual) {
		x, lower, upper := g.Vec(), g.Vec(), g.Vec()
		g.VPERMD(src, order, x)
		for b, v := range []reg.VecVirtual{lower, upper} {
			g.VMOVAPS(x, v)
			g.VPERMI2B(tables[b][1], tables[b][0], v)
		}
		g.VPTERNLOGD(operand.U8(orAnd), sign, x, upper)
		return lower, upper
	}
}

// lookupE4M3 looks up the sign and the upper bits of the exponent, and makes the lower byte of the
// others. That is wrong for subnormals, and the NaN is a number. A table mends both, in which
// numbers with an upper bit, which are all others, have 0.
func (g *gen) lookupE4M3() func(src operand.Mem) (lower, upper reg.VecVirtual) {
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
		const order = 0xd8 // the middle two 8-byte words change places
		x, t, lower, upper := g.Vec(), g.Vec(), g.Vec(), g.Vec()
		g.VPERMQ(operand.U8(order), src, x)
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
