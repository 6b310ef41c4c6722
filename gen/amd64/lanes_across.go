package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/lane"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Streams whose rows lie in lanes. A column is loaded element by element: a step of the loop has a
// few chains of sums, which take longer.

// prepareAcross loads the distance of rows, and pointers to the first ones.
func (m *laner) prepareAcross(p *lane.Program) {
	m.across = map[*lane.Stream]*across{}
	for _, s := range p.Across() {
		m.across[s] = &across{base: m.Slice(s.Slice)}
		if m.ld[0] == nil {
			m.ld = [2]reg.GPVirtual{m.Stride(s.Stride), m.GP64()}
			m.LEAQ(emit.Indexed(m.ld[0], m.ld[0], 2), m.ld[1])
		}
	}
}

// tooWide reports whether there are fewer lanes, or too few registers for the pointers to so many
// rows.
func (m *laner) tooWide(p *lane.Program, w lane.Width) bool {
	lanes := w.Vectors * m.width()
	return w.Vectors > 1 && (p.Most > 0 && lanes > p.Most || lanes/4*len(m.across) > 4)
}

// beginAcross sets the pointers to the first column.
func (m *laner) beginAcross(p *lane.Program, w lane.Width) {
	for _, s := range p.Across() {
		a := m.across[s]
		a.fourth = nil
		for i := range w.Vectors * m.width() / 4 {
			r := m.GP64()
			if i == 0 {
				m.MOVQ(a.base, r)
			} else {
				m.LEAQ(emit.Indexed(a.fourth[i-1], m.ld[0], 4), r)
			}
			a.fourth = append(a.fourth, r)
		}
	}
}

// loadAcross loads an element of each row.
func (m *laner) loadAcross(a *across, vector int, dst reg.VecVirtual) {
	for q := range m.width() / 4 {
		x, p := dst.AsX(), a.fourth[vector*m.width()/4+q]
		if q > 0 {
			x = m.XMM()
		}
		m.VMOVSS(emit.At(p, 0), x)
		for i, from := range []operand.Mem{emit.Indexed(p, m.ld[0], 1), emit.Indexed(p, m.ld[0], 2), emit.Indexed(p, m.ld[1], 1)} {
			m.VINSERTPS(operand.Imm(uint64(i+1)<<4), from, x, x)
		}
		switch {
		case q == 1 && m.width() == 8:
			m.VINSERTF128(operand.Imm(1), x, dst.AsY(), dst.AsY())
		case q > 0:
			m.InsertQuarter(m.Context, x, q, dst)
		}
	}
}

// lastRows computes the rows that are left: once more some of those before them, or, if there are
// fewer than a vector has lanes, one by one, as if all lanes had the same.
func (m *laner) lastRows(p *lane.Program, left reg.GPVirtual) {
	m.JZ(operand.LabelRef("end"))
	m.Comment("Less than a vector is left.")
	all, back := m.lanes(p), m.GP64()
	m.CMPQ(all, operand.U32(m.width()))
	m.JL(operand.LabelRef("few"))
	m.SUBQ(operand.U32(m.width()), left)
	m.LEAQ(emit.Indexed(m.at, left, 4), m.at)
	m.MOVQ(left, back)
	m.IMULQ(m.ld[0], back)
	for _, s := range p.Across() {
		m.ADDQ(back, m.across[s].base)
	}
	m.XORQ(left, left) // a vector, and nothing after it
	m.JMP(operand.LabelRef(lanesLabel(single)))
	m.Label("few")
	m.XORQ(m.ld[0], m.ld[0])
	m.XORQ(m.ld[1], m.ld[1])
	one := m.GP64()
	m.MOVQ(operand.U32(1), one)
	m.last(one)
	m.Label("single")
	m.body(p, "one", single)
	m.ADDQ(operand.Imm(4), m.at)
	for _, s := range p.Across() {
		m.ADDQ(m.Stride(s.Stride), m.across[s].base)
	}
	m.DECQ(left)
	m.JNZ(operand.LabelRef("single"))
	m.Label("end")
}
