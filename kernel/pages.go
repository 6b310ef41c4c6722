package kernel

import (
	"fmt"
	"math"
)

// A PageTable says which pages hold the keys, or the values, of every batch row: the
// block table of vLLM and FlashInfer. Pages may be in any order, and several rows may
// share some.
type PageTable struct {
	// Pages lists the pages of every batch row in the order of its keys. A list
	// may be longer than its row needs; what it does not need is not looked at.
	Pages [][]int32

	// Lengths holds the number of keys of every batch row. Pages beyond it, and
	// the rest of the last page, are never read.
	Lengths []int
}

// Paged returns a view of keys or values that lie in pages. t is the memory of all
// pages, [pages, H, page size, D], of any element type and with any strides:
//
//	BHLD(data, pages, heads, size, d)   FlashInfer's HND
//	BLHD(data, pages, size, heads, d)   FlashInfer's NHD
//	Strided                             anything else, such as keys and values page by page in turn
//
// with the scales of int8 in pages like the elements. The view is [B, H, L, D], where B is
// the number of table's batch rows and L the largest of their lengths. A
// query of batch row b sees Lengths[b] keys at most, as under [KeyLengths].
//
// Only k and v of [Attention] and its like may be paged. Any page size is
// valid; 16 and more are fast. The table is not copied: a cache has one for all layers,
// for its keys and its values.
//
// Keys and values give the same bits whether they are in pages or not.
func (t Tensor) Paged(table *PageTable) Tensor {
	if table == nil {
		table = &noPages
	}
	t.paging = paging{table: table, count: clampInt32(t.shape[0]), size: clampInt32(t.shape[2])}
	t.shape[0], t.shape[2] = len(table.Lengths), 0
	for _, n := range table.Lengths {
		t.shape[2] = max(t.shape[2], n)
	}
	return t
}

var noPages PageTable

// paging is what a paged tensor has beside its grid, whose first and third stride are
// those of pages and of rows within a page; or a ragged one.
type paging struct {
	table  *PageTable // nil if the tensor is not paged
	starts *int       // the first of those of a ragged tensor, nil if it is not one
	count  int32      // pages, or starts
	size   int32      // rows of a page, or in all; as good as any number beyond all positions
}

func clampInt32(n int) int32 { return int32(max(min(n, math.MaxInt32), math.MinInt32)) }

// isPaged tells whether the tensor's rows are in pages.
func (t *Tensor) isPaged() bool { return t.table != nil }

// length returns the number of rows of batch row b.
func (t *Tensor) length(b int) int {
	switch {
	case t.isPaged():
		return t.table.Lengths[b]
	case t.isRagged():
		return t.start(b+1) - t.start(b)
	}
	return t.shape[2]
}

// locate returns where row l of batch row b lies: the first index of the grid, a
// page if it is paged, and the third.
func (t *Tensor) locate(b, l int) (page, row int) {
	switch {
	case t.isPaged():
		n := int(t.size)
		return int(t.table.Pages[b][l/n]), l % n
	case t.isRagged():
		return 0, t.start(b) + l
	}
	return b, l
}

// run returns how many of n ≥ 1 rows from row l on lie at one distance from each other.
func (t *Tensor) run(l, n int) int {
	if t.table == nil {
		return n
	}
	return min(n, int(t.size)-l%int(t.size))
}

// storage is the grid of all of the tensor's memory.
func (t *Tensor) storage() grid {
	g := t.grid
	switch {
	case t.isPaged():
		g.shape[0], g.shape[2] = int(t.count), int(t.size)
	case t.isRagged():
		g.shape[0], g.shape[2] = 1, max(int(t.size), 0)
	}
	return g
}

// checkPages reports a paged tensor that does not fit its table.
func (t *Tensor) checkPages(name string) error {
	if t.size < 1 {
		return &ArgumentError{name, t.describe(), "a page size of at least 1"}
	}
	wrong := func(got, want string) error {
		return &ArgumentError{"the page table of " + name, got, want}
	}
	pages, lengths := t.table.Pages, t.table.Lengths
	if len(pages) != len(lengths) {
		return wrong(fmt.Sprintf("%d lists of pages for %d lengths", len(pages), len(lengths)), "one for each")
	}
	for b, n := range lengths {
		if n < 0 || n > t.shape[2] {
			return wrong(fmt.Sprintf("length %d of batch row %d", n, b), fmt.Sprintf("0 to %d, the largest when the view was made", t.shape[2]))
		}
		need := n / int(t.size)
		if n%int(t.size) != 0 {
			need++
		}
		if len(pages[b]) < need {
			return wrong(fmt.Sprintf("%d pages for batch row %d", len(pages[b]), b), fmt.Sprintf("at least %d, for its length %d in pages of %d", need, n, t.size))
		}
		for i, page := range pages[b][:need] {
			if page < 0 || page >= t.count {
				return wrong(fmt.Sprintf("page %d, number %d of batch row %d", page, i, b), fmt.Sprintf("0 to %d", t.count-1))
			}
		}
	}
	return nil
}
