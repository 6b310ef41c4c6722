package emit

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Heights lets one loop serve tiles of least to most rows, up to 5 more than least. A byte of memory
// stands for the number of rows. It is compared once in a step, so that each flag says whether there is
// one more row, and no instruction of vectors changes a flag:
//
//	       CMPB height, $0x82
//	       rows 0 to least-1 of a column
//	       JEQ  next
//	       row least
//	       JPS  next
//	       row least+1
//	       ...
//	next:  the next column
//
// So a row costs a jump that is not taken, and a missing one nothing. Both are free where FMAs, or the chains
// that they wait in, take the time. One loop for each height took four to six times the code.
type Heights struct {
	*Gen
	Span
	height operand.Mem
	name   string // of labels
	places int    // with rows, so far
}

// A Span is the heights of a loop.
type Span struct{ Least, Most int }

// Single reports whether there is one height only.
func (s Span) Single() bool { return s.Least == s.Most }

func (s Span) String() string {
	if s.Single() {
		return fmt.Sprint(s.Most)
	}
	return fmt.Sprintf("%d to %d", s.Least, s.Most)
}

// The byte that the height is compared with, and the bytes that stand for least rows, one more, and so on:
// the comparison clears Z and P, and then sets C, S and O, one more flag for each row.
const heightsCompared = 0x82

// MostHeights is the number of heights that a loop has at most.
const MostHeights = 6

var heightCodes = [MostHeights]uint32{0x82, 0x85, 0x83, 0x01, 0x80, 0x02}

// NewHeights prepares a loop whose labels begin with name. height is free memory of the function.
func (g *Gen) NewHeights(name string, s Span, height operand.Mem) *Heights {
	if !s.Single() && (s.Most-s.Least >= MostHeights || s.Least > maxLeast) {
		panic(fmt.Sprintf("%s: a loop for %v rows", name, s))
	}
	return &Heights{Gen: g, Span: s, height: height, name: name}
}

// maxLeast is the largest number of least rows.
const maxLeast = 8

// Set sets the number of rows, at least 1. Fewer than least are computed as if they were least. It uses up rows.
func (h *Heights) Set(rows reg.GPVirtual) {
	if h.Single() {
		return
	}
	codes, ok := h.data["heights"]
	if !ok { // those of fewer rows first
		codes = h.table("heights", maxLeast+MostHeights, func(i int) uint32 { return heightCodes[max(i-maxLeast, 0)] })
	}
	p := h.GP64()
	h.MOVQ(operand.U32(h.Most), p)
	h.CMPQ(rows, p)
	h.CMOVQGT(p, rows)
	h.LEAQ(codes.Offset(4*(maxLeast-h.Least)), p)
	h.MOVL(Indexed(p, rows, 4), rows.As32())
	h.MOVB(rows.As8(), h.height)
}

// Compare begins a step, or a part of one after which flags have changed.
func (h *Heights) Compare() {
	if !h.Single() {
		h.CMPB(h.height, operand.U8(heightsCompared))
	}
}

// Rows emits the code of all rows that there are. It must not change flags.
func (h *Heights) Rows(row func(i int)) {
	absent := []func(operand.Op){h.JEQ, h.JPS, h.JCC, h.JPL, h.JOC}
	next := fmt.Sprintf("%snext%d", h.name, h.places)
	h.places++
	for i := range h.Most {
		if i >= h.Least {
			absent[i-h.Least](operand.LabelRef(next))
		}
		row(i)
	}
	if !h.Single() {
		h.Label(next)
	}
}
