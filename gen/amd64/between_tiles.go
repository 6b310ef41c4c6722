package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/lane"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// BetweenTiles emits what attention computes between its products by tiles.
func (g *gen) BetweenTiles() {
	if !g.EVEX() {
		return
	}
	g.maxima()
	g.softmaxPairs()
	g.factors()
	g.packWords(spec.PackPairs)
}

// maxima emits four chains per vector of lanes, as one takes the latency of a maximum for a row.
// Two vectors at a time have eight, which keep both units busy.
func (g *gen) maxima() {
	const chains = 4
	g.Kernel(spec.Maxima)
	s, max, left, row := g.Slice("s"), g.Slice("max"), g.SliceLen("max"), g.GP64()
	g.MOVQ(left, row)
	g.SHLQ(operand.Imm(2), row)
	row3, none, scale := g.GP64(), g.Vec(), g.Vec()
	g.LEAQ(emit.Indexed(row, row, 2), row3)
	g.VMOVUPS(g.Constant(spec.MinusInf), none)
	g.VBROADCASTSS(g.Argument("scale"), scale)
	loop.Chunks(g, []int{2, 1}, left, func(vectors int, name string) {
		g.Label(name)
		from, n, m := g.GP64(), g.Num("n"), g.Vecs(chains*vectors)
		raise := func(i int) {
			for v := range vectors {
				x, top := g.Vec(), m[chains*v+i]
				g.VMOVUPS(emit.OfFour(from, row, row3, i).Offset(v*g.VecBytes()), x)
				g.VMAXPS(top, x, top) // top where both are equal or one is NaN
			}
		}
		g.MOVQ(s, from)
		for _, v := range m {
			g.VMOVAPS(none, v)
		}
		g.SUBQ(operand.Imm(chains), n)
		g.JL(operand.LabelRef(name + "rest"))
		g.AlignLoop()
		g.Label(name + "four")
		for i := range chains {
			raise(i)
		}
		g.LEAQ(emit.Indexed(from, row, chains), from)
		g.SUBQ(operand.Imm(chains), n)
		g.JGE(operand.LabelRef(name + "four"))
		g.Label(name + "rest")
		g.ADDQ(operand.Imm(chains), n)
		for i := range chains - 1 {
			g.SUBQ(operand.Imm(1), n)
			g.JL(operand.LabelRef(name + "all"))
			raise(i)
		}
		g.Label(name + "all")
		for v := range vectors {
			m := m[chains*v:]
			g.VMAXPS(m[2], m[3], m[3])
			g.VMAXPS(m[0], m[1], m[1])
			g.VMAXPS(m[1], m[3], m[3])
			g.VMULPS(scale, m[3], m[3])
			g.VMOVUPS(m[3], emit.At(max, v*g.VecBytes()))
		}
		g.Advance(vectors*g.VecBytes(), s, max)
	})
}

// softmaxPairs emits a loop over two rows at a time. The words of a pair of rows take the place of
// an earlier row, which has been read.
func (g *gen) softmaxPairs() {
	g.Kernel(spec.SoftmaxPairs)
	s, max, sums, left, row := g.Slice("s"), g.Slice("max"), g.Slice("sum"), g.SliceLen("max"), g.GP64()
	g.MOVQ(left, row)
	g.SHLQ(operand.Imm(2), row)
	scale, z, sum, high := g.Vec(), g.Vec(), g.Vec(), g.Vec()
	g.VBROADCASTSS(g.Argument("scale"), scale)
	g.VMOVUPS(g.Constant(0xffff0000), high)
	finite, weight := g.inline((*lane.Builder).Finite, 1, 0), g.inline((*lane.Builder).WeightBF16, 2, 4)
	score := func(from operand.Mem) reg.VecVirtual {
		x := g.Vec()
		g.VMULPS(from, scale, x)
		g.VSUBPS(z, x, x)
		return x
	}
	loop.Lanes(g, left, "One vector of lanes, two rows per iteration.", []reg.GPVirtual{s, max, sums}, nil, func() {
		from, to, n := g.GP64(), g.GP64(), g.Num("n")
		g.MOVQ(s, from)
		g.MOVQ(s, to)
		g.VMOVUPS(emit.At(max, 0), z)
		g.VMOVAPS(finite.Of(z)[0], z)
		g.Zero(g.Context, sum)
		g.SUBQ(operand.Imm(2), n)
		g.JL(operand.LabelRef("last"))
		g.AlignLoop()
		g.Label("two")
		p := weight.Of(score(emit.At(from, 0)), score(emit.Indexed(from, row, 1)))
		g.VADDPS(p[0], sum, sum)
		g.VADDPS(p[1], sum, sum)
		g.pairHalves(p[0], p[1], high)
		g.VMOVUPS(p[0], emit.At(to, 0))
		g.LEAQ(emit.Indexed(from, row, 2), from)
		g.ADDQ(row, to)
		g.SUBQ(operand.Imm(2), n)
		g.JGE(operand.LabelRef("two"))
		g.Label("last")
		g.TESTQ(operand.U32(1), n)
		g.JZ(operand.LabelRef("all"))
		x := score(emit.At(from, 0))
		p = weight.Of(x, x)
		g.VADDPS(p[0], sum, sum)
		g.VPSRLD(operand.Imm(16), p[0], p[0])
		g.VMOVUPS(p[0], emit.At(to, 0))
		g.Label("all")
		g.VMOVUPS(sum, emit.At(sums, 0))
	})
	g.Return()
}

