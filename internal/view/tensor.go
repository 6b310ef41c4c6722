// Package view holds strided views of the caller's memory: plain, in pages, and
// ragged. It says where every row lies and checks that it lies within its slice.
//
// The public type kernel.Tensor is defined as a [Tensor], so that a pointer to one
// converts to a pointer to the other. Therefore Tensor has no exported field.
package view

import (
	"unsafe"

	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/ukernel"
)

// DType is the element type of a Tensor.
type DType = ukernel.Element

// The types that code below package kernel names.
const (
	Float32  = ukernel.Float32
	Float16  = ukernel.Float16
	BFloat16 = ukernel.BFloat16
	Int8     = ukernel.Int8
	Int4     = ukernel.Int4
)

// Tensor is a strided view [B, H, L, D] of a slice. See kernel.Tensor.
type Tensor struct {
	f32    []float32 // the slice of Float32
	other  raw       // the slice of another type
	dtype  DType
	grid   Grid
	scales *Tensor // of a type that has some
	rows   rows    // of a paged or ragged tensor
}

// raw is a slice of any element type. One field for all types keeps a Tensor small:
// with a slice per type, copying tensors took a tenth of the time of a small call.
type raw struct {
	data unsafe.Pointer
	n    int // elements
}

// Floats returns a view of float32.
func Floats(data []float32, shape [4]int, strides [3]int) Tensor {
	return Tensor{f32: data, grid: Grid{shape, strides}}
}

// Other returns a view of elements of type t, which is not Float32.
func Other[E ~uint16 | ~int8 | ~uint8](t DType, data []E, shape [4]int, strides [3]int) Tensor {
	n := len(data) * t.PerByte() // an E may hold several
	return Tensor{dtype: t, other: raw{unsafe.Pointer(unsafe.SliceData(data)), n}, grid: Grid{shape, strides}}
}

// FromBytes returns a view of elements of any type in memory that begins at a multiple of their
// size.
func FromBytes(t DType, data []byte, shape [4]int, strides [3]int) Tensor {
	first, n := unsafe.Pointer(unsafe.SliceData(data)), len(data)*t.PerByte()/max(1, t.Size())
	if t == Float32 {
		return Floats(unsafe.Slice((*float32)(first), n), shape, strides)
	}
	return Tensor{dtype: t, other: raw{first, n}, grid: Grid{shape, strides}}
}

// BytesOf returns the memory of s.
func BytesOf[E any](s []E) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(E))))
}

// As returns the memory as elements of another type, as many as it has whole.
func As[E any](s []byte) []E {
	return unsafe.Slice((*E)(unsafe.Pointer(unsafe.SliceData(s))), len(s)/int(unsafe.Sizeof(*new(E))))
}

// Contiguous returns the strides of a contiguous [B, H, L, D].
func Contiguous(shape [4]int) [3]int {
	d := shape[3]
	return [3]int{ints.MulSat(shape[1], ints.MulSat(shape[2], d)), ints.MulSat(shape[2], d), d}
}

// Scaled returns the view with the scales of its int8 or int4 elements.
func (t Tensor) Scaled(scales *Tensor) Tensor {
	t.scales = scales
	return t
}

// F32 returns the slice of a Float32 tensor, nil for another type.
func (t *Tensor) F32() []float32 { return t.f32 }

// Bytes returns the memory of the slice, whatever its type.
func (t *Tensor) Bytes() []byte {
	if t.dtype == Float32 {
		return BytesOf(t.f32)
	}
	return unsafe.Slice((*byte)(t.other.data), t.dtype.Bytes(t.other.n))
}

// U16 returns the bits of a Float16 or BFloat16 tensor.
func (t *Tensor) U16() []uint16 { return unsafe.Slice((*uint16)(t.other.data), t.other.n) }

// I8 returns the elements of an Int8 tensor.
func (t *Tensor) I8() []int8 { return unsafe.Slice((*int8)(t.other.data), t.other.n) }

// DType returns the element type.
func (t *Tensor) DType() DType { return t.dtype }

// Shape returns [B, H, L, D].
func (t *Tensor) Shape() [4]int { return t.grid.Shape }

// Dim returns dimension i of the shape.
func (t *Tensor) Dim(i int) int { return t.grid.Shape[i] }

// Strides returns the distances between neighbours along B, H and L, in elements.
func (t *Tensor) Strides() [3]int { return t.grid.Stride }

// Stride returns stride i.
func (t *Tensor) Stride(i int) int { return t.grid.Stride[i] }

// Scales returns the scales of an Int8 or Int4 tensor, or nil.
func (t *Tensor) Scales() *Tensor { return t.scales }

// Group returns the number of neighbours in a row of a type with scales that share one.
func (t *Tensor) Group() int { return t.grid.Shape[3] / t.scales.grid.Shape[3] }

// IsSet distinguishes a tensor from the zero Tensor.
func (t *Tensor) IsSet() bool {
	return t.dtype != Float32 || t.grid.Shape != [4]int{} || t.f32 != nil
}

// Len returns the number of elements in the slice.
func (t *Tensor) Len() int { return len(t.f32) + t.other.n }

