package view

import "unsafe"

// The race detector sees what Go code reads and writes, and nothing of assembly. So a call
// announces, when it begins, what its kernels will read and write: a program that writes to
// an input during a call, or reads an output, gets a report as if the kernels were Go.
//
// What a call does not touch, such as keys that no query sees, is not announced: the program
// may write to it. Callers test Races first, so that other builds spend nothing.

// An Access is a read or a write.
type Access bool

const (
	Read  Access = false
	Write Access = true
)

// Announce announces an access to all elements of s.
func Announce[E any](a Access, s []E) {
	if n := len(s) * int(unsafe.Sizeof(*new(E))); n > 0 {
		announce(a, unsafe.Pointer(unsafe.SliceData(s)), n)
	}
}

// A Dim is a dimension of memory that is announced: N elements or rows, Stride elements
// apart.
type Dim struct{ N, Stride int }

// AnnounceGrid announces an access to rows of width elements that begin at s[0] and lie
// along two dimensions. Memory without gaps is one range.
func AnnounceGrid[E any](a Access, s []E, width int, x, y Dim) {
	if len(s) > 0 {
		announceGrid(a, unsafe.Pointer(unsafe.SliceData(s)), int(unsafe.Sizeof(*new(E))), width, x, y)
	}
}

// announceGrid is AnnounceGrid for elements of size bytes at p.
func announceGrid(a Access, p unsafe.Pointer, size, width int, inner, outer Dim) {
	for _, d := range [...]*Dim{&inner, &outer} {
		if d.Stride == 0 {
			d.N = min(d.N, 1) // all rows are one
		}
	}
	if inner.Stride > outer.Stride {
		inner, outer = outer, inner
	}
	if inner.Stride == width {
		width, inner.N = width*inner.N, min(inner.N, 1)
	}
	if inner.N == 1 && outer.Stride == width {
		width, outer.N = width*outer.N, min(outer.N, 1)
	}
	if width == 0 {
		return
	}
	for i := range outer.N {
		for j := range inner.N {
			announce(a, unsafe.Add(p, (i*outer.Stride+j*inner.Stride)*size), width*size)
		}
	}
}

// AnnounceRows announces an access to rows lo to hi-1 of all heads of batch row b, and to
// their scales. The tensor is valid.
func (t *Tensor) AnnounceRows(a Access, b, lo, hi int) {
	for n := 0; lo < hi; lo += n {
		n = t.Run(lo, hi-lo)
		page, row := t.Locate(b, lo)
		for _, x := range [...]*Tensor{t, t.scales} {
			if x != nil {
				g, bytes := &x.grid, x.dtype.Bytes
				announceGrid(a, x.Address(g.At(page, 0, row)), 1, bytes(g.Shape[3]), Dim{t.grid.Shape[1], bytes(g.Stride[1])}, Dim{n, bytes(g.Stride[2])})
			}
		}
	}
}

// AnnounceAll announces an access to all rows of a valid tensor, if it is set.
func (t *Tensor) AnnounceAll(a Access) {
	if shape := t.Shape(); !t.IsSet() || min(shape[0], shape[1], shape[2]) == 0 {
		return
	}
	for b := range t.Dim(0) {
		t.AnnounceRows(a, b, 0, t.Length(b))
	}
}

// AnnounceRow announces an access to a row of one head, and to its scales.
func (t *Tensor) AnnounceRow(a Access, b, h, l int) {
	t.AnnouncePart(a, b, h, l, 0, t.Dim(3))
	if t.scales != nil {
		s := t.ScaleRows()
		s.AnnouncePart(a, b, h, l, 0, s.Dim(3))
	}
}

// AnnouncePart announces an access to elements lo to hi-1 of a row.
func (t *Tensor) AnnouncePart(a Access, b, h, l, lo, hi int) {
	if lo < hi {
		announce(a, t.Address(t.Index(b, h, l)+lo), t.dtype.Bytes(hi-lo))
	}
}
