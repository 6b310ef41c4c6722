package emit

import (
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// AVX512 is AVX-512 F, VL, BW and DQ: 32 registers of 16 lanes, and masks.
type AVX512 struct{}

func (AVX512) Name() string { return "AVX512" }
func (AVX512) Lanes() int   { return 16 }
func (AVX512) EVEX() bool   { return true }

// Tiles have between 12 and 24 accumulators. With two FMA units and two loads per cycle, a
// tile is bound by its FMAs as long as rows + vectors ≤ rows·vectors.
func (AVX512) Tiles() []spec.TileShape {
	return []spec.TileShape{{Vectors: 1, Rows: 12}, {Vectors: 2, Rows: 8}, {Vectors: 3, Rows: 8}, {Vectors: 4, Rows: 6}}
}

// WeightTile is a tile of tiles.
func (AVX512) WeightTile() spec.TileShape { return spec.TileShape{Vectors: 3, Rows: 8} }

// WeightVariants: Zen 4 loses if all tiles prefetch, Emerald Rapids gains.
func (AVX512) WeightVariants() []spec.WeightVariant {
	return []spec.WeightVariant{{Prefetch: 0}, {Prefetch: 1}}
}

// BlockVariants: with Zen 5 weights of all formats come from memory in the least time if whole
// pages lie between a load and its prefetch into L1. From L2 and L3 they lose nothing by that.
func (AVX512) BlockVariants() []spec.BlockVariant {
	return []spec.BlockVariant{{Ahead: 0}, {Ahead: 12}}
}

// BlockTiles leave registers for the scales and for what makes the weights.
func (AVX512) BlockTiles() []spec.TileShape {
	return []spec.TileShape{{Vectors: 3, Rows: 8}, {Vectors: 3, Rows: 4}, {Vectors: 3, Rows: 1}}
}

// SkinnyRows are as many as a query tile of 8 lanes has.
func (AVX512) SkinnyRows() int  { return 8 }
func (AVX512) SkinnyWords() int { return 8 }

func (AVX512) SkinnyKept(spec.Element) int { return 8 }

// SkinnyVariants: loads ahead are in the variant that Emerald Rapids uses and no other CPU, as one
// segment for 3 queries or more has just enough chains of FMAs for its two units. A decoding call
// with 4 query heads takes 6% less from L2, with 8 heads 8%, and 7% less from L3. The variant with
// two segments, which up to 4 queries use, has the same code for more queries; that is not
// measured.
func (AVX512) SkinnyVariants() ([]spec.QKVariant, []spec.PVVariant) {
	return []spec.QKVariant{
		{Segments: 1, Near: 2}, {Segments: 1, Near: 1, Ahead: 3}, {Segments: 2, Near: 1, Ahead: 5},
	}, []spec.PVVariant{{Near: 2}, {Near: 1}}
}

func (AVX512) Vector(c *build.Context) reg.VecVirtual { return c.ZMM() }

func (AVX512) Zero(c *build.Context, v reg.Register) { c.VXORPS(v, v, v) }

// FMABroadcast uses the number as the instruction's memory operand.
func (AVX512) FMABroadcast(c *build.Context, m operand.Mem, b, acc reg.Register) {
	c.VFMADD231PS_BCST(m, b, acc)
}

func (AVX512) MulBroadcast(c *build.Context, m operand.Mem, v []reg.VecVirtual) {
	for _, x := range v {
		c.VMULPS_BCST(m, x, x)
	}
}

// FMALimited limits x by VRANGEPS: the number with the smaller magnitude, and the sign of x. Then
// VFIXUPIMMPS puts x back where the table says so.
func (AVX512) FMALimited(c *build.Context, x, limit, aid reg.Register, factor operand.Op, m operand.Mem) reg.VecVirtual {
	const smallerMagnitude = 2
	y := c.ZMM()
	c.VRANGEPS(operand.Imm(smallerMagnitude), limit, x, y)
	c.VFMADD213PS(m, factor, y)
	c.VFIXUPIMMPS(operand.Imm(0), aid, x, y)
	return y
}

// LimitAid is the table of VFIXUPIMMPS that returns x for the classes 0, 1, 4 and 5: quiet and
// signalling NaN, -Inf and +Inf.
func (AVX512) LimitAid(uint32) uint32 { return 0x00110011 }

func (AVX512) ZeroWhere(c *build.Context, x, y reg.Register, z operand.Op) {
	k := c.K()
	c.VCMPPS(operand.Imm(notEqual), z, y, k)
	c.VMOVAPS_Z(x, k, x)
}

// Alternate brings the quarters 0 and 1, or 2 and 3, of both halves of the lanes into one vector,
// and there into their order.
func (AVX512) Alternate(c *build.Context, x, y reg.VecVirtual) {
	low, high := c.ZMM(), c.ZMM()
	c.VUNPCKLPS(y, x, low)
	c.VUNPCKHPS(y, x, high)
	for _, t := range []struct {
		quarters uint64
		to       reg.VecVirtual
	}{{0x44, x}, {0xee, y}} {
		c.VSHUFF32X4(operand.U8(t.quarters), high, low, t.to)
		c.VSHUFF32X4(operand.U8(0xd8), t.to, t.to, t.to)
	}
}

func (AVX512) ZeroBelow(c *build.Context, x, y reg.Register, limit operand.Op) {
	k := c.K()
	c.VPCMPUD(operand.Imm(atLeast), limit, y, k)
	c.VMOVAPS_Z(x, k, x)
}

func (AVX512) Xor(c *build.Context, x, y reg.Register, m operand.Mem) {
	const xor3 = 0x96
	c.VPTERNLOGD_BCST(operand.U8(xor3), m, y, x)
}

func (AVX512) SelectNegative(c *build.Context, s, m, other reg.Register) {
	k := c.K()
	c.VPMOVD2M(m, k)
	c.VBLENDMPS(other, s, k, s)
}

func (AVX512) NewSet(c *build.Context) reg.Register {
	k := c.K()
	c.KXORW(k, k, k)
	return k
}

func (AVX512) OrNaN(c *build.Context, set, x, y reg.Register) {
	c.KORW(AVX512{}.NaN(c, x, y), set, set)
}

func (AVX512) NaN(c *build.Context, x, y reg.Register) reg.Register {
	k := c.K()
	c.VCMPPS(operand.Imm(Unordered), y, x, k)
	return k
}

func (AVX512) SetBits(c *build.Context, set reg.Register, bits reg.GPVirtual) {
	c.KMOVW(set, bits.As32())
}

func (AVX512) ReplaceNaN(c *build.Context, x, other reg.Register) {
	k := c.K()
	c.VCMPPS(operand.Imm(Unordered), x, x, k)
	c.VMOVAPS(other, k, x)
}

// swaps exchange the lanes of a vector at a distance: those within 128 bits, and these.
var (
	swapLanes    = map[int]operand.Constant{1: operand.U8(0xb1), 2: operand.U8(0x4e)}
	swapQuarters = map[int]operand.Constant{4: operand.U8(0xb1), 8: operand.U8(0x4e)}
)

// Butterfly keeps the lanes of differences as masks.
func (AVX512) Butterfly(c *build.Context) func(x reg.VecVirtual, distance int) {
	second, bits := map[int]reg.OpmaskVirtual{}, c.GP32()
	for _, m := range []struct {
		distance int
		lanes    uint32
	}{{1, 0xaaaa}, {2, 0xcccc}, {4, 0xf0f0}, {8, 0xff00}} {
		second[m.distance] = c.K()
		c.MOVL(operand.U32(m.lanes), bits)
		c.KMOVW(bits, second[m.distance])
	}
	return func(x reg.VecVirtual, distance int) {
		y, sum := c.ZMM(), c.ZMM()
		if distance < 4 {
			c.VPERMILPS(swapLanes[distance], x, y)
		} else {
			c.VSHUFF32X4(swapQuarters[distance], x, x, y)
		}
		c.VADDPS(y, x, sum)
		c.VSUBPS(x, y, second[distance], sum)
		c.VMOVAPS(sum, x)
	}
}

func (AVX512) LoadWhere(c *build.Context, m operand.Mem, mask, v reg.VecVirtual) {
	k := c.K()
	c.VPMOVD2M(mask, k)
	c.VMOVUPS_Z(m, k, v)
}

func (AVX512) StoreWhere(c *build.Context, v, mask reg.VecVirtual, m operand.Mem) {
	k := c.K()
	c.VPMOVD2M(mask, k)
	c.VMOVUPS(v, k, m)
}

func (AVX512) StoreWords(c *build.Context, v reg.VecVirtual, m operand.Mem) {
	c.VPMOVDW(v, m)
}

func (AVX512) StoreBytes(c *build.Context, v reg.VecVirtual, m operand.Mem) {
	c.VPMOVDB(v, m)
}

func (AVX512) LoadQuarters(c *build.Context, v reg.VecVirtual, addr func(int) operand.Mem) {
	LoadFirst(c, addr(0), v, v.AsX())
	for q := 1; q < 4; q++ {
		c.VINSERTF32X4(operand.Imm(uint64(q)), addr(q), v, v)
	}
}

// KeyWords loads 8 words of two rows into each vector, which takes the fewest loads: FMAs need
// loads, too. After the 4×4 transposes every vector has two columns of 8 rows. Then the quarters
// are exchanged with the other 8 rows' quarters.
func (AVX512) KeyWords(g *Gen, e spec.Element, row func(i int) operand.Mem, v int) []reg.VecVirtual {
	half := func(first int) []reg.VecVirtual {
		rows := g.Vecs(4)
		for x := range rows {
			LoadFirst(g.Context, row(16*v+first+x), rows[x], rows[x].AsY())
			g.VINSERTF64X4(operand.Imm(1), row(16*v+first+4+x), rows[x], rows[x])
		}
		return g.Transpose4(rows)
	}
	low, high := half(0), half(8)
	columns := g.Vecs(8)
	for x := range low {
		g.VSHUFF32X4(operand.U8(0x88), high[x], low[x], columns[x])
		g.VSHUFF32X4(operand.U8(0xdd), high[x], low[x], columns[x+4])
	}
	return columns
}

func (AVX512) RepeatQuarter(c *build.Context, m operand.Mem, v reg.VecVirtual) {
	c.VBROADCASTF32X4(m, v)
}

func (AVX512) InsertQuarter(c *build.Context, x reg.Register, quarter int, v reg.VecVirtual) {
	c.VINSERTF32X4(operand.Imm(uint64(quarter)), x, v, v)
}

func (AVX512) OddQuarters(c *build.Context) operand.Op {
	bits, k := c.GP32(), c.K()
	c.MOVL(operand.U32(0xf0f0), bits)
	c.KMOVW(bits, k)
	return k
}

func (AVX512) MergeQuarters(c *build.Context, v reg.Register, m operand.Mem, odd operand.Op) {
	c.VBLENDMPS(m, v, odd, v)
}

// TransposeQuarters first picks quarters 0 and 1, or 2 and 3, of two vectors, and then the even or
// the odd quarters of the results.
func (AVX512) TransposeQuarters(c *build.Context, v []reg.VecVirtual) []reg.VecVirtual {
	pick := func(x, y reg.VecVirtual, quarters uint64) reg.VecVirtual {
		z := c.ZMM()
		c.VSHUFF32X4(operand.Imm(quarters), y, x, z)
		return z
	}
	const first, last, even, odd = 0x44, 0xee, 0x88, 0xdd
	var t []reg.VecVirtual
	for _, half := range []uint64{first, last} {
		x, y := pick(v[0], v[1], half), pick(v[2], v[3], half)
		t = append(t, pick(x, y, even), pick(x, y, odd))
	}
	return t
}

func (AVX512) Quarter(c *build.Context, v reg.VecVirtual, quarter int) reg.Register {
	if quarter == 0 {
		return v.AsX()
	}
	x := c.XMM()
	c.VEXTRACTF32X4(operand.Imm(uint64(quarter)), v, x)
	return x
}

func (AVX512) StoreQuarter(c *build.Context, v reg.VecVirtual, quarter int, m operand.Mem) {
	if quarter == 0 {
		c.VMOVUPS(v.AsX(), m)
		return
	}
	c.VEXTRACTF32X4(operand.Imm(uint64(quarter)), v, m)
}
