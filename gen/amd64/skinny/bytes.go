package skinny

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// RowElements are the types whose kernels take rows by offsets alone. Rows at equal distances have
// one table of offsets: this takes no longer, and half as much code. Kernels for fp8 look up tables
// of 128 bytes. With AVX2 they would take more instructions for each group of queries than a copy
// takes once.
func (g *gen) RowElements() []spec.Element {
	if g.EVEX() {
		return []spec.Element{spec.E4M3, spec.E5M2, spec.Int4}
	}
	return []spec.Element{spec.Int4}
}

// eachFloat8 emits a kernel of a type of 8 bits with an exponent. Both types share a function, and
// with the first one comes its body. The capacity of a slice says which type is at hand.
func (g *gen) eachFloat8(name string, e spec.Element, f spec.Function, slice string, body func()) {
	if e == spec.E4M3 {
		g.Shared(name, f, "is "+f.Name+" and the kernel for E5M2, which jump to it.")
		body()
	}
	g.Kernel(f)
	g.MOVQ(operand.U32(e), g.Memory(g.Param(slice).Cap()))
	g.TailJump(name)
}

// newFloat8 loads the tables of the type at hand.
func (g *gen) newFloat8(at operand.Mem) *emit.Float8 {
	f := g.NewFloat8()
	g.CMPQ(at, operand.Imm(uint64(spec.E5M2)))
	g.JE(operand.LabelRef("e5m2"))
	f.Load(spec.E4M3)
	g.JMP(operand.LabelRef("tables"))
	g.Label("e5m2")
	f.Load(spec.E5M2)
	g.Label("tables")
	return f
}

// A valueWidener loads columns of V of a narrow type for SkinnyPV.
type valueWidener struct {
	g       *gen
	element spec.Element
	nibbles *emit.Nibbles
	float8  *emit.Float8
	order   reg.VecVirtual // of a line's bytes
}

func (g *gen) newValueWidener(e spec.Element) *valueWidener {
	w := &valueWidener{g: g, element: e}
	switch {
	case e == spec.Int4:
		w.nibbles = g.NewNibbles()
	case e.IsFloat8():
		w.float8 = g.newFloat8(g.Memory(g.Param("p").Cap()))
		w.order = g.LineOrder().(reg.VecVirtual)
	}
	return w
}

// load loads a vector.
func (w *valueWidener) load(m operand.Mem, v reg.VecVirtual) {
	if w.nibbles != nil {
		w.nibbles.Load(m, v)
	} else {
		w.g.LoadWide(w.element, m, v)
	}
}

// loadWhere loads a vector with AVX-512, but for int4, under a mask. It clears the other lanes.
func (w *valueWidener) loadWhere(m operand.Mem, where reg.OpmaskVirtual, v reg.VecVirtual) {
	if w.float8 != nil {
		w.float8.LoadVectorWhere(m, where, v)
	} else {
		w.g.LoadWideWhere(w.element, m, where, v)
	}
}

// orderOf is the order of the bytes of some columns of a line, more than half of it. The second
// half ends with the last column.
func (w *valueWidener) orderOf(columns reg.GPVirtual) reg.VecVirtual {
	const each = 0x01010101
	shift, x, order := w.g.GP64(), w.g.XMM(), w.g.Vec()
	w.g.MOVQ(operand.U32(spec.LineBytes), shift)
	w.g.SUBQ(columns, shift)
	w.g.IMUL3Q(operand.I32(each), shift, shift)
	w.g.VMOVD(shift.As32(), x)
	w.g.VPBROADCASTD(x, order)
	w.g.VPANDD(w.g.LineHalves(), order, order)
	w.g.VPADDB(w.order, order, order)
	return order
}
