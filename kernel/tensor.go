package kernel

import (
	"fmt"

	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/view"
)

// Tensor is a strided view [B, H, L, D] (batch, heads, length, head size) of a slice
// that stays the caller's. The last dimension is contiguous and the others have any
// stride, so that a part of a larger tensor or of a cache needs no copy.
//
// The elements are float32, [F16] or [BF16]. Keys and values may also be [F8E4M3], [F8E5M2], or
// int8 or [Int4x2] with scales, see Tensor.Scaled. Keys and values may lie in pages, see
// Tensor.Paged. Batch rows of different lengths may follow one another, see Tensor.Ragged.
//
// All numbers of rows, heads and positions are ints; page numbers, of which there are many, are
// int32.
//
// Constructors never fail: the call that a Tensor is passed to checks it and names
// the argument that does not fit its slice. The zero Tensor is empty and no valid
// argument.
type Tensor view.Tensor

// BHLD is a view of a contiguous [B, H, L, D] tensor at the start of data.
func BHLD[E Element](data []E, b, h, l, d int) Tensor {
	shape := [4]int{b, h, l, d}
	return Strided(data, shape, view.Contiguous(shape))
}

// BLHD is a view of a contiguous [B, L, H, D] tensor at the start of data, the layout
// in which projections leave their heads. The order of the Tensor's own dimensions is
// [B, H, L, D], as always.
func BLHD[E Element](data []E, b, l, h, d int) Tensor {
	token := ints.MulSat(h, d)
	return Strided(data, [4]int{b, h, l, d}, [3]int{ints.MulSat(l, token), d, token})
}

// PackedQKV returns views of the query, key and value heads in the contiguous output of one joint
// projection, [B, L, heads+2·kvHeads, D]: of every token first its query heads, then its key heads,
// then its value heads. With heads = kvHeads that is the layout [B, L, 3, H, D]. An error about k
// or v counts the elements of data from the start of k or v.
func PackedQKV[E Element](data []E, b, l, heads, kvHeads, d int) (q, k, v Tensor) {
	token := ints.MulSat(ints.AddSat(heads, ints.MulSat(2, kvHeads)), d)
	strides := [3]int{ints.MulSat(l, token), d, token}
	like := viewOf[E](nil, [4]int{}, [3]int{})
	part := func(first, n int) Tensor {
		at := min(max(ints.MulSat(first, d)/like.DType().PerByte(), 0), len(data))
		return Strided(data[at:], [4]int{b, n, l, d}, strides)
	}
	return part(0, heads), part(heads, kvHeads), part(ints.AddSat(heads, kvHeads), kvHeads)
}

// Strided is a view with any strides. shape is [B, H, L, D]; strides are the distances between
// neighbours along B, H and L, in elements (of [Int4x2], in numbers of 4 bits); element (0, 0, 0,
// 0) is the first of data[0]. A stride of 0 broadcasts an input along its dimension. The elements
// of an output must not overlap.
func Strided[E Element](data []E, shape [4]int, strides [3]int) Tensor {
	return Tensor(viewOf(data, shape, strides))
}

// Scaled returns the view of int8 or int4 elements with scales: element (b, h, l, d) is the
// number float32(element)·scale, rounded once. The scales are a float32 tensor
// [B, H, L or longer, G]. G divides D, and each of the G scales of a row belongs to
// D/G neighbouring elements:
//
//	G = 1      one scale per row
//	G = D/32   one per 32 elements, as in ggml's Q8_0 and Q4_0
//
// Scales may have any strides; with strides of 0, a head or the whole tensor has one scale. Any
// float32 is a valid scale. numeric.QuantizeInt8 and QuantizeInt4 make elements and scales from
// float32. The tensor of the scales is not copied: for a cache it can be made once, for all that
// the cache has room for. That is why it is passed by pointer: a view with a copy of it would
// allocate, and views are made for each call.
func (t Tensor) Scaled(scales *Tensor) Tensor {
	return Tensor(view.Tensor(t).Scaled((*view.Tensor)(scales)))
}

// Shape returns the dimensions [B, H, L, D].
func (t Tensor) Shape() [4]int { return t.view().Shape() }

// Strides returns the distances between neighbours along B, H and L, in elements. Along D it is 1.
// A paged tensor has the distances of pages, of heads, and of neighbours within a page.
func (t Tensor) Strides() [3]int { return t.view().Strides() }

// DType returns the type of the elements.
func (t Tensor) DType() DType { return DType(t.view().DType()) }

// String returns the element type, the shape and the strides, not the elements.
func (t Tensor) String() string {
	v := t.view()
	if !v.IsSet() {
		return "empty tensor"
	}
	return fmt.Sprintf("%s %s", v.DType(), v.Layout())
}

// view returns t as what it is defined as.
func (t *Tensor) view() *view.Tensor { return (*view.Tensor)(t) }
