package emit

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/gen/loop"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Heights lets one loop serve tiles of least to most rows, up to 5 more than least. 8 bytes of
// memory stand for the number of rows. They are compared once in a step, so that each flag says
// whether there is one more row, and no instruction of vectors changes a flag:
//
//	       CMPQ height, $-126
//	       rows 0 to least-1 of a column
//	       JEQ  next
//	       row least
//	       JPS  next
//	       row least+1
//	       ...
//	next:  the next column
//
// So a row costs a jump that is not taken, and a missing one nothing. Both are free where FMAs, or
// the chains that they wait in, take the time. One loop for each height took four to six times the
// code.
type Heights struct {
	*Gen
	Span
	height operand.Mem
	name   string // of labels
	places int    // with rows, so far
}

// A Span is the heights of a loop.
type Span = loop.Span

// The number that the height is compared with, and the numbers that stand for least rows, one more,
// and so on: the comparison clears Z and P, and then sets C, S and O, one more flag for each row.
const heightsCompared = -126

// MostHeights is the number of heights that a loop has at most.
const MostHeights = 6

var heightCodes = [MostHeights]int64{-126, -123, -125, 1, -128, math.MaxInt64 - 124}

// NewHeights prepares a loop whose labels begin with name. height is free memory of the function: 8
// bytes, as an argument that is used up may have.
func (g *Gen) NewHeights(name string, s Span, height operand.Mem) *Heights {
	if !s.Single() && (s.Most-s.Least >= MostHeights || s.Least > maxLeast) {
		panic(fmt.Sprintf("%s: a loop for %v rows", name, s))
	}
	return &Heights{Gen: g, Span: s, height: height, name: name}
}

// maxLeast is the largest number of least rows.
const maxLeast = 8

// Set sets the number of rows, at least 1. Fewer than least are computed as if they were least. It
// uses up rows.
func (h *Heights) Set(rows reg.GPVirtual) {
	if h.Single() {
		return
	}
	codes, ok := h.data["heights"]
	if !ok { // heights of fewer rows first
		codes = h.table("heights", 2*(maxLeast+MostHeights), func(i int) uint32 {
			return uint32(heightCodes[max(i/2-maxLeast, 0)] >> (i % 2 * 32))
		})
	}
	p := h.GP64()
	h.MOVQ(operand.U32(h.Most), p)
	h.CMPQ(rows, p)
	h.CMOVQGT(p, rows)
	h.LEAQ(codes.Offset(8*(maxLeast-h.Least)), p)
	h.MOVQ(Indexed(p, rows, 8), rows)
	h.MOVQ(rows, h.height)
}

// Compare begins a step, or a part of one after which flags have changed.
func (h *Heights) Compare() {
	if !h.Single() {
		h.CMPQ(h.height, operand.I8(heightsCompared))
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