// pairHalves makes pairs of the upper halves of two rows, in low. upper has the bits of the upper
// half of each word.
func (g *gen) pairHalves(low, high, upper reg.VecVirtual) {
	const aOrBAndC = 0xf8
	g.VPSRLD(operand.Imm(16), low, low)
	g.VPTERNLOGD(operand.U8(aOrBAndC), upper, high, low)
}

// factors subtracts the least magnitude that stays. The sign of the difference, spread, clears the
// number. No difference overflows. Rows shorter than a vector take parts of one, the last of which
// may take numbers a second time: these stay as they are.
func (g *gen) factors() {
	const words = 2 // in a lane
	g.Kernel(spec.Factors)
	src, dst, lds, ldd := g.Slice("src"), g.Slice("dst"), g.StrideOf("lds", spec.BF16), g.StrideOf("ldd", spec.BF16)
	n, d, magnitude, least := g.Num("n"), g.Num("d"), g.Vec(), g.Vec()
	g.JumpIfZero(n, "end")
	g.JumpIfZero(d, "end")
	g.VMOVUPS(g.Constant(0x7fff7fff), magnitude)
	g.VMOVUPS(g.Constant(spec.LeastBF16|spec.LeastBF16>>16), least)
	flush := func(of func(v reg.VecVirtual) reg.Register, v reg.Register) {
		a := of(g.Vec())
		g.VPANDD(of(magnitude), v, a)
		g.VPSUBW(of(least), a, a)
		g.VPSRAW(operand.Imm(15), a, a)
		g.VPANDND(v, a, v)
	}
	part := func(of func(v reg.VecVirtual) reg.Register, move func(from, to operand.Op)) func(i reg.Register) {
		return func(i reg.Register) {
			v := of(g.Vec())
			move(emit.Indexed(src, i, words), v)
			flush(of, v)
			move(v, emit.Indexed(dst, i, words))
		}
	}
	vector := func(from, to operand.Op) { g.VMOVUPS(from, to) }
	eighth := func(from, to operand.Op) { g.VMOVQ(from, to) }
	all := words * g.Lanes()
	loop.Times(g, n, "row", func() {
		g.vectorsOr(all, 0, "", d, part(whole, vector), func() {
			g.vectorsOr(all/2, all, "half", d, part(half, vector), func() {
				g.vectorsOr(all/4, all/2, "quarter", d, part(quarter, vector), func() {
					g.elementsBy(all/8, all/4, "eighth", d, part(quarter, eighth), func(i reg.Register) {
						h, x := g.GP32(), g.XMM()
						g.MOVWLZX(emit.Indexed(src, i, words), h)
						g.VMOVD(h, x)
						flush(quarter, x)
						g.VPEXTRW(operand.Imm(0), x, emit.Indexed(dst, i, words))
					})
				})
			})
		})
		g.ADDQ(lds, src)
		g.ADDQ(ldd, dst)
	})
	g.Label("end")
	g.Return()
}
