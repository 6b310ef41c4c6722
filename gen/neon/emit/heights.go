package emit

import (
	"fmt"

	"github.com/attn-go/attn/gen/a64"
)

// Heights lets one loop serve tiles of two numbers of rows, as amd64/emit/heights.go does: the number is compared
// once in a step, and what follows changes no flags.
type Heights struct {
	*Gen
	Most   int           // rows, one more than the least if rows are counted
	count  func() a64.GP // loads their number, nil if they are not
	name   string        // of labels
	places int           // with rows, so far
}

// NewHeights prepares a loop for most rows or one less, as the register says that count loads. Its labels begin with name.
func (g *Gen) NewHeights(name string, most int, count func() a64.GP) *Heights {
	return &Heights{Gen: g, Most: most, count: count, name: name}
}

// AllRows are the rows of a loop for one number of them.
func (g *Gen) AllRows(rows int) *Heights { return &Heights{Gen: g, Most: rows} }

// Single reports whether there is one number of rows only.
func (h *Heights) Single() bool { return h.count == nil }

// Compare begins a step.
func (h *Heights) Compare() {
	if !h.Single() {
		h.Op("CMP", h.Most, h.count())
	}
}

// Rows emits the code of all rows that there are. It must not change flags.
func (h *Heights) Rows(row func(i int)) {
	next := fmt.Sprintf("%snext%d", h.name, h.places)
	h.places++
	for i := range h.Most {
		if !h.Single() && i == h.Most-1 {
			h.Jump("BLT", next)
		}
		row(i)
	}
	if !h.Single() {
		h.Label(next)
	}
}
