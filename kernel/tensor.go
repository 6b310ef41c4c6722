package kernel

import (
	"math"
	"math/bits"
)

// DType is the element type of a Tensor.
type DType uint8

// Float32 is IEEE-754 binary32, for now the only element type.
const Float32 DType = iota

// String returns the name of the element type, "float32".
func (t DType) String() string {
	if t == Float32 {
		return "float32"
	}
	return "unknown"
}

// Tensor is a strided view [B, H, L, D] (batch, heads, length, head size) of a
// slice that stays the caller's. The last dimension is contiguous, the others
// have any stride, so a slice of a larger tensor or a cache needs no copy. The
// zero Tensor is empty and no valid argument.
//
// Constructors never fail: [Attention] checks every argument and names the one
// that does not fit its slice.
type Tensor struct {
	f32    []float32
	shape  [4]int // B, H, L, D
	stride [3]int // of B, H, L, in elements
}

// BHLD is a view of a contiguous [B, H, L, D] tensor at the start of data.
func BHLD(data []float32, b, h, l, d int) Tensor {
	return Strided(data, [4]int{b, h, l, d}, [3]int{mulSat(h, mulSat(l, d)), mulSat(l, d), d})
}

// BLHD is a view of a contiguous [B, L, H, D] tensor at the start of data, the
// layout in which projections leave their heads. The Tensor's own order of
// dimensions is [B, H, L, D] as always.
func BLHD(data []float32, b, l, h, d int) Tensor {
	return Strided(data, [4]int{b, h, l, d}, [3]int{mulSat(l, mulSat(h, d)), d, mulSat(h, d)})
}

// PackedQKV returns views of the query, key and value heads in the contiguous
// output of one joint projection: [B, L, heads+2·kvHeads, D], every token's
// query heads first, then its key heads, then its value heads. With
// heads = kvHeads that is the layout [B, L, 3, H, D]. An error about k or v counts
// the elements of data from their first on.
func PackedQKV(data []float32, b, l, heads, kvHeads, d int) (q, k, v Tensor) {
	token := mulSat(addSat(heads, mulSat(2, kvHeads)), d)
	strides := [3]int{mulSat(l, token), d, token}
	view := func(first, n int) Tensor {
		at := min(max(mulSat(first, d), 0), len(data))
		return Strided(data[at:], [4]int{b, n, l, d}, strides)
	}
	return view(0, heads), view(heads, kvHeads), view(addSat(heads, kvHeads), kvHeads)
}

// Strided is a view with any strides: shape is [B, H, L, D], strides are the
// distances, in elements of data, between neighbours along B, H and L; element
// (0, 0, 0, 0) is data[0]. A stride of 0 broadcasts an input along that
// dimension; an output's elements must not overlap.
func Strided(data []float32, shape [4]int, strides [3]int) Tensor {
	return Tensor{f32: data, shape: shape, stride: strides}
}

// Shape returns the tensor's dimensions [B, H, L, D].
func (t Tensor) Shape() [4]int { return t.shape }

// Strides returns the distances between neighbours along B, H and L, in
// elements. Along D it is 1.
func (t Tensor) Strides() [3]int { return t.stride }

// DType returns the type of the tensor's elements.
func (t Tensor) DType() DType { return Float32 }

// at returns the index of element (b, h, l, 0).
func (t *Tensor) at(b, h, l int) int {
	return b*t.stride[0] + h*t.stride[1] + l*t.stride[2]
}

// row returns the elements of row (b, h, l).
func (t *Tensor) row(b, h, l int) []float32 {
	at := t.at(b, h, l)
	return t.f32[at : at+t.shape[3]]
}

// isSet tells a tensor from the zero Tensor.
func (t *Tensor) isSet() bool { return t.shape != [4]int{} || t.f32 != nil }

// extent returns the number of elements from the first to the last one that
// the view can touch, saturated at math.MaxInt. Its dimensions, and the strides
// along those of more than one, are known to be non-negative.
func (t *Tensor) extent() int {
	n := t.shape[3]
	for i, s := range t.stride {
		switch t.shape[i] {
		case 0:
			return 0
		case 1: // the stride does not matter
		default:
			n = addSat(n, mulSat(t.shape[i]-1, s))
		}
	}
	return n
}

// mulSat multiplies non-negative ints, saturated at math.MaxInt: a size that
// overflows fits no slice. A negative factor gives -1, which no check accepts.
func mulSat(a, b int) int {
	if a < 0 || b < 0 {
		return -1
	}
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi != 0 || lo > math.MaxInt {
		return math.MaxInt
	}
	return int(lo)
}

// addSat adds like mulSat multiplies.
func addSat(a, b int) int {
	switch {
	case a < 0 || b < 0:
		return -1
	case b > math.MaxInt-a:
		return math.MaxInt
	}
	return a + b
}
