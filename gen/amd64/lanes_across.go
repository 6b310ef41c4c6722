package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/lane"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Streams whose rows lie in lanes. Some columns are loaded at a time, and transposed; what is left
// of them element by element. Products are computed along the rows, for as many columns as a vector
// has: numbers in memory widen as they are loaded, and one transpose takes the place of two.

// prepareAcross loads the distance of rows with its odd multiples, and pointers to the first rows.
func (m *laner) prepareAcross(p *lane.Program) {
	m.across = map[*lane.Stream]*across{}
	for _, s := range p.Across() {
		m.across[s] = &across{base: m.Slice(s.Slice)}
		if m.ld[0] == nil {
			m.ld = [4]reg.GPVirtual{m.Stride(s.Stride), m.GP64(), m.GP64(), m.GP64()}
			m.LEAQ(emit.Indexed(m.ld[0], m.ld[0], 2), m.ld[1])
			m.LEAQ(emit.Indexed(m.ld[0], m.ld[0], 4), m.ld[2])
			m.LEAQ(emit.Indexed(m.ld[1], m.ld[0], 4), m.ld[3])
		}
	}
}

// tooWide reports whether there are too few registers for the pointers to so many rows.
func (m *laner) tooWide(w lane.Width) bool {
	return w.Vectors > 1 && w.Vectors*m.width()/pointedRows*len(m.across) > 4
}

// pointedRows is how many rows an address reaches from one pointer.
const pointedRows = 8

// beginAcross sets the pointers to the first column.
func (m *laner) beginAcross(p *lane.Program, w lane.Width) {
	for _, s := range p.Across() {
		a := m.across[s]
		a.rows = []reg.GPVirtual{m.GP64()}
		m.MOVQ(a.base, a.rows[0])
		for i := range (w.Vectors*m.width() - 1) / pointedRows {
			r := m.GP64()
			m.LEAQ(emit.Indexed(a.rows[i], m.ld[0], pointedRows), r)
			a.rows = append(a.rows, r)
		}
	}
}

// someColumns emits the loop over some columns at a time, and leaves the number of others.
func (m *laner) someColumns(p *lane.Program, name string, w lane.Width, count reg.GPVirtual) {
	columns, turn := 4, m.transposed
	turned, inner := p.AlongRows()
	if turned[0].Double {
		columns, turn = m.width(), m.transposedDoubles
	}
	number := operand.U32(columns)
	m.SUBQ(number, count)
	m.JL(operand.LabelRef(name + "fewer"))
	m.AlignLoop()
	m.Label(name + "some")
	made := map[*lane.Value][][]reg.VecVirtual{} // of a value, the columns of each vector
	for _, n := range turned {
		for v := range w.Vectors {
			made[n] = append(made[n], turn(n, v))
		}
	}
	for c := range columns {
		m.frame.Made = map[*lane.Value][]reg.VecVirtual{}
		for _, n := range inner {
			m.frame.Made[n] = []reg.VecVirtual{}
		}
		for n, vectors := range made {
			for _, columns := range vectors {
				m.frame.Made[n] = append(m.frame.Made[n], columns[c])
			}
		}
		m.frame.Run(lane.Row, w)
		m.nextRow(p)
	}
	m.frame.Made = nil
	for _, s := range p.Across() {
		m.across[s].advance(m, columns)
	}
	m.SUBQ(number, count)
	m.JGE(operand.LabelRef(name + "some"))
	m.Label(name + "fewer")
	m.ADDQ(number, count)
}

// advance goes on by some columns.
func (a *across) advance(m *laner, columns int) {
	for _, r := range a.rows {
		m.ADDQ(operand.Imm(uint64(4*columns)), r)
	}
}

// transposed loads four columns.
func (m *laner) transposed(n *lane.Value, vector int) []reg.VecVirtual {
	quarters, a := m.width()/4, m.across[n.Stream]
	vec := func(v reg.VecVirtual) reg.Register { return m.of(n, v) }
	rows, t, columns := m.Vecs(4), m.Vecs(4), m.Vecs(4)
	for i, v := range rows {
		from := func(q int) operand.Mem { return m.row(a, vector*m.width()+4*q+i) }
		if 4*quarters == m.Lanes() {
			m.LoadQuarters(m.Context, v, from)
		} else {
			m.VMOVUPS(from(0), v.AsX())
			if quarters == 2 {
				m.upperHalf(from(1), v.AsY())
			}
		}
	}
	for i := range 2 {
		m.VUNPCKLPS(vec(rows[2*i+1]), vec(rows[2*i]), vec(t[2*i]))
		m.VUNPCKHPS(vec(rows[2*i+1]), vec(rows[2*i]), vec(t[2*i+1]))
	}
	for i := range 2 {
		m.VUNPCKLPD(vec(t[2+i]), vec(t[i]), vec(columns[2*i]))
		m.VUNPCKHPD(vec(t[2+i]), vec(t[i]), vec(columns[2*i+1]))
	}
	return columns
}

