package emit

import (
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A Float8 makes bfloat16 of the bytes of a type with an exponent, which has no number that
// bfloat16 lacks. It looks both bytes of a magnitude up in tables of all of them, with AVX-512.
type Float8 struct {
	*Gen
	tables [2][2]reg.VecVirtual // of lower and of upper bytes, each in two halves
	sign   reg.VecVirtual
	upper  reg.OpmaskVirtual // the bytes of float32 that are not 0
}

func (g *Gen) NewFloat8() *Float8 {
	f := &Float8{Gen: g, tables: [2][2]reg.VecVirtual{{g.Vec(), g.Vec()}, {g.Vec(), g.Vec()}}, sign: g.Vec()}
	g.VMOVUPS(g.Constant(0x80808080), f.sign)
	return f
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
	f.VPTERNLOGD(operand.U8(orAnd), f.sign, x, upper)
	return lower, upper
}

// Float32s prepares Float32.
func (f *Float8) Float32s() {
	bytes := f.GP64()
	f.MOVQ(operand.U64(0xcccccccccccccccc), bytes)
	f.upper = f.K()
	f.KMOVQ(bytes, f.upper)
}

// Float32 makes float32 of some of the bytes that Halves returns, in an order of Float8Order.
func (f *Float8) Float32(lower, upper reg.VecVirtual, order operand.Mem, v reg.VecVirtual) {
	f.VMOVUPS(order, v)
	f.VPERMI2B_Z(upper, lower, f.upper, v)
}

// Float8Order is the order of bytes in which lane i has byte first+step·i.
func (g *Gen) Float8Order(first, step int) operand.Mem {
	return g.Bytes(spec.E4M3.Suffix()+"Order"+string(rune('A'+first/16+4*(step/4)+first%16)), func(i int) uint8 {
		at := first + step*(i/4)
		return [4]uint8{2: uint8(at), 3: uint8(64 + at)}[i%4]
	})
}

// Columns returns the columns of words in the orders of their bytes.
func (f *Float8) Columns(words reg.VecVirtual, orders []operand.Mem) (columns []KeyColumn) {
	var lower, upper reg.VecVirtual
	for i, order := range orders {
		columns = append(columns, func() reg.VecVirtual {
			if i == 0 {
				lower, upper = f.Halves(words)
			}
			v := f.Vec()
			f.Float32(lower, upper, order, v)
			return v
		})
	}
	return columns
}
