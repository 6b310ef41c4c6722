package view

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/ints"
)

// PageTable lists the pages of every batch row. See kernel.PageTable.
type PageTable struct {
	Pages   [][]int32
	Lengths []int
}

// GivenBack is what a cache writes into tables that are still in use: as the length of a
// sequence that has been freed, and as a page that its sequence has given back.
const GivenBack = math.MinInt32

// rows locates the rows of a paged or ragged tensor. In a paged one, the first and the third stride
// of the grid are the strides of pages and of rows within a page.
type rows struct {
	table  *PageTable // nil if the tensor is not paged
	starts *int       // the first start of a ragged tensor, nil if it is not ragged
	count  int32      // number of pages, or of starts
	size   int32      // rows of a page, or of the ragged tensor; clamped
}

var (
	noPages  PageTable
	noStarts int
)

// Paged returns the view of t's pages, [pages, H, page size, D], as the rows of
// table.
func (t Tensor) Paged(table *PageTable) Tensor {
	if table == nil {
		table = &noPages
	}
	s := &t.grid.Shape
	size := s[2]
	if t.IsPaged() || t.IsRagged() {
		size = -1 // reported by checkPages
	}
	t.rows = rows{table: table, count: ints.Clamp32(s[0]), size: ints.Clamp32(size)}
	s[0], s[2] = len(table.Lengths), 0
	for _, n := range table.Lengths {
		s[2] = max(s[2], n)
	}
	return t
}

// Ragged returns the view of t, [1, H, rows, D], whose batch row b is rows starts[b]
// up to starts[b+1].
func (t Tensor) Ragged(starts []int) Tensor {
	s := &t.grid.Shape
	size := s[2]
	if s[0] != 1 || t.IsPaged() || t.IsRagged() {
		size = -1 // reported by checkRagged
	}
	t.rows = rows{count: ints.Clamp32(len(starts)), size: ints.Clamp32(size), starts: &noStarts}
	if len(starts) > 0 {
		t.rows.starts = unsafe.SliceData(starts)
	}
	s[0], s[2] = max(len(starts)-1, 0), 0
	for b := 1; b < len(starts); b++ {
		s[2] = max(s[2], starts[b]-starts[b-1])
	}
	return t
}

// Joined returns all rows of a ragged float32 tensor as one batch row, and another tensor as it is.
func (t *Tensor) Joined() Tensor {
	u := *t
	if t.IsRagged() {
		first, end := t.start(0), t.start(t.grid.Shape[0])
		u.rows = rows{}
		u.grid.Shape[0], u.grid.Shape[2] = 1, end-first
		u.f32 = t.f32[min(first*t.grid.Stride[2], len(t.f32)):]
	}
	return u
}

// RaggedAs returns t, [1, H, rows, D] with as many rows as u has up to its last one, with the
// batch rows of u. If u is not ragged it returns t.
func (t Tensor) RaggedAs(u *Tensor) Tensor {
	if u.IsRagged() {
		t.rows = u.rows
		t.rows.size = ints.Clamp32(t.grid.Shape[2])
		t.grid.Shape[0], t.grid.Shape[2] = u.grid.Shape[0], u.grid.Shape[2]
	}
	return t
}

// Fold makes all heads one head, and then all batch rows one batch row, if the rows of each tensor
// that is set are at equal distances then. The order of the rows stays. The tensors have one shape
// and pass their checks, and the number of rows is at least 1 and fits an int. Ragged tensors stay
// as they are.
func Fold(tensors ...*Tensor) {
	for _, i := range [...]int{1, 0} {
		for _, t := range tensors {
			if t.IsSet() && (t.IsRagged() || !t.grid.canFold(i)) {
				return
			}
		}
		for _, t := range tensors {
			if t.IsSet() {
				t.grid.fold(i)
			}
		}
	}
}

// AllRows returns the numbers of batch rows and of rows that a tensor takes which RaggedAs
// makes ragged as t is: t's own, unless it is ragged.
func (t *Tensor) AllRows() (batch, rows int) {
	if t.IsRagged() {
		return 1, t.start(t.grid.Shape[0])
	}
	return t.grid.Shape[0], t.grid.Shape[2]
}

// IsPaged tells whether the rows lie in pages.
func (t *Tensor) IsPaged() bool { return t.rows.table != nil }

// IsRagged tells whether the batch rows are parts of one tensor of all rows.
func (t *Tensor) IsRagged() bool { return t.rows.starts != nil }