// transposedDoubles computes a value of float64 for as many columns as there are lanes. Vectors i
// of low and high have two rows in each quarter.
func (m *laner) transposedDoubles(n *lane.Value, vector int) []reg.VecVirtual {
	width := m.width()
	rows, columns := make([]reg.VecVirtual, width), make([]reg.VecVirtual, width)
	var low, high []reg.VecVirtual
	for i := range rows {
		row := vector*width + i
		rows[i] = m.alongRow(n, func(a *across) operand.Mem { return m.row(a, row) })
		if i%2 == 1 {
			l, h := m.Vec(), m.Vec()
			m.VPUNPCKLQDQ(rows[i], rows[i-1], l)
			m.VPUNPCKHQDQ(rows[i], rows[i-1], h)
			low, high = append(low, l), append(high, h)
		}
	}
	for i, half := range [][]reg.VecVirtual{low, high} {
		for q, x := range m.TransposeQuarters(m.Context, half) {
			columns[2*q+i] = x
		}
	}
	return columns
}

// alongRow computes a value for the columns of one row.
func (m *laner) alongRow(n *lane.Value, address func(a *across) operand.Mem) reg.VecVirtual {
	dst := m.Vec()
	if n.Op == lane.Widen {
		m.VCVTPS2PD(address(m.across[n.Args[0].Stream]), dst)
		return dst
	}
	x, y := m.alongRow(n.Args[0], address), m.alongRow(n.Args[1], address)
	m.VMULPD(y, x, dst)
	return dst
}

// upperHalf inserts x into v.
func (m *laner) upperHalf(x operand.Op, v reg.Register) {
	if m.EVEX() { // it may be one of 32 registers
		m.VINSERTF32X4(operand.Imm(1), x, v, v)
		return
	}
	m.VINSERTF128(operand.Imm(1), x, v, v)
}

// row is the address of the current column of row i.
func (m *laner) row(a *across, i int) operand.Mem {
	p, i := a.rows[i/pointedRows], i%pointedRows
	switch {
	case i == 0:
		return emit.At(p, 0)
	case i%2 == 1:
		return emit.Indexed(p, m.ld[i/2], 1)
	case i == 6:
		return emit.Indexed(p, m.ld[1], 2)
	}
	return emit.Indexed(p, m.ld[0], uint8(i))
}

// loadAcross loads an element of each row.
func (m *laner) loadAcross(a *across, vector int, dst reg.VecVirtual) {
	for q := range m.width() / 4 {
		x, row := dst.AsX(), vector*m.width()+4*q
		if q > 0 {
			x = m.XMM()
		}
		m.VMOVSS(m.row(a, row), x)
		for i := 1; i < 4; i++ {
			m.VINSERTPS(operand.Imm(uint64(i)<<4), m.row(a, row+i), x, x)
		}
		switch {
		case q == 1 && m.width() == 8:
			m.upperHalf(x, dst.AsY())
		case q > 0:
			m.InsertQuarter(m.Context, x, q, dst)
		}
	}
}

// lastRows emits the loop over single vectors, and the rest of the function. What is less than a
// vector takes some of the rows before it once more. If there are fewer rows than a vector has
// lanes, they are computed one by one, as if all lanes had the same, and left is negative.
func (m *laner) lastRows(p *lane.Program, left reg.GPVirtual, name string) {
	lanes, count, back := operand.U32(m.width()), m.GP64(), m.GP64()
	m.JumpIfZero(left, "end")
	m.MOVQ(lanes, count)
	m.CMPQ(m.lanes(p), lanes)
	m.JGE(operand.LabelRef("many"))
	m.MOVQ(operand.U32(1), count)
	for _, r := range m.ld {
		m.XORQ(r, r)
	}
	m.NEGQ(left)
	m.Label("many")
	m.last(count)
	m.Label(name)
	m.TESTQ(left, left)
	m.JL(operand.LabelRef("enter"))
	m.CMPQ(left, lanes)
	m.JGE(operand.LabelRef("enter"))
	m.SUBQ(lanes, left)
	m.LEAQ(emit.Indexed(m.at, left, 4), m.at)
	m.MOVQ(left, back)
	m.IMULQ(m.ld[0], back)
	for _, s := range p.Across() {
		m.ADDQ(back, m.across[s].base)
	}
	m.MOVQ(lanes, left)
	m.Label("enter")
	m.body(p, name, single)
	m.TESTQ(left, left)
	m.JL(operand.LabelRef("next"))
	m.advance(p, m.width())
	m.SUBQ(lanes, left)
	m.JNZ(operand.LabelRef(name))
	m.JMP(operand.LabelRef("end"))
	m.Label("next")
	m.ADDQ(operand.Imm(4), m.at)
	for _, s := range p.Across() {
		m.ADDQ(m.Stride(s.Stride), m.across[s].base)
	}
	m.INCQ(left)
	m.JNZ(operand.LabelRef(name))
	m.Label("end")
	m.Return()
}
