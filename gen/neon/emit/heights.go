package emit

import (
	"fmt"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/loop"
)

// Heights lets one loop serve tiles of up to MostHeights numbers of rows, as amd64/emit/heights.go
// does: the number is compared once in a step, and what follows changes no flags.
type Heights struct {
	*Gen
	Span
	count  func() a64.GP // loads the number of rows
	name   string        // of labels
	places int           // with rows, so far
}

// A Span is the heights of a loop.
type Span = loop.Span

// MostHeights is the number of heights that a loop has at most: a comparison says less, equal or
// more.
const MostHeights = 3

// NewHeights prepares a loop for numbers of rows, at least the least, which count loads into a
// register. Its labels begin with name.
func (g *Gen) NewHeights(name string, s Span, count func() a64.GP) *Heights {
	if s.Most-s.Least >= MostHeights {
		panic(fmt.Sprintf("%s: a loop for %v rows", name, s))
	}
	return &Heights{Gen: g, Span: s, count: count, name: name}
}

// Compare begins a step.
func (h *Heights) Compare() {
	if !h.Single() {
		h.Op("CMP", h.Least+1, h.count())
	}
}

// Rows emits the code of all rows that there are. It must not change flags.
func (h *Heights) Rows(row func(i int)) {
	next := fmt.Sprintf("%snext%d", h.name, h.places)
	h.places++
	for i := range h.Most {
		switch i - h.Least {
		case 0:
			h.Jump("BLT", next)
		case 1:
			h.Jump("BEQ", next)
		}
		row(i)
	}
	if !h.Single() {
		h.Label(next)
	}
}