// At returns the index of row (b, h, l) in the grid: for a paged tensor b is a page
// and l a row of it.
func (t *Tensor) At(b, h, l int) int { return t.grid.At(b, h, l) }

// Index returns the index of the first element of row (b, h, l).
func (t *Tensor) Index(b, h, l int) int {
	if !t.IsPaged() && !t.IsRagged() {
		return t.grid.At(b, h, l)
	}
	page, row := t.Locate(b, l)
	return t.grid.At(page, h, row)
}

// IsDense tells whether the tensor of n ≥ 1 elements, valid and neither paged nor ragged, has all
// of those from its first to its last, each once, in an order that IsOrdered accepts.
func (t *Tensor) IsDense(n int) bool {
	g := &t.grid
	for i, s := range g.Stride {
		n -= (g.Shape[i] - 1) * s
	}
	return n == g.Shape[3] && t.IsOrdered()
}

// IsPairs tells whether a tensor is dense and its rows are pairs of bfloat16, as words lie.
func (t *Tensor) IsPairs() bool {
	s, word := &t.grid.Shape, unsafe.Alignof(uint32(0))
	return t.dtype == BFloat16 && s[3]%2 == 0 && uintptr(t.other.data)%word == 0 && t.IsDense(s[0]*s[1]*s[2]*s[3])
}

// HasScalesInOrder tells whether a dense tensor has no scales or all in the order of its rows,
// without gaps.
func (t *Tensor) HasScalesInOrder() bool {
	s := t.scales
	if s == nil {
		return true
	}
	for i, stride := range t.grid.Stride {
		if t.grid.Shape[i] > 1 && s.grid.Stride[i]*t.Group() != stride {
			return false
		}
	}
	return true
}

// WithFloats returns a view of float32 with the shape and strides of t, a tensor without pages and
// ragged rows.
func (t *Tensor) WithFloats(data []float32) Tensor { return Tensor{f32: data, grid: t.grid} }

// Become makes t the view WithFloats returns, without a copy.
func (t *Tensor) Become(data []float32) {
	t.f32, t.other, t.dtype, t.scales = data, raw{}, Float32, nil
}

// Row returns the elements of row (b, h, l) of a float32 tensor.
func (t *Tensor) Row(b, h, l int) []float32 {
	at := t.Index(b, h, l)
	return t.f32[at : at+t.grid.Shape[3]]
}

// Rows returns the memory of n ≥ 1 rows of a float32 tensor, from row (b, h, l) on,
// including the gaps between them and nothing beyond. They must be a run, see Run.
func (t *Tensor) Rows(b, h, l, n int) []float32 {
	at := t.Index(b, h, l)
	return t.f32[at : at+(n-1)*t.grid.Stride[2]+t.grid.Shape[3]]
}

// RowScales returns the memory of the scales of n ≥ 1 rows from row (b, h, l) on, and the
// distance between rows.
func (t *Tensor) RowScales(b, h, l, n int) (scales []float32, stride int) {
	s := t.scales
	page, row := t.Locate(b, l)
	at := s.grid.At(page, h, row)
	return s.f32[at : at+(n-1)*s.grid.Stride[2]+s.grid.Shape[3]], s.grid.Stride[2]
}

// Heads returns the view of [B, 1, L, n·D] as [B, n, L, D]. If n does not divide the
// rows, or there are heads already, no check accepts the view.
func (t Tensor) Heads(n int) Tensor {
	g := &t.grid
	if n < 1 || g.Shape[1] != 1 || g.Shape[3]%n != 0 {
		g.Shape[1] = -1
		return t
	}
	g.Shape[1], g.Shape[3] = n, g.Shape[3]/n
	g.Stride[1] = g.Shape[3]
	return t
}

// IsApartFrom tells whether it is certain that t and u share no element: their ranges of memory do
// not overlap, or they interleave. Tensors interleave if there is a period, a stride of either, of
// which every longer stride of both is a multiple, and the elements of each take a part of the
// period of their own, as in a joint projection of queries, keys and values. Both tensors are
// valid.
func (t *Tensor) IsApartFrom(u *Tensor) bool {
	a, b := t.Memory(), u.Memory()
	if !a.Overlaps(b) {
		return true
	}
	for _, x := range [...]*Tensor{t, u} {
		g := x.storage()
		for i, stride := range g.Stride {
			period := x.dtype.Bytes(stride)
			if g.Shape[i] < 2 || period == 0 {
				continue
			}
			n, m := t.within(period), u.within(period)
			if n == 0 || m == 0 {
				continue
			}
			// u begins so far behind an element (·, 0) of t.
			if from := int((b.lo%uintptr(period) + uintptr(period) - a.lo%uintptr(period)) % uintptr(period)); from >= n && from+m <= period {
				return true
			}
		}
	}
	return false
}

// within returns how many bytes of each period the tensor may touch from its first element on, 0 if
// these are not the same in every period.
func (t *Tensor) within(period int) int {
	g := t.storage()
	bytes := t.dtype.Bytes
	n := bytes(g.Shape[3])
	for i, stride := range g.Stride {
		if g.Shape[i] < 2 || bytes(stride)%period == 0 {
			continue
		}
		n += (g.Shape[i] - 1) * bytes(stride)
	}
	if n > period {
		return 0
	}
	return n
}
