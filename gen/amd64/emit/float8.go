package emit

import (
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A Float8 makes bfloat16 of the bytes of a type with an exponent, which has no number that
// bfloat16 lacks. It looks both bytes of a magnitude up in tables of all of them, with AVX-512. The
// bytes are put together by shifts where possible: a shuffle of two vectors takes a multiple of
// their time on Zen 4.
type Float8 struct {
	*Gen
	tables [2][2]reg.VecVirtual // of lower and of upper bytes, each in two halves
	high   operand.Mem          // the upper halves of words
}

func (g *Gen) NewFloat8() *Float8 {
	return &Float8{Gen: g, tables: [2][2]reg.VecVirtual{{g.Vec(), g.Vec()}, {g.Vec(), g.Vec()}}, high: g.Constant(0xffff0000)}
}

// Load loads the tables of a type.
func (f *Float8) Load(e spec.Element) {
	for b, name := range []string{"lower", "upper"} {
		for half, v := range f.tables[b] {
			f.VMOVUPS(f.Bytes(name+e.Suffix()+"AB"[half:half+1], func(i int) uint8 { return spec.BytesOfFloat8(e, 64*half+i)[b] }), v)
		}
	}
}

// Halves returns the lower and the upper bytes of the bfloat16 of bytes.
func (f *Float8) Halves(x reg.VecVirtual) (lower, upper reg.VecVirtual) {
	const orAnd = 0xf8
	lower, upper = f.Vec(), f.Vec()
	for b, v := range []reg.VecVirtual{lower, upper} {
		f.VMOVAPS(x, v)
		f.VPERMI2B(f.tables[b][1], f.tables[b][0], v)
	}
	f.VPTERNLOGD(operand.U8(orAnd), f.Constant(0x80808080), x, upper)
	return lower, upper
}

// Columns returns the columns of words. evens are bytes 0 and 2 of words.
func (f *Float8) Columns(words reg.VecVirtual, evens reg.Register) []KeyColumn {
	const bThenCElseA, bThenAElseC = 0xb8, 0xe2
	even, odd := f.Vec(), f.Vec()
	first := func(x reg.VecVirtual) reg.VecVirtual {
		v := f.Vec()
		f.VPSLLD(operand.Imm(16), x, v)
		return v
	}
	second := func(x reg.VecVirtual) reg.VecVirtual {
		f.VANDPS(f.high, x, x)
		return x
	}
	return []KeyColumn{func() reg.VecVirtual {
		lower, upper := f.Halves(words)
		f.VPSLLD(operand.Imm(8), upper, even)
		f.VPSRLD(operand.Imm(8), lower, odd)
		f.VPTERNLOGD(operand.U8(bThenCElseA), lower, evens, even)
		f.VPTERNLOGD(operand.U8(bThenAElseC), upper, evens, odd)
		return first(even)
	}, func() reg.VecVirtual { return first(odd) },
		func() reg.VecVirtual { return second(even) }, func() reg.VecVirtual { return second(odd) }}
}

// LoadVectorWhere loads a vector of numbers as float32, under a mask. The bytes of 0 are 0.
func (f *Float8) LoadVectorWhere(m operand.Mem, where reg.OpmaskVirtual, v reg.VecVirtual) {
	f.VPMOVZXBD_Z(m, where, v)
	lower, upper := f.Halves(v)
	f.VPSLLD(operand.Imm(8), upper, v)
	f.VPORD(lower, v, v)
	f.VPSLLD(operand.Imm(16), v, v)
}

// lineColumn is the column of a byte for LoadLine.
func lineColumn(i int) uint8 {
	quarter, i := i/16, i%16
	vector, lane := i/8*2+i%2, 4*quarter+i%8/2
	return uint8(16*vector + lane)
}

// LineOrder is the order of the bytes of a line for LoadLine.
func (g *Gen) LineOrder() operand.Op { return g.AtHand(g.Bytes("lineFloat8", lineColumn)) }

// LineHalves has all bits of those bytes that are in the second half of a line.
func (g *Gen) LineHalves() operand.Mem {
	return g.Bytes("halfFloat8", func(i int) uint8 {
		if lineColumn(i) < 32 {
			return 0
		}
		return 0xff
	})
}

// LoadLine makes 4 vectors of float32 of a line of numbers.
func (f *Float8) LoadLine(line reg.VecVirtual, order operand.Op, v []reg.VecVirtual) {
	f.VPERMB(line, order, v[0])
	lower, upper := f.Halves(v[0])
	f.VPUNPCKLBW(upper, lower, v[1])
	f.VPUNPCKHBW(upper, lower, v[3])
	for i := 0; i < 4; i += 2 {
		f.VPSLLD(operand.Imm(16), v[i+1], v[i])
		f.VANDPS(f.high, v[i+1], v[i+1])
	}
}
