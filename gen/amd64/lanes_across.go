package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/lane"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Streams whose rows lie in lanes. Four columns are loaded at a time, and transposed; what is left
// of them element by element.

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

// fourColumns emits the loop over four columns at a time, and leaves the number of others.
func (m *laner) fourColumns(p *lane.Program, name string, w lane.Width, count reg.GPVirtual) {
	four := operand.Imm(4)
	m.SUBQ(four, count)
	m.JL(operand.LabelRef(name + "fewer"))
	m.AlignLoop()
	m.Label(name + "four")
	for _, s := range p.Across() {
		a := m.across[s]
		for v := range w.Vectors {
			a.columns = append(a.columns, m.transposed(a, v))
		}
	}
	for m.column = range 4 {
		m.frame.Run(lane.Row, w)
		m.nextRow(p)
	}
	for _, s := range p.Across() {
		m.across[s].advance(m, 4)
		m.across[s].columns = nil
	}
	m.SUBQ(four, count)
	m.JGE(operand.LabelRef(name + "four"))
	m.Label(name + "fewer")
	m.ADDQ(four, count)
}

// advance goes on by some columns.
func (a *across) advance(m *laner, columns int) {
	for _, r := range a.fourth {
		m.ADDQ(operand.Imm(uint64(4*columns)), r)
	}
}

// transposed loads four columns.
func (m *laner) transposed(a *across, vector int) (columns [4]reg.Register) {
	quarters, vec := m.width()/4, func(r reg.VecVirtual) reg.Register { return m.of(&lane.Value{}, r) }
	var r, t [4]reg.Register
	for i := range r {
		v := m.Vec()
		from := func(q int) operand.Mem { return m.element(a.fourth[vector*quarters+q], i) }
		if 4*quarters == m.Lanes() {
			m.LoadQuarters(m.Context, v, from)
		} else {
			m.VMOVUPS(from(0), v.AsX())
			if quarters == 2 {
				m.upperHalf(from(1), v.AsY())
			}
		}
		r[i], t[i], columns[i] = vec(v), vec(m.Vec()), vec(m.Vec())
	}
	m.VUNPCKLPS(r[1], r[0], t[0])
	m.VUNPCKHPS(r[1], r[0], t[1])
	m.VUNPCKLPS(r[3], r[2], t[2])
	m.VUNPCKHPS(r[3], r[2], t[3])
	for i := range 2 {
		m.VUNPCKLPD(t[2+i], t[i], columns[2*i])
		m.VUNPCKHPD(t[2+i], t[i], columns[2*i+1])
	}
	return columns
}

// upperHalf inserts x into v.
func (m *laner) upperHalf(x operand.Op, v reg.Register) {
	if m.EVEX() { // it may be one of 32 registers
		m.VINSERTF32X4(operand.Imm(1), x, v, v)
		return
	}
	m.VINSERTF128(operand.Imm(1), x, v, v)
}

// element is the address of row i of four rows, of which p points to the first one.
func (m *laner) element(p reg.GPVirtual, i int) operand.Mem {
	return []operand.Mem{emit.At(p, 0), emit.Indexed(p, m.ld[0], 1), emit.Indexed(p, m.ld[0], 2), emit.Indexed(p, m.ld[1], 1)}[i]
}

// loadAcross loads an element of each row, or takes those that are loaded.
func (m *laner) loadAcross(a *across, vector int, dst reg.VecVirtual) {
	if a.columns != nil {
		from := a.columns[vector][m.column]
		m.VMOVAPS(from, m.of(&lane.Value{}, dst))
		return
	}
	for q := range m.width() / 4 {
		x, p := dst.AsX(), a.fourth[vector*m.width()/4+q]
		if q > 0 {
			x = m.XMM()
		}
		m.VMOVSS(m.element(p, 0), x)
		for i := 1; i < 4; i++ {
			m.VINSERTPS(operand.Imm(uint64(i)<<4), m.element(p, i), x, x)
		}
		switch {
		case q == 1 && m.width() == 8:
			m.upperHalf(x, dst.AsY())
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
