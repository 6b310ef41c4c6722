package wire

import (
	"encoding/binary"
	"math"

	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// AppendRows appends rows lo to hi-1 of all heads of batch row b of a tensor that is valid:
// [Heads, hi-lo, D], as in messages.
func AppendRows(dst []byte, t *kernel.Tensor, b, lo, hi int) []byte {
	x := (*view.Tensor)(t)
	for h := range x.Dim(1) {
		for l := lo; l < hi; l++ {
			dst = appendElements(dst, x, x.Index(b, h, l))
		}
	}
	return dst
}

// appendElements appends the row of x that starts at index at.
func appendElements(dst []byte, x *view.Tensor, at int) []byte {
	d := x.Dim(3)
	switch x.DType() {
	case view.Float32:
		dst = AppendFloats(dst, x.F32()[at:at+d])
	case view.Int8:
		for _, e := range x.I8()[at : at+d] {
			dst = append(dst, byte(e))
		}
	default:
		for _, e := range x.U16()[at : at+d] {
			dst = binary.LittleEndian.AppendUint16(dst, e)
		}
	}
	return dst
}

// appendScales appends the scales of rows lo to hi-1 of all heads of batch row b of an int8
// tensor that is valid; other tensors have none.
func appendScales(dst []byte, t *kernel.Tensor, b, lo, hi int) []byte {
	x := (*view.Tensor)(t)
	if x.Scales() == nil {
		return dst
	}
	for h := range x.Dim(1) {
		for l := lo; l < hi; l++ {
			row, _ := x.RowScales(b, h, l, 1)
			dst = AppendFloats(dst, row)
		}
	}
	return dst
}

// AppendPair appends rows lo to hi-1 of batch row b of keys and values as [Keys] has them.
func AppendPair(dst []byte, k, v *kernel.Tensor, b, lo, hi int) []byte {
	dst = AppendRows(dst, k, b, lo, hi)
	dst = AppendRows(dst, v, b, lo, hi)
	dst = appendScales(dst, k, b, lo, hi)
	return appendScales(dst, v, b, lo, hi)
}

// Buffer is memory for elements of one type.
type Buffer struct {
	kind kernel.DType
	f32  []float32
	u16  []uint16
	i8   []int8
}

// NewBuffer returns memory for n elements, which are zeros.
func NewBuffer(t kernel.DType, n int) Buffer {
	b := Buffer{kind: t}
	switch t {
	case kernel.Float32:
		b.f32 = make([]float32, n)
	case kernel.Int8:
		b.i8 = make([]int8, n)
	default:
		b.u16 = make([]uint16, n)
	}
	return b
}

// Clone returns a copy in memory of its own.
func (b *Buffer) Clone() Buffer {
	return Buffer{b.kind, append([]float32(nil), b.f32...), append([]uint16(nil), b.u16...), append([]int8(nil), b.i8...)}
}

// Put writes n elements of src from index at on.
func (b *Buffer) Put(at, n int, src []byte) {
	switch b.kind {
	case kernel.Float32:
		Floats(b.f32[at:at+n], src)
	case kernel.Int8:
		for i, e := range src[:n] {
			b.i8[at+i] = int8(e)
		}
	default:
		for i := range n {
			b.u16[at+i] = binary.LittleEndian.Uint16(src[2*i:])
		}
	}
}

// Holds tells whether the n elements from index at on are those of src, to the bit.
func (b *Buffer) Holds(at, n int, src []byte) bool {
	for i := range n {
		same := false
		switch b.kind {
		case kernel.Float32:
			same = math.Float32bits(b.f32[at+i]) == binary.LittleEndian.Uint32(src[4*i:])
		case kernel.Int8:
			same = b.i8[at+i] == int8(src[i])
		default:
			same = b.u16[at+i] == binary.LittleEndian.Uint16(src[2*i:])
		}
		if !same {
			return false
		}
	}
	return true
}

// Tensor returns a view of the buffer as [1, heads, rows, d], in which the rows of a head
// start stride rows after those of the one before.
func (b *Buffer) Tensor(heads, rows, stride, d int) kernel.Tensor {
	shape, strides := [4]int{1, heads, rows, d}, [3]int{heads * stride * d, stride * d, d}
	switch b.kind {
	case kernel.Float32:
		return kernel.Strided(b.f32, shape, strides)
	case kernel.Float16:
		return kernel.Strided(kernel.OfBits[kernel.F16](b.u16), shape, strides)
	case kernel.BFloat16:
		return kernel.Strided(kernel.OfBits[kernel.BF16](b.u16), shape, strides)
	default:
		return kernel.Strided(b.i8, shape, strides)
	}
}

// CopyRow copies a row from index from of the buffer to index to of a tensor of its type.
func (b *Buffer) CopyRow(t *view.Tensor, to, from int) {
	d := t.Dim(3)
	if b.kind == kernel.Float32 {
		copy(t.F32()[to:to+d], b.f32[from:])
	} else {
		copy(t.U16()[to:to+d], b.u16[from:])
	}
}
