package emit

import (
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// AVX2 is AVX2 with FMA: 16 registers of 8 lanes.
type AVX2 struct{}

func (AVX2) Name() string { return "AVX2" }
func (AVX2) Lanes() int   { return 8 }
func (AVX2) EVEX() bool   { return false }

// Tiles have 12 accumulators each: 8 would hide the FMA's latency of 4 on two units. The
// other registers are for the vectors of B and one broadcast of A.
func (AVX2) Tiles() []spec.TileShape {
	return []spec.TileShape{{Vectors: 1, Rows: 12}, {Vectors: 2, Rows: 6, Prefetch: true}, {Vectors: 3, Rows: 4}}
}

// WeightTile has 12 accumulators, too, and reads the rows of a packed panel as a whole. With 4 × 3
// vectors, which reads them in two halves, layers of 384 and 1536 inputs take 3% longer on Zen 3.
func (AVX2) WeightTile() spec.TileShape { return spec.TileShape{Vectors: 6, Rows: 2, Prefetch: true} }

// WeightVariants: all CPUs have the same kernel, which prefetches the part of the panel that
// follows.
func (AVX2) WeightVariants() []spec.WeightVariant { return nil }

// BlockTiles have 6 to 8 accumulators. The other registers are for scales, minima and weights.
func (AVX2) BlockTiles() []spec.TileShape {
	return []spec.TileShape{{Vectors: 2, Rows: 4}, {Vectors: 3, Rows: 2}, {Vectors: 6, Rows: 1}}
}

// SkinnyRows: with the two vectors of a tile's 16 keys, 4 rows take 8 accumulators, which
// leaves registers for a transpose.
func (AVX2) SkinnyRows() int  { return 4 }
func (AVX2) SkinnyWords() int { return 4 }

// SkinnyKept: 4 queries take 8 accumulators. Two vectors of 4 words are the other 8 registers, so
// some of the words wait on the stack. A word of a narrow type becomes a column in one more
// register.
func (AVX2) SkinnyKept(e spec.Element) int {
	if e == spec.Float32 {
		return 2
	}
	return 1
}

func (AVX2) BlockVariants() []spec.BlockVariant { return nil }

// SkinnyVariants: with two segments at a time, which 2 queries leave registers for, one query
// took 5% longer on Zen 3, and two 11%.
func (AVX2) SkinnyVariants() ([]spec.QKVariant, []spec.PVVariant) {
	return []spec.QKVariant{{Segments: 1, Near: 1}}, []spec.PVVariant{{Near: 1}}
}

func (AVX2) Vector(c *build.Context) reg.VecVirtual { return c.YMM() }

func (AVX2) Zero(c *build.Context, v reg.Register) { c.VXORPS(v, v, v) }

func (AVX2) FMABroadcast(c *build.Context, m operand.Mem, b, acc reg.Register) {
	a := c.YMM()
	c.VBROADCASTSS(m, a)
	c.VFMADD231PS(b, a, acc)
}

func (AVX2) MulBroadcast(c *build.Context, m operand.Mem, v []reg.VecVirtual) {
	a := c.YMM()
	c.VBROADCASTSS(m, a)
	for _, x := range v {
		c.VMULPS(a, x, x)
	}
}

// FMALimited selects by the sign of x-x, which is +0 for a finite x and for an infinite one a NaN
// whose sign is set. A NaN in x stays one either way: VMINPS and VMAXPS return their second
// operand, which Go's assembler names first, if either is a NaN.
func (AVX2) FMALimited(c *build.Context, x, limit, aid reg.Register, factor operand.Op, m operand.Mem) reg.VecVirtual {
	y, sum, keep := c.YMM(), c.YMM(), c.YMM()
	c.VMOVUPS(m, sum)
	c.VSUBPS(x, x, keep)
	c.VMINPS(x, limit, y)
	c.VMAXPS(y, aid, y)
	c.VFMADD231PS(factor, y, sum)
	c.VBLENDVPS(keep, x, sum, sum)
	return sum
}

// LimitAid is the lower limit.
func (AVX2) LimitAid(limit uint32) uint32 { return limit | spec.SignBit }

func (AVX2) ZeroWhere(c *build.Context, x, y reg.Register, z operand.Op) {
	m := c.YMM()
	c.VCMPPS(operand.Imm(notEqual), z, y, m)
	c.VANDPS(m, x, x)
}

func (AVX2) Alternate(c *build.Context, x, y reg.VecVirtual) {
	low, high := c.YMM(), c.YMM()
	c.VUNPCKLPS(y, x, low)
	c.VUNPCKHPS(y, x, high)
	c.VPERM2F128(operand.Imm(0x20), high, low, x)
	c.VPERM2F128(operand.Imm(0x31), high, low, y)
}

func (AVX2) ZeroBelow(c *build.Context, x, y reg.Register, limit operand.Op) {
	m := c.YMM()
	c.VPMAXUD(limit, y, m)
	c.VPCMPEQD(y, m, m)
	c.VPAND(m, x, x)
}

func (AVX2) Xor(c *build.Context, x, y reg.Register, m operand.Mem) {
	z := c.YMM()
	c.VPBROADCASTD(m, z)
	c.VPXOR(y, x, x)
	c.VPXOR(z, x, x)
}

func (AVX2) SelectNegative(c *build.Context, s, m, other reg.Register) {
	c.VBLENDVPS(m, other, s, s)
}

func (i AVX2) NewSet(c *build.Context) reg.Register {
	s := c.YMM()
	i.Zero(c, s)
	return s
}

func (AVX2) OrNaN(c *build.Context, set, x, y reg.Register) {
	c.VORPS(AVX2{}.NaN(c, x, y), set, set)
}

func (AVX2) NaN(c *build.Context, x, y reg.Register) reg.Register {
	m := c.YMM()
	c.VCMPPS(operand.Imm(Unordered), y, x, m)
	return m
}

func (AVX2) SetBits(c *build.Context, set reg.Register, bits reg.GPVirtual) {
	c.VMOVMSKPS(set, bits.As32())
}

func (AVX2) ReplaceNaN(c *build.Context, x, other reg.Register) {
	m := c.YMM()
	c.VCMPPS(operand.Imm(Unordered), x, x, m)
	c.VBLENDVPS(m, other, x, x)
}

// Butterfly computes all sums and all differences, of which it takes half.
func (AVX2) Butterfly(c *build.Context) func(x reg.VecVirtual, distance int) {
	second := map[int]operand.Constant{1: operand.U8(0xaa), 2: operand.U8(0xcc), 4: operand.U8(0xf0)}
	return func(x reg.VecVirtual, distance int) {
		y, difference := c.YMM(), c.YMM()
		if distance < 4 {
			c.VPERMILPS(swapLanes[distance], x, y)
		} else {
			c.VPERM2F128(operand.U8(0x01), x, x, y)
		}
		c.VSUBPS(x, y, difference)
		c.VADDPS(y, x, x)
		c.VBLENDPS(second[distance], difference, x, x)
	}
}

func (AVX2) LoadWhere(c *build.Context, m operand.Mem, mask, v reg.VecVirtual) {
	c.VMASKMOVPS(m, mask, v)
}

func (AVX2) StoreWhere(c *build.Context, v, mask reg.VecVirtual, m operand.Mem) {
	c.VMASKMOVPS(v, mask, m)
}

func (AVX2) StoreWords(c *build.Context, v reg.VecVirtual, m operand.Mem) {
	high := c.XMM()
	c.VEXTRACTI128(operand.Imm(1), v, high)
	c.VPACKUSDW(high, v.AsX(), high)
	c.VMOVDQU(high, m)
}

func (AVX2) StoreBytes(c *build.Context, v reg.VecVirtual, m operand.Mem) {
	high := c.XMM()
	c.VEXTRACTI128(operand.Imm(1), v, high)
	c.VPACKSSDW(high, v.AsX(), high)
	c.VPACKSSWB(high, high, high)
	c.VMOVQ(high, m)
}

// LoadQuarters fills both halves first: for a load of the lower half alone, avo does not
// know that it is the first use of the register.
func (AVX2) LoadQuarters(c *build.Context, v reg.VecVirtual, addr func(int) operand.Mem) {
	c.VBROADCASTF128(addr(0), v)
	c.VINSERTF128(operand.Imm(1), addr(1), v, v)
}

// KeyWords transposes in place, which takes one more register than the words. The halves of
// binary16 are transposed as such: in every quarter the even halves of 4 rows come before the odd
// ones.
func (i AVX2) KeyWords(g *Gen, e spec.Element, row func(i int) operand.Mem, v int) []reg.VecVirtual {
	low, high := g.VUNPCKLPS, g.VUNPCKHPS
	low2, high2 := g.VUNPCKLPD, g.VUNPCKHPD
	if e == spec.F16 {
		low, high = g.VPUNPCKLWD, g.VPUNPCKHWD
		low2, high2 = g.VPUNPCKLDQ, g.VPUNPCKHDQ
	}
	load := i.LoadQuarters
	if e == spec.F16 || e.IsScaled() {
		load = i.LoadHalves
	}
	rows := g.Vecs(4)
	for x := range rows {
		load(g.Context, rows[x], func(q int) operand.Mem { return row(8*v + 4*q + x) })
	}
	pairs := func(low, high func(...operand.Op), a, b reg.VecVirtual) (reg.VecVirtual, reg.VecVirtual) {
		first := g.Vec()
		low(b, a, first)
		high(b, a, a)
		return first, a
	}
	a, b := pairs(low, high, rows[0], rows[1])
	c, d := pairs(low, high, rows[2], rows[3])
	t0, t1 := pairs(low2, high2, a, c)
	t2, t3 := pairs(low2, high2, b, d)
	return []reg.VecVirtual{t0, t1, t2, t3}
}

// LoadHalves is LoadQuarters with a second load and a blend instead of an insertion, which
// on Zen 4 takes more issue slots from FMAs: an eighth for int8. For float32 there are no
// loads left on Zen 4, and for bfloat16, by llvm-mca, no issue slots on Skylake.
func (AVX2) LoadHalves(c *build.Context, v reg.VecVirtual, addr func(int) operand.Mem) {
	high := c.YMM()
	c.VBROADCASTF128(addr(0), v)
	c.VBROADCASTF128(addr(1), high)
	c.VBLENDPS(operand.U8(0xf0), high, v, v)
}

func (AVX2) RepeatQuarter(c *build.Context, m operand.Mem, v reg.VecVirtual) {
	c.VBROADCASTF128(m, v)
}

func (AVX2) InsertQuarter(c *build.Context, x reg.Register, quarter int, v reg.VecVirtual) {
	c.VINSERTF128(operand.Imm(uint64(quarter)), x, v, v)
}

func (AVX2) OddQuarters(*build.Context) operand.Op { return operand.U8(0xf0) }

func (AVX2) MergeQuarters(c *build.Context, v reg.Register, m operand.Mem, odd operand.Op) {
	c.VBLENDPS(odd, m, v, v)
}

func (AVX2) TransposeQuarters(c *build.Context, v []reg.VecVirtual) []reg.VecVirtual {
	low, high := c.YMM(), c.YMM()
	c.VPERM2F128(operand.Imm(0x20), v[1], v[0], low)
	c.VPERM2F128(operand.Imm(0x31), v[1], v[0], high)
	return []reg.VecVirtual{low, high}
}

func (AVX2) Quarter(c *build.Context, v reg.VecVirtual, quarter int) reg.Register {
	if quarter == 0 {
		return v.AsX()
	}
	x := c.XMM()
	c.VEXTRACTF128(operand.Imm(1), v, x)
	return x
}

func (AVX2) StoreQuarter(c *build.Context, v reg.VecVirtual, quarter int, m operand.Mem) {
	if quarter == 0 {
		c.VMOVUPS(v.AsX(), m)
		return
	}
	c.VEXTRACTF128(operand.Imm(1), v, m)
}
