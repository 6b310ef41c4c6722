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

// A KeyColumn emits the code that makes a column from loaded words, and returns the
// column. It is called once, in the order of the columns.
type KeyColumn func() reg.VecVirtual

// A WordByte is a byte in the words of int8.
type WordByte struct {
	number     int        // 0 is the lowest
	mask, sign operand.Op // AVX-512, the lower two
}

// shiftByte returns byte b of words as float32. It shifts it up and then, with its sign,
// down. For the highest byte it overwrites words.
func (g *Gen) shiftByte(words reg.VecVirtual, b WordByte) reg.VecVirtual {
	x := words
	if b.number < 3 {
		x = g.Vec()
		g.VPSLLD(operand.U8(24-8*b.number), words, x)
	}
	g.VPSRAD(operand.Imm(24), x, x)
	g.VCVTDQ2PS(x, x)
	return x
}
