package wire

import (
	"encoding/binary"
	"math"

	"github.com/attn-go/attn/kernel"
)

// AppendRows appends rows lo to hi-1 of all heads of batch row b of a tensor that is valid:
// [Heads, hi-lo, D], as in messages.
func AppendRows(dst []byte, t kernel.Tensor, b, lo, hi int) []byte {
	for h := range t.Shape()[1] {
		for l := lo; l < hi; l++ {
			dst = appendRow(dst, t, b, h, l)
		}
	}
	return dst
}

// appendRow appends the elements of row (b, h, l).
func appendRow(dst []byte, t kernel.Tensor, b, h, l int) []byte {
	switch t.DType() {
	case kernel.Float32:
		return AppendFloats(dst, kernel.Row[float32](t, b, h, l))
	case kernel.Float16:
		return appendHalves(dst, kernel.Row[kernel.F16](t, b, h, l))
	case kernel.BFloat16:
		return appendHalves(dst, kernel.Row[kernel.BF16](t, b, h, l))
	default:
		for _, x := range kernel.Row[int8](t, b, h, l) {
			dst = append(dst, byte(x))
		}
		return dst
	}
}

func appendHalves[E kernel.F16 | kernel.BF16](dst []byte, row []E) []byte {
	for _, x := range row {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(x))
	}
	return dst
}

// AppendPair appends rows lo to hi-1 of batch row b of keys and values as [Keys] has them: their
// elements, and then their scales if they are int8.
func AppendPair(dst []byte, k, v kernel.Tensor, b, lo, hi int) []byte {
	dst = AppendRows(dst, k, b, lo, hi)
	dst = AppendRows(dst, v, b, lo, hi)
	dst = AppendRows(dst, k.Scales(), b, lo, hi)
	return AppendRows(dst, v.Scales(), b, lo, hi)
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

// Holds tells whether the n elements from index at on equal src's, to the bit.
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

// Tensor returns a view of the buffer as [1, heads, rows, d], in which the rows of a head start
// stride rows after the head before it.
func (b *Buffer) Tensor(heads, rows, stride, d int) kernel.Tensor {
	shape, strides := [4]int{1, heads, rows, d}, [3]int{heads * stride * d, stride * d, d}
	switch b.kind {
	case kernel.Float32:
		return kernel.Strided(b.f32, shape, strides)
	case kernel.Float16:
		return kernel.Strided(kernel.FromBits[kernel.F16](b.u16), shape, strides)
	case kernel.BFloat16:
		return kernel.Strided(kernel.FromBits[kernel.BF16](b.u16), shape, strides)
	default:
		return kernel.Strided(b.i8, shape, strides)
	}
}

// CopyRow copies the elements from index from on to row (row, h, l) of a tensor of the buffer's
// type, which is not int8.
func (b *Buffer) CopyRow(t kernel.Tensor, row, h, l, from int) {
	switch b.kind {
	case kernel.Float32:
		copy(kernel.Row[float32](t, row, h, l), b.f32[from:])
	case kernel.Float16:
		copy(kernel.Row[kernel.F16](t, row, h, l), kernel.FromBits[kernel.F16](b.u16[from:]))
	case kernel.BFloat16:
		copy(kernel.Row[kernel.BF16](t, row, h, l), kernel.FromBits[kernel.BF16](b.u16[from:]))
	}
}
