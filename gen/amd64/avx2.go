package amd64

import (
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// AVX2 generates the functions of AVX2.
func AVX2() (spec.Output, error) { return buildISA(avx2{}) }

// avx2 is AVX2 with FMA: 16 registers of 8 lanes.
type avx2 struct{}

func (avx2) name() string { return "AVX2" }
func (avx2) lanes() int   { return 8 }
func (avx2) evex() bool   { return false }

// tiles have 12 accumulators each: 8 would hide the FMA's latency of 4 on two units. The
// other registers are for the vectors of B and one broadcast of A.
func (avx2) tiles() []spec.TileShape {
	return []spec.TileShape{{Vectors: 1, Rows: 12}, {Vectors: 2, Rows: 6}, {Vectors: 3, Rows: 4}}
}

// weightTile has 12 accumulators, too, and reads the rows of a packed panel as a whole.
func (avx2) weightTile() spec.TileShape { return spec.TileShape{Vectors: 6, Rows: 2} }

// blockTiles have 6 to 8 accumulators. The other registers are for scales, minima and weights.
func (avx2) blockTiles() []spec.TileShape {
	return []spec.TileShape{{Vectors: 2, Rows: 4}, {Vectors: 3, Rows: 2}, {Vectors: 6, Rows: 1}}
}

// skinnyRows: with the two vectors of a tile's 16 keys, 4 rows take 8 accumulators, which
// leaves registers for a transpose.
func (avx2) skinnyRows() int  { return 4 }
func (avx2) skinnyWords() int { return 4 }
func (avx2) skinnyParts() int { return 2 }

// skinnyVariants: with two segments at a time, which 2 queries leave registers for, one query
// took 5% longer on Zen 3, and two 11%.
func (avx2) skinnyVariants() ([]spec.QKVariant, []spec.PVVariant) {
	return []spec.QKVariant{{Keys: 16, Segments: 1, Near: 1}}, []spec.PVVariant{{Near: 1}}
}

func (avx2) vector(c *build.Context) reg.VecVirtual { return c.YMM() }

func (avx2) zero(c *build.Context, v reg.Register) { c.VXORPS(v, v, v) }

func (avx2) fmaBroadcast(c *build.Context, m operand.Mem, b, acc reg.Register) {
	a := c.YMM()
	c.VBROADCASTSS(m, a)
	c.VFMADD231PS(b, a, acc)
}

func (avx2) mulBroadcast(c *build.Context, m operand.Mem, v []reg.VecVirtual) {
	a := c.YMM()
	c.VBROADCASTSS(m, a)
	for _, x := range v {
		c.VMULPS(a, x, x)
	}
}

func (avx2) fmaUnless(c *build.Context, x, factor reg.Register, m operand.Mem, z operand.Op) {
	y, keep := c.YMM(), c.YMM()
	c.VMOVUPS(m, y)
	c.VCMPPS(operand.Imm(equal), z, x, keep)
	c.VFMADD231PS(factor, x, y)
	c.VBLENDVPS(keep, x, y, x)
}

// split leaves n as int32: the conversion rounds ties to even. If |x| is beyond int32, n is
// wrong, and scale returns 0 or NaN without it.
func (avx2) split(c *build.Context, x, n, r reg.Register, limit operand.Op) reg.Register {
	c.VCVTPS2DQ(x, n)
	c.VCVTDQ2PS(n, r)
	c.VSUBPS(r, x, r)
	c.VCMPPS(operand.Imm(notLessThan), limit, x, x)
	return x
}

// scale adds n to the exponent: p·2^n is a normal number if x ≥ -126, as p ≥ 1 for the
// smallest n. For a NaN n is 1<<31, and nothing is added.
func (avx2) scale(c *build.Context, p, n, keep reg.Register) {
	c.VPSLLD(operand.Imm(23), n, n)
	c.VPADDD(n, p, p)
	c.VANDPS(keep, p, p)
}

func (avx2) zeroWhere(c *build.Context, x, y reg.Register, z operand.Op) {
	m := c.YMM()
	c.VCMPPS(operand.Imm(notEqual), z, y, m)
	c.VANDPS(m, x, x)
}

func (avx2) zeroBelow(c *build.Context, x, y, limit reg.Register) {
	m := c.YMM()
	c.VPMAXUD(limit, y, m)
	c.VPCMPEQD(y, m, m)
	c.VPAND(m, x, x)
}

func (avx2) xor(c *build.Context, x, y reg.Register, m operand.Mem) {
	z := c.YMM()
	c.VPBROADCASTD(m, z)
	c.VPXOR(y, x, x)
	c.VPXOR(z, x, x)
}

func (avx2) maskSpan(c *build.Context, s, j, lo, hi, other reg.Register) {
	before, inside := c.YMM(), c.YMM()
	c.VPCMPGTD(j, lo, before) // lo > j
	c.VPCMPGTD(j, hi, inside) // hi > j
	c.VPANDN(inside, before, inside)
	c.VBLENDVPS(inside, s, other, s)
}

func (avx2) selectNegative(c *build.Context, s, m, other reg.Register) {
	c.VBLENDVPS(m, other, s, s)
}

func (avx2) takeSign(c *build.Context, y, x, signBit reg.Register) {
	c.VANDPS(signBit, x, x)
	c.VORPS(x, y, y)
}

func (i avx2) newSet(c *build.Context) reg.Register {
	s := c.YMM()
	i.zero(c, s)
	return s
}

func (avx2) orNaN(c *build.Context, set, x reg.Register) {
	m := c.YMM()
	c.VCMPPS(operand.Imm(unordered), x, x, m)
	c.VORPS(m, set, set)
}

func (avx2) setBits(c *build.Context, set reg.Register, bits reg.GPVirtual) {
	c.VMOVMSKPS(set, bits.As32())
}

func (avx2) replaceNaN(c *build.Context, x, other reg.Register) {
	m := c.YMM()
	c.VCMPPS(operand.Imm(unordered), x, x, m)
	c.VBLENDVPS(m, other, x, x)
}

func (avx2) loadWhere(c *build.Context, m operand.Mem, mask, v reg.VecVirtual) {
	c.VMASKMOVPS(m, mask, v)
}

func (avx2) storeWhere(c *build.Context, v, mask reg.VecVirtual, m operand.Mem) {
	c.VMASKMOVPS(v, mask, m)
}

func (avx2) storeWords(c *build.Context, v reg.VecVirtual, m operand.Mem) {
	high := c.XMM()
	c.VEXTRACTI128(operand.Imm(1), v, high)
	c.VPACKUSDW(high, v.AsX(), high)
	c.VMOVDQU(high, m)
}

func (avx2) storeBytes(c *build.Context, v reg.VecVirtual, m operand.Mem) {
	high := c.XMM()
	c.VEXTRACTI128(operand.Imm(1), v, high)
	c.VPACKSSDW(high, v.AsX(), high)
	c.VPACKSSWB(high, high, high)
	c.VMOVQ(high, m)
}

// loadQuarters fills both halves first: for a load of the lower half alone, avo does not
// know that it is the first use of the register.
func (avx2) loadQuarters(c *build.Context, v reg.VecVirtual, addr func(int) operand.Mem) {
	c.VBROADCASTF128(addr(0), v)
	c.VINSERTF128(operand.Imm(1), addr(1), v, v)
}

// keyWords makes half of the words. For the other half, the other part, it loads the rows
// once more: two vectors of words and the registers of the FMAs are all registers. The
// halves of binary16 are transposed as such: in every quarter the even halves of 4 rows come
// before the odd ones.
func (i avx2) keyWords(w *keyWidener, row func(i int) operand.Mem, v, part int) []reg.VecVirtual {
	unpack := [][]func(...operand.Op){{w.VUNPCKLPS, w.VUNPCKHPS}, {w.VUNPCKLPD, w.VUNPCKHPD}}
	if w.element == spec.F16 {
		unpack = [][]func(...operand.Op){{w.VPUNPCKLWD, w.VPUNPCKHWD}, {w.VPUNPCKLDQ, w.VPUNPCKHDQ}}
	}
	load := i.loadQuarters
	if w.element == spec.F16 || w.element == spec.Int8 {
		load = i.loadHalves
	}
	rows := w.Vecs(4)
	for x := range rows {
		load(w.Context, rows[x], func(q int) operand.Mem { return row(8*v + 4*q + x) })
	}
	unpack[0][part](rows[1], rows[0], rows[0])
	unpack[0][part](rows[3], rows[2], rows[2])
	unpack[1][1](rows[2], rows[0], rows[1])
	unpack[1][0](rows[2], rows[0], rows[0])
	return rows[:2]
}

// loadHalves is loadQuarters with a second load and a blend instead of an insertion, which
// on Zen 4 takes more issue slots from FMAs: an eighth for int8. For float32 there are no
// loads left on Zen 4, and for bfloat16, by llvm-mca, no issue slots on Skylake.
func (avx2) loadHalves(c *build.Context, v reg.VecVirtual, addr func(int) operand.Mem) {
	high := c.YMM()
	c.VBROADCASTF128(addr(0), v)
	c.VBROADCASTF128(addr(1), high)
	c.VBLENDPS(operand.U8(0xf0), high, v, v)
}

func (avx2) halvesOrder(*gen) operand.Op { return nil }

// widenWords sorts the 64-bit quarters: those of even halves come first.
func (avx2) widenWords(c *build.Context, x reg.VecVirtual, _ operand.Op) []keyColumn {
	return []keyColumn{func() reg.VecVirtual {
		even := c.YMM()
		c.VPERMQ(operand.Imm(0xd8), x, x)
		c.VCVTPH2PS(x.AsX(), even)
		return even
	}, func() reg.VecVirtual {
		high, odd := c.XMM(), c.YMM()
		c.VEXTRACTI128(operand.Imm(1), x, high)
		c.VCVTPH2PS(high, odd)
		return odd
	}}
}

func (avx2) wordBytes(*gen) []wordByte {
	return []wordByte{{number: 0}, {number: 1}, {number: 2}, {number: 3}}
}

func (avx2) widenByte(g *gen, words reg.VecVirtual, b wordByte) reg.VecVirtual {
	return g.shiftByte(words, b)
}

func (avx2) repeatQuarter(c *build.Context, m operand.Mem, v reg.VecVirtual) {
	c.VBROADCASTF128(m, v)
}

func (avx2) insertQuarter(c *build.Context, x reg.Register, quarter int, v reg.VecVirtual) {
	c.VINSERTF128(operand.Imm(uint64(quarter)), x, v, v)
}

func (avx2) oddQuarters(*build.Context) operand.Op { return operand.U8(0xf0) }

func (avx2) mergeQuarters(c *build.Context, v reg.Register, m operand.Mem, odd operand.Op) {
	c.VBLENDPS(odd, m, v, v)
}

func (avx2) transposeQuarters(c *build.Context, v []reg.VecVirtual) []reg.VecVirtual {
	low, high := c.YMM(), c.YMM()
	c.VPERM2F128(operand.Imm(0x20), v[1], v[0], low)
	c.VPERM2F128(operand.Imm(0x31), v[1], v[0], high)
	return []reg.VecVirtual{low, high}
}

func (avx2) quarter(c *build.Context, v reg.VecVirtual, quarter int) reg.Register {
	if quarter == 0 {
		return v.AsX()
	}
	x := c.XMM()
	c.VEXTRACTF128(operand.Imm(1), v, x)
	return x
}

func (avx2) storeQuarter(c *build.Context, v reg.VecVirtual, quarter int, m operand.Mem) {
	if quarter == 0 {
		c.VMOVUPS(v.AsX(), m)
		return
	}
	c.VEXTRACTF128(operand.Imm(1), v, m)
}
