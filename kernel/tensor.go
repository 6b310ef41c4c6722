package kernel

import (
	"math"
	"math/bits"
	"unsafe"
)

// Tensor is a strided view [B, H, L, D] (batch, heads, length, head size) of a
// slice that stays the caller's. The last dimension is contiguous, the others
// have any stride, so a slice of a larger tensor or a cache needs no copy. The
// zero Tensor is empty and no valid argument.
//
// The elements are float32, [F16], [BF16] or int8 with scales, see Tensor.Scaled.
//
// Keys and values may lie in pages, see Tensor.Paged.
// Batch rows of different lengths may follow one another, see Tensor.Ragged.
//
// Constructors never fail: [Attention] checks every argument and names the one
// that does not fit its slice.
type Tensor struct {
	f32   []float32 // the slice of Float32
	other slice     // or of another type
	dtype DType
	grid
	scales *Tensor // of Int8
	paging
}

// A slice is one of any type. A call copies its tensors more than once, and three
// slices of three types would cost small calls a tenth of their time.
type slice struct {
	data unsafe.Pointer
	n    int // elements
}

func sliceOf[E any](s []E) slice { return slice{unsafe.Pointer(unsafe.SliceData(s)), len(s)} }

// u16 returns the bits of Float16 and BFloat16.
func (t *Tensor) u16() []uint16 { return unsafe.Slice((*uint16)(t.other.data), t.other.n) }

// i8 returns the elements of Int8.
func (t *Tensor) i8() []int8 { return unsafe.Slice((*int8)(t.other.data), t.other.n) }

// A grid says where the rows of a view lie in its slice.
type grid struct {
	shape  [4]int // B, H, L, D
	stride [3]int // of B, H, L, in elements
}

// BHLD is a view of a contiguous [B, H, L, D] tensor at the start of data.
func BHLD[E Element](data []E, b, h, l, d int) Tensor {
	return Strided(data, [4]int{b, h, l, d}, [3]int{mulSat(h, mulSat(l, d)), mulSat(l, d), d})
}

// BLHD is a view of a contiguous [B, L, H, D] tensor at the start of data, the
// layout in which projections leave their heads. The Tensor's own order of
// dimensions is [B, H, L, D] as always.
func BLHD[E Element](data []E, b, l, h, d int) Tensor {
	return Strided(data, [4]int{b, h, l, d}, [3]int{mulSat(l, mulSat(h, d)), d, mulSat(h, d)})
}

// PackedQKV returns views of the query, key and value heads in the contiguous
// output of one joint projection: [B, L, heads+2·kvHeads, D], every token's
// query heads first, then its key heads, then its value heads. With
// heads = kvHeads that is the layout [B, L, 3, H, D]. An error about k or v counts
// the elements of data from their first on.
func PackedQKV[E Element](data []E, b, l, heads, kvHeads, d int) (q, k, v Tensor) {
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
func Strided[E Element](data []E, shape [4]int, strides [3]int) Tensor {
	t := Tensor{grid: grid{shape, strides}}
	switch data := any(data).(type) {
	case []float32:
		t.f32 = data
	case []F16:
		t.dtype, t.other = Float16, sliceOf(data)
	case []BF16:
		t.dtype, t.other = BFloat16, sliceOf(data)
	case []int8:
		t.dtype, t.other = Int8, sliceOf(data)
	}
	return t
}

// Scaled returns the view of int8 elements with scales: element (b, h, l, d) is
// the number float32(element)·scale, rounded once. The scales are a float32 tensor
// [B, H, L or longer, G]; G divides D, and each of the G scales of a row is for D/G
// elements that follow one another:
//
//	G = 1      one scale for a row
//	G = D/32   one for 32 elements, as in ggml's Q8_0
//
// Scales may have any strides, so that with strides of 0 a head, or all of the
// tensor, has one scale. Any float32 is a valid scale. [QuantizeInt8] makes both
// from float32. The tensor of the scales is not copied: that of a cache can be
// made once, for all that the cache has room for.
func (t Tensor) Scaled(scales *Tensor) Tensor {
	t.scales = scales
	return t
}

// Shape returns the tensor's dimensions [B, H, L, D].
func (t Tensor) Shape() [4]int { return t.shape }

// Strides returns the distances between neighbours along B, H and L, in
// elements. Along D it is 1. Those of a paged tensor are the distances of pages, of heads
// and of neighbours within a page.
func (t Tensor) Strides() [3]int { return t.stride }

// DType returns the type of the tensor's elements.
func (t Tensor) DType() DType { return t.dtype }

// len returns the number of elements in the tensor's slice.
func (t *Tensor) len() int { return len(t.f32) + t.other.n }

// at returns the index of element (b, h, l, 0).
func (g *grid) at(b, h, l int) int {
	return b*g.stride[0] + h*g.stride[1] + l*g.stride[2]
}

// row returns the elements of row (b, h, l) of a float32 tensor.
func (t *Tensor) row(b, h, l int) []float32 {
	at := t.at(b, h, l)
	return t.f32[at : at+t.shape[3]]
}

// isSet tells a tensor from the zero Tensor.
func (t *Tensor) isSet() bool {
	return t.dtype != Float32 || t.shape != [4]int{} || t.f32 != nil
}

// extent returns the number of elements from the first to the last one that
// the view can touch, saturated at math.MaxInt. Its dimensions, and the strides
// along those of more than one, are known to be non-negative.
func (g *grid) extent() int {
	n := g.shape[3]
	for i, s := range g.stride {
		switch g.shape[i] {
		case 0:
			return 0
		case 1: // the stride does not matter
		default:
			n = addSat(n, mulSat(g.shape[i]-1, s))
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
