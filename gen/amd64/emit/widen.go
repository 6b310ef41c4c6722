package emit

import (
	"math"

	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// LoadWide loads a vector of numbers of a type as float32. Integers are not scaled yet.
func (g *Gen) LoadWide(e spec.Element, m operand.Mem, v reg.VecVirtual) {
	switch e {
	case spec.Float32:
		g.VMOVUPS(m, v)
	case spec.F16:
		g.VCVTPH2PS(m, v)
	case spec.BF16:
		g.VPMOVZXWD(m, v)
		g.VPSLLD(operand.Imm(16), v, v)
	case spec.Int8:
		g.VPMOVSXBD(m, v)
		g.VCVTDQ2PS(v, v)
	}
}

// Nibbles load vectors of int4 as float32. With AVX-512 the 4 bits of each lane are shifted down
// and looked up: VPERMPS takes the last 4 bits of an index. Lane i then holds column i%2·8 + i/2,
// as a broadcast of 8 bytes has both halves in turn. VPMULTISHIFTQB would put them in order, but
// takes a port that FMAs need.
type Nibbles struct {
	g       *Gen
	shifts  operand.Op
	numbers reg.VecVirtual // with AVX-512
}

// NewNibbles loads the constants.
func (g *Gen) NewNibbles() *Nibbles {
	if !g.EVEX() {
		return &Nibbles{g: g, shifts: g.Repeated("nibbles", 28, 24, 20, 16, 12, 8, 4, 0)}
	}
	downs := make([]uint32, 16)
	for i := range downs {
		downs[i] = uint32(4 * (i / 2))
	}
	return &Nibbles{g, g.AtHand(g.Repeated("downInt4", downs...)), g.AtHand(g.int4Numbers()).(reg.VecVirtual)}
}

// Load loads a vector.
func (n *Nibbles) Load(m operand.Mem, v reg.VecVirtual) {
	g := n.g
	if g.EVEX() {
		n.LoadScaled(m, n.numbers, v)
		return
	}
	g.VPBROADCASTD(m, v)
	g.VPSLLVD(n.shifts, v, v)
	g.VPSRAD(operand.Imm(28), v, v)
	g.VCVTDQ2PS(v, v)
}

// LoadScaled loads a vector times a scale, with AVX-512. table is of Scale.
func (n *Nibbles) LoadScaled(m operand.Mem, table, v reg.VecVirtual) {
	n.g.VPBROADCASTQ(m, v)
	n.g.VPSRLVD(n.shifts, v, v)
	n.g.VPERMPS(table, v, v)
}

// Scale makes the table of all numbers times a scale, with AVX-512.
func (n *Nibbles) Scale(scale operand.Mem, table reg.VecVirtual) {
	n.g.VMULPS_BCST(scale, n.numbers, table)
}

// FromNibbles brings lanes from the order of Nibbles.Load into the order of columns, ToNibbles
// back.
func (g *Gen) FromNibbles(v reg.VecVirtual) {
	g.permute("fromNibbles", func(i int) uint32 { return uint32(i%8*2 + i/8) }, v)
}

func (g *Gen) ToNibbles(v reg.VecVirtual) {
	g.permute("toNibbles", func(i int) uint32 { return uint32(i%2*8 + i/2) }, v)
}

func (g *Gen) permute(name string, from func(i int) uint32, v reg.VecVirtual) {
	lanes, order := make([]uint32, 16), g.Vec()
	for i := range lanes {
		lanes[i] = from(i)
	}
	g.VMOVUPS(g.Repeated(name, lanes...), order)
	g.VPERMPS(v, order, v)
}

// LoadWideWhere is LoadWide of a narrow type with AVX-512, for the lanes of a mask. It reads
// nothing else, and clears the other lanes.
func (g *Gen) LoadWideWhere(e spec.Element, m operand.Mem, where reg.OpmaskVirtual, v reg.VecVirtual) {
	switch e {
	case spec.F16:
		g.VCVTPH2PS_Z(m, where, v)
	case spec.BF16:
		g.VPMOVZXWD_Z(m, where, v)
		g.VPSLLD(operand.Imm(16), v, v)
	case spec.Int8:
		g.VPMOVSXBD_Z(m, where, v)
		g.VCVTDQ2PS(v, v)
	}
}

// A KeyColumn emits the code that makes a column from loaded words, and returns the
// column. It is called once, in the order of the columns.
type KeyColumn func() reg.VecVirtual

// A WordByte is a byte in the words of int8.
type WordByte struct {
	number     int        // 0 is the lowest
	mask, sign operand.Op // of the lower two
}

// A WordNibble are 4 bits in the words of int4.
type WordNibble struct {
	number     int        // 0 are the lowest
	table      operand.Op // with AVX-512
	mask, sign operand.Op // else, of the lower half
}

// WordNibbles returns the eight parts of a word. With AVX-512 they are shifted down and looked up.
// Else they have constants as WordBytes has them.
func (g *Gen) WordNibbles() (list []WordNibble) {
	for i := range 8 {
		list = append(list, WordNibble{number: i})
	}
	if g.EVEX() {
		table := g.AtHand(g.int4Numbers())
		for i := range list {
			list[i].table = table
		}
		return list
	}
	for i := range 4 {
		power := uint32(127+23-4*i) << 23
		list[i].mask, list[i].sign = g.Constant(0xf<<(4*i)), g.Constant(power|8<<(4*i))
		list[i+4].mask, list[i+4].sign = list[i].mask, list[i].sign
	}
	return list
}

// int4Numbers are the numbers of int4, in the order of their bits.
func (g *Gen) int4Numbers() operand.Mem {
	numbers := make([]uint32, 16)
	for i := range numbers {
		numbers[i] = math.Float32bits(float32((i+8)%16 - 8))
	}
	return g.Repeated("numbersInt4", numbers...)
}

// WidenNibble returns 4 bits of words, an int4, as float32. It may overwrite words after the
// fourth.
func (g *Gen) WidenNibble(words reg.VecVirtual, b WordNibble) reg.VecVirtual {
	x := g.Vec()
	switch {
	case !g.EVEX():
		if b.number == 4 { // the upper halves follow
			g.VPSRLD(operand.Imm(16), words, words)
		}
		g.biased(words, b.mask, b.sign, x)
	case b.number == 0:
		g.VPERMPS(b.table, words, x)
	default:
		g.VPSRLD(operand.U8(4*b.number), words, x)
		g.VPERMPS(b.table, x, x)
	}
	return x
}

// HalvesOrder is the operand order of WidenWords.
func (g *Gen) HalvesOrder() operand.Op {
	words := make([]uint32, 16)
	for i := range words {
		first := uint32(i%8*4 + i/8) // the lower halves first, then the upper ones
		words[i] = (first+2)<<16 | first
	}
	return g.AtHand(g.Repeated("halves", words...))
}

// WidenWords widens the lower and the upper halves of 32-bit lanes, which are binary16, with
// AVX-512. It overwrites x.
func (g *Gen) WidenWords(x reg.VecVirtual, order operand.Op) []KeyColumn {
	return []KeyColumn{func() reg.VecVirtual {
		lower := g.ZMM()
		g.VPERMW(x, order, x)
		g.VCVTPH2PS(x.AsY(), lower)
		return lower
	}, func() reg.VecVirtual {
		high, upper := g.YMM(), g.ZMM()
		g.VEXTRACTI64X4(operand.Imm(1), x, high)
		g.VCVTPH2PS(high, upper)
		return upper
	}}
}

// WordBytes returns the four bytes of a word. The lower two have constants: the byte with its sign
// flipped, i+128, becomes the last bits of the mantissa of 2^23, or 2^15. The result is the power
// of two plus i+128.
func (g *Gen) WordBytes() []WordByte {
	const sign0, sign1 = 0x4b000080, 0x47008000 // 2^23+128, 2^15+128
	return []WordByte{
		{0, g.AtHand(g.Constant(0xff)), g.AtHand(g.Constant(sign0))},
		{1, g.AtHand(g.Constant(0xff00)), g.AtHand(g.Constant(sign1))},
		{number: 2}, {number: 3},
	}
}

// WidenByte returns a byte of words, an int8, as float32. For the highest byte it may overwrite
// words. Without constants it shifts the byte up and then, with its sign, down; the upper two need
// a shift anyway. Shifts and the conversion take ports that FMAs need, on Golden Cove with AVX2, or
// do not, on Zen 4. Logical instructions and differences are executed on others as well.
func (g *Gen) WidenByte(words reg.VecVirtual, b WordByte) reg.VecVirtual {
	if b.mask != nil {
		x := g.Vec()
		g.biased(words, b.mask, b.sign, x)
		return x
	}
	x := words
	if b.number < 3 {
		x = g.Vec()
		g.VPSLLD(operand.U8(24-8*b.number), words, x)
	}
	g.VPSRAD(operand.Imm(24), x, x)
	g.VCVTDQ2PS(x, x)
	return x
}

// biased makes float32 of the bits of words under a mask, by the constants of WordBytes. With
// AVX-512 the sign is in a register.
func (g *Gen) biased(words reg.VecVirtual, mask, sign operand.Op, x reg.VecVirtual) {
	if g.EVEX() {
		const aAndCXorB = 0x6c
		g.VMOVAPS(words, x)
		g.VPTERNLOGD(operand.U8(aAndCXorB), mask, sign, x)
	} else {
		g.VPAND(mask, words, x)
		g.VPXOR(sign, x, x)
	}
	g.VSUBPS(sign, x, x)
}
