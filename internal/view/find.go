package view

import (
	"unsafe"

	"github.com/attn-go/attn/internal/ints"
)

// CountRows returns the number of rows of batch row b, at most that of the shape: of any
// tensor, also of one that is not valid, and 0 if there is no batch row b.
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

// Address returns the address of an element, which is one of the slice.
func (t *Tensor) Address(at int) unsafe.Pointer {
	if t.dtype == Float32 {
		return unsafe.Pointer(&t.f32[at])
	}
	return unsafe.Add(t.other.data, t.dtype.Bytes(at))
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
