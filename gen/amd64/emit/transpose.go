package emit

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Query tiles have queries in lanes, tensors have them in rows: Pack and Unpack transpose
// between the two. Both work in steps of 4 columns of a row and one vector of lanes. That
// is 4 vectors, seen as a column of 4×4 matrices, one in each 128-bit quarter. Row 4·q+i of
// a step is in quarter q of vector i. So the whole transpose is one 4×4 transpose within
// the quarters, 8 shuffles for 4 vectors, and no shuffle crosses quarters. To move the
// quarters to and from memory one by one costs loads and stores, which are cheap here.

// Transpose4 transposes the 4×4 matrix in each quarter of four vectors.
func (g *Gen) Transpose4(v []reg.VecVirtual) []reg.VecVirtual {
	a, b, c, d := g.Vec(), g.Vec(), g.Vec(), g.Vec()
	g.VUNPCKLPS(v[1], v[0], a)
	g.VUNPCKHPS(v[1], v[0], b)
	g.VUNPCKLPS(v[3], v[2], c)
	g.VUNPCKHPS(v[3], v[2], d)
	t := g.Vecs(4)
	g.VUNPCKLPD(c, a, t[0])
	g.VUNPCKHPD(c, a, t[1])
	g.VUNPCKLPD(d, b, t[2])
	g.VUNPCKHPD(d, b, t[3])
	return t
}

// KeyRows loads 4 words of 32 bits of the rows of vector v of 16 rows: vector x has the words of
// rows x, 4+x, ... in its quarters.
func (g *Gen) KeyRows(row func(i int) operand.Mem, v int) []reg.VecVirtual {
	rows := g.Vecs(4)
	for x := range rows {
		g.LoadQuarters(g.Context, rows[x], func(q int) operand.Mem { return row(g.Lanes()*v + 4*q + x) })
	}
	return rows
}

// TransposeSquare transposes as many columns of each lane's row as a vector has lanes:
// first 4 rows at a time within the quarters, then the quarters.
func (g *Gen) TransposeSquare(v []reg.VecVirtual) []reg.VecVirtual {
	quarters := len(v) / 4
	byColumn := make([][]reg.VecVirtual, 4) // of a quarter, with a vector for every 4 rows
	for q := range quarters {
		for c, t := range g.Transpose4(v[4*q : 4*q+4]) {
			byColumn[c] = append(byColumn[c], t)
		}
	}
	t := make([]reg.VecVirtual, len(v))
	for c := range byColumn {
		for q, x := range g.TransposeQuarters(g.Context, byColumn[c]) {
			t[4*q+c] = x
		}
	}
	return t
}

// Row returns the address of the row of a lane: base plus the lane's entry of off, which
// counts elements.
func (g *Gen) Row(base, off reg.Register, lane int) operand.Mem {
	o := g.GP64()
	g.MOVQ(At(off, 8*lane), o)
	return Indexed(base, o, 4)
}

// Columns emits a loop over d columns, width of them per step. If width does not divide d,
// the last step goes back to the last columns: it computes some of them a second time,
// with the same result. d must be at least width, and less than below unless that is 0. step
// computes the current columns. advance goes on by a number of columns, which is an immediate or a
// register.
func (g *Gen) Columns(name string, width, below int, d reg.Register, step func(), advance func(columns operand.Op)) {
	left := g.GP64()
	g.MOVQ(d, left)
	g.AlignLoop()
	g.Label(name + "step")
	step()
	g.SUBQ(operand.U32(width), left)
	g.JZ(operand.LabelRef(name + "done"))
	if below == 0 || below > 2*width {
		g.CMPQ(left, operand.U32(width))
		g.JL(operand.LabelRef(name + "rest"))
		advance(operand.U32(width))
		g.JMP(operand.LabelRef(name + "step"))
	}
	g.Commentf("Less than %d columns are left: compute the last %d.", width, width)
	g.Label(name + "rest") // the last step is left columns on
	advance(left)
	g.MOVQ(operand.U32(width), left)
	g.JMP(operand.LabelRef(name + "step"))
	g.Label(name + "done")
}
