package emit

import (
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

// LoadWideWhere is LoadWide of a narrow type with AVX-512, for the lanes of a mask. It reads nothing
// else, and clears the other lanes.
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
		if g.EVEX() {
			const aAndBXorC = 0x6a
			g.VMOVAPS(words, x)
			g.VPTERNLOGD(operand.U8(aAndBXorC), b.sign, b.mask, x)
		} else {
			g.VPAND(b.mask, words, x)
			g.VPXOR(b.sign, x, x)
		}
		g.VSUBPS(b.sign, x, x)
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