// Pages returns the pages of batch row b of a paged tensor, and the page size.
func (t *Tensor) Pages(b int) (pages []int32, size int) {
	return t.rows.table.Pages[b], int(t.rows.size)
}

// PageSize returns the rows of a page of a paged tensor.
func (t *Tensor) PageSize() int { return int(t.rows.size) }

// start returns the first row of batch row b of a ragged tensor. The last row of b
// is the one before start(b+1).
func (t *Tensor) start(b int) int { return unsafe.Slice(t.rows.starts, t.rows.count)[b] }

// Length returns the number of rows of batch row b.
func (t *Tensor) Length(b int) int {
	switch {
	case t.IsPaged():
		return t.rows.table.Lengths[b]
	case t.IsRagged():
		return t.start(b+1) - t.start(b)
	}
	return t.grid.Shape[2]
}

// Locate returns the first and the third grid index of row l of batch row b: a page
// and a row of it if the tensor is paged.
func (t *Tensor) Locate(b, l int) (page, row int) {
	switch {
	case t.IsPaged():
		n := int(t.rows.size)
		return int(t.rows.table.Pages[b][l/n]), l % n
	case t.IsRagged():
		return 0, t.start(b) + l
	}
	return b, l
}

// Run returns how many of n ≥ 1 rows from row l on lie at equal distances: all, or
// those up to the end of a page.
func (t *Tensor) Run(l, n int) int {
	if t.rows.table == nil {
		return n
	}
	return min(n, int(t.rows.size)-l%int(t.rows.size))
}

// storage returns the grid of all of the tensor's memory.
func (t *Tensor) storage() Grid {
	g := t.grid
	switch {
	case t.IsPaged():
		g.Shape[0], g.Shape[2] = int(t.rows.count), int(t.rows.size)
	case t.IsRagged():
		g.Shape[0], g.Shape[2] = 1, max(int(t.rows.size), 0)
	}
	return g
}

// checkPages reports a paged tensor that does not fit its table.
func (t *Tensor) checkPages(arg string) *check.Failure {
	switch {
	case t.rows.size < 0:
		return t.failure(arg, "the memory of all pages, neither paged nor ragged, to make it paged")
	case t.rows.size == 0:
		return t.failure(arg, "a page size of at least 1")
	}
	wrong := func(got, want string) *check.Failure {
		return &check.Failure{Where: "the page table of " + arg, Got: got, Want: want}
	}
	pages, lengths, size := t.rows.table.Pages, t.rows.table.Lengths, int(t.rows.size)
	if len(pages) != len(lengths) {
		return wrong(fmt.Sprintf("%d lists of pages for %d lengths", len(pages), len(lengths)), "one for each")
	}
	for b, n := range lengths {
		if n == GivenBack {
			return wrong(fmt.Sprintf("batch row %d, whose sequence has been freed", b), "sequences that are in use")
		}
		if n < 0 || n > t.grid.Shape[2] {
			return wrong(fmt.Sprintf("length %d of batch row %d", n, b), fmt.Sprintf("0 to %d, the largest when the view was made", t.grid.Shape[2]))
		}
		need := n / size
		if n%size != 0 {
			need++
		}
		if len(pages[b]) < need {
			return wrong(fmt.Sprintf("%d pages for batch row %d", len(pages[b]), b), fmt.Sprintf("at least %d, for its length %d in pages of %d", need, n, size))
		}
		all := uint32(t.rows.count)
		for i, page := range pages[b][:need] {
			if uint32(page) < all {
				continue
			}
			if page == GivenBack {
				return wrong(fmt.Sprintf("page number %d of batch row %d, which its sequence has given back", i, b), "a view that was made after the sequence changed")
			}
			return wrong(fmt.Sprintf("page %d, number %d of batch row %d", page, i, b), fmt.Sprintf("0 to %d", t.rows.count-1))
		}
	}
	return nil
}

