// Package lanes says which query rows are in the lanes of a query tile, and where these
// rows lie in tensors.
package lanes

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/internal/view"
)

// A Head is a key head of a batch row together with all query rows that use it:
// group query heads × Lq queries. Row r is query r/group of head r%group of the
// group, so that neighbouring rows see nearly the same keys under a causal mask.
//
// If each query has a list of keys of its own, a Head has the rows of one query alone.
type Head struct {
	Batch, Head int
	Query       int // that one, or 0
}

// Rows are the query rows of a tile: some of a KV head, one per lane. Lanes after the
// last row repeat it.
type Rows struct {
	Head      Head
	First, N  int // first row within the KV head, number of rows ≤ Lanes
	Lanes     int
	Group     int // query heads per KV head
	Query     int // query of the first row
	GroupHead int // query head of the first row, within its group
}

// Place makes r the n rows of h from row first on.
func (r *Rows) Place(h Head, first, n, group, lanes int) {
	r.Head, r.First, r.N, r.Group, r.Lanes = h, first, n, group, lanes
	r.Query, r.GroupHead = first, 0
	if group > 1 {
		r.Query, r.GroupHead = first/group, first%group
	}
}

// LastQuery returns the query of the last row.
func (r *Rows) LastQuery() int { return (r.First + r.N - 1) / r.Group }

// QueryOf returns the query of a lane.
func (r *Rows) QueryOf(lane int) int { return (r.First + min(lane, r.N-1)) / r.Group }

// EachLane calls f with the query head and the query of every lane.
func (r *Rows) EachLane(f func(lane, head, query int)) {
	i, g, first := r.Query, r.GroupHead, r.Head.Head*r.Group
	for lane := range r.Lanes {
		f(lane, first+g, i)
		if lane+1 >= r.N {
			continue
		}
		if g++; g == r.Group {
			i, g = i+1, 0
		}
	}
}

// Index returns where the row of x, a tensor with the heads and queries of Q, starts that
// belongs to a lane.
func (r *Rows) Index(x *view.Tensor, lane int) int {
	row := r.First + lane
	return x.Index(r.Head.Batch, r.Head.Head*r.Group+row%r.Group, row/r.Group)
}

// Row returns that row of a float32 tensor.
func (r *Rows) Row(x *view.Tensor, lane int) []float32 {
	at := r.Index(x, lane)
	return x.F32()[at : at+x.Dim(3)]
}

// Offsets sets off, one entry per lane, to where the rows start in x, or their parts from
// element e on.
//
// The starts of a ragged tensor are the caller's memory. If they change during the call,
// against the rules, assembly must not follow them out of the slice: Offsets panics
// instead, as indexing does.
func (r *Rows) Offsets(off []int, x *view.Tensor, e int) {
	r.OffsetsFrom(off, x, x.Index(r.Head.Batch, r.Head.Head*r.Group+r.GroupHead, r.Query)+e)
	if x.IsRagged() {
		check(x, off, e)
	}
}

// OffsetsFrom is Offsets if the first row starts at at.
func (r *Rows) OffsetsFrom(off []int, x *view.Tensor, at int) {
	off[0] = at
	if r.N > 1 {
		at = r.next(x, off[:r.N])
	}
	rest := off[r.N:]
	for lane := range rest {
		rest[lane] = at
	}
}

// next sets all offsets but the first, which is given, and returns the last one.
func (r *Rows) next(x *view.Tensor, off []int) int {
	group, g, at := r.Group, r.GroupHead, off[0]
	nextHead := x.Stride(1)
	nextQuery := x.Stride(2) - group*nextHead
	if group == 1 {
		for lane := range off[1:] {
			at += nextHead + nextQuery
			off[1+lane] = at
		}
		return at
	}
	for lane := range off[1:] {
		at += nextHead
		if g++; g == group {
			at, g = at+nextQuery, 0
		}
		off[1+lane] = at
	}
	return at
}

// check panics if a row does not lie within x. off are the offsets of the rows' element e.
func check(x *view.Tensor, off []int, e int) {
	least, most := slices.Min(off)-e, slices.Max(off)-e
	if least < 0 || most > x.Len()-x.Dim(3) {
		panic(fmt.Sprintf("attn: a row at %d to %d in a slice of %d elements: the starts of a tensor have changed during the call", least, most+x.Dim(3), x.Len()))
	}
}

// Packed sets off to the offsets of the rows if they lie one after the other, size
// elements each.
func (r *Rows) Packed(off []int, size int) {
	for lane := range off {
		off[lane] = min(lane, r.N-1) * size
	}
}