// checkRagged reports a ragged tensor with invalid starts.
func (t *Tensor) checkRagged(arg string) *check.Failure {
	wrong := func(got, want string) *check.Failure {
		return &check.Failure{Where: "the starts of " + arg, Got: got, Want: want}
	}
	switch {
	case t.rows.size < 0:
		return t.failure(arg, "one batch row of all rows, neither paged nor ragged, to make it ragged")
	case t.rows.count == 0:
		return wrong("none", "one for each batch row and the end of the last")
	case t.start(0) < 0:
		return wrong(fmt.Sprint(t.start(0)), "0 or more")
	}
	for b := range t.grid.Shape[0] {
		lo, hi := t.start(b), t.start(b+1)
		if hi < lo || hi-lo > t.grid.Shape[2] {
			return wrong(fmt.Sprintf("batch row %d from %d to %d", b, lo, hi), fmt.Sprintf("a length of 0 to %d, the largest when the view was made", t.grid.Shape[2]))
		}
	}
	if end := t.start(t.grid.Shape[0]); end > int(t.rows.size) {
		return wrong(fmt.Sprintf("the end %d", end), fmt.Sprintf("at most the number of rows, %d", t.rows.size))
	}
	return nil
}

// CheckLengths reports a tensor whose batch rows differ in length from another tensor's of the same
// batch and length.
func (t *Tensor) CheckLengths(arg string, other *Tensor, otherArg string) *check.Failure {
	if t.rows == other.rows {
		return nil
	}
	for b := range t.grid.Shape[0] {
		if got, want := t.Length(b), other.Length(b); got != want {
			return &check.Failure{Where: arg, Got: fmt.Sprintf("length %d of batch row %d", got, b), Want: fmt.Sprintf("%d as %s has it", want, otherArg)}
		}
	}
	return nil
}

// EachRow calls f for every row of a float32 tensor, batch row by batch row and head by head.
func (t *Tensor) EachRow(f func(row []float32)) {
	shape := t.Shape()
	if min(shape[0], shape[1], shape[2], shape[3]) == 0 {
		return // the other dimensions may be any numbers
	}
	for b := range shape[0] {
		for h := range shape[1] {
			for l := range t.Length(b) {
				f(t.Row(b, h, l))
			}
		}
	}
}

// CountRows returns the number of rows of batch row b, at most the shape's: of any tensor, also of
// one that is not valid, and 0 if there is no batch row b.
func (t *Tensor) CountRows(b int) int {
	if b < 0 || b >= t.grid.Shape[0] {
		return 0
	}
	n := t.grid.Shape[2]
	switch {
	case t.IsPaged() && b >= min(len(t.rows.table.Lengths), len(t.rows.table.Pages)), t.IsRagged() && b+1 >= int(t.rows.count):
		return 0
	case t.IsPaged() || t.IsRagged():
		n = min(n, t.Length(b))
	}
	return max(n, 0)
}

// Find returns the index of the first element of row (b, h, l), and whether there is such a
// row in the slice: of any tensor, also of one that is not valid.
func (t *Tensor) Find(b, h, l int) (at int, ok bool) {
	g := &t.grid
	if h < 0 || h >= g.Shape[1] || g.Shape[3] < 1 || l < 0 || l >= t.CountRows(b) {
		return 0, false
	}
	if t.IsPaged() && (t.rows.size < 1 || l/int(t.rows.size) >= len(t.rows.table.Pages[b])) {
		return 0, false
	}
	page, row := t.Locate(b, l)
	for i, n := range [3]int{page, h, row} {
		if n != 0 {
			at = ints.AddSat(at, ints.MulSat(n, g.Stride[i]))
		}
	}
	return at, at >= 0 && at <= t.Len()-g.Shape[3]
}

// Address returns the address of an element, which the slice has.
func (t *Tensor) Address(at int) unsafe.Pointer {
	if t.dtype == Float32 {
		return unsafe.Pointer(&t.f32[at])
	}
	return unsafe.Add(t.other.data, t.dtype.Bytes(at))
}

// LiesAs tells whether rows of the same numbers begin at the same elements of t and u, and so do
// their scales.
func (t *Tensor) LiesAs(u *Tensor) bool {
	if t.dtype != u.dtype || t.rows != u.rows || t.grid != u.grid || t.Len() != u.Len() || (t.scales == nil) != (u.scales == nil) {
		return false
	}
	return t.scales == nil || t.scales.LiesAs(u.scales)
}

// ScaleRows returns the scales of an Int8 or Int4 tensor as a tensor with the rows that it has,
// and the zero Tensor for another one.
func (t *Tensor) ScaleRows() Tensor {
	if t.scales == nil {
		return Tensor{}
	}
	s := *t.scales
	s.rows = t.rows
	s.grid.Shape[0], s.grid.Shape[2] = t.grid.Shape[0], t.grid.Shape[2]
	return s
}
