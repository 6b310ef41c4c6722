package kernel

import (
	"unsafe"

	"github.com/attn-go/attn/internal/view"
)

// A PageTable says which pages hold the keys, or the values, of every batch row: the
// block table of vLLM and FlashInfer. Pages may be in any order, and several rows may
// share some.
type PageTable struct {
	// Pages lists the pages of every batch row in the order of its keys. A list may be
	// longer than its row needs; the rest is not read.
	Pages [][]int32

	// Lengths holds the number of keys of every batch row. Pages after them, and the
	// rest of the last page, are never read.
	Lengths []int
}

// Paged returns a view of keys or values that lie in pages. t is the memory of all
// pages, [pages, H, page size, D], of any element type and with any strides:
//
//	BHLD(data, pages, heads, size, d)   FlashInfer's HND
//	BLHD(data, pages, size, heads, d)   FlashInfer's NHD
//	Strided                             anything else, such as pages of keys and values in turn
//
// The scales of int8 and of 4 bits lie in pages like the elements. The view is [B, H, L, D], where
// B is the number of batch rows of table and L the largest of their lengths. A query of batch row b
// sees at most Lengths[b] keys, as under [KeyLengths].
//
// Only k and v can be paged. Any page size is valid; 16 and more are fast. The table
// is not copied: a cache has one for all layers, for keys and values.
//
// Keys and values give the same bits whether they lie in pages or not.
func (t Tensor) Paged(table *PageTable) Tensor {
	return Tensor(view.Tensor(t).Paged((*view.PageTable)(table)))
}

// Ragged is a view of sequences of different lengths that follow one another: packed
// tokens [ΣL, heads, D] at the start of data. Batch row b is tokens starts[b] up to
// starts[b+1], as in the cumulative lengths of FlashAttention. starts has one entry
// more than there are batch rows; the first may be above 0. The view is
// [B, heads, L, D], where L is the largest length.
//
// [Tensor.Ragged] does the same for any other layout.
func Ragged[E Element](data []E, starts []int, heads, d int) Tensor {
	rows := 0
	if n := len(starts); n > 0 {
		rows = max(starts[n-1], 0)
	}
	return BLHD(data, 1, rows, heads, d).Ragged(starts)
}

// Ragged returns a view of sequences of different lengths that follow one another in
// t, [1, H, rows, D], of any element type and with any strides. Batch row b is rows
// starts[b] up to starts[b+1], so starts has one entry more than there are batch
// rows. Scales have the rows of the elements. The slice is not copied: it
// must not change during the call.
//
// The view is [B, H, L, D], where L is the largest length. Every batch row is a
// sequence of its own: its queries and keys count from 0, and the rows after its last
// one belong to its neighbour and are neither read nor written for it. In a call of
// [Attention]
//
//   - the queries, or the keys and values, or all of them may be ragged;
//   - out, LSE, Weights and Scores have the lengths of q, so they are ragged if q is
//     (the last two with as many columns as the longest row has keys); v has the
//     lengths of k;
//   - masks and biases count queries and keys up to L; what they say after the end of a
//     row does not matter.
//
// A row has the bits of a call with its sequence alone.
func (t Tensor) Ragged(starts []int) Tensor { return Tensor(view.Tensor(t).Ragged(starts)) }

// Row returns row (b, h, l) of t, also if t is paged or ragged: D elements of the slice that t is a
// view of, or D/2 of Int4x2. It is nil if t has no such row, or elements of another type than E.
func Row[E Element](t Tensor, b, h, l int) []E {
	v, like := t.view(), viewOf[E](nil, [4]int{}, [3]int{})
	at, ok := v.Find(b, h, l)
	if !ok || v.DType() != like.DType() {
		return nil
	}
	return unsafe.Slice((*E)(v.Address(at)), v.Dim(3)/v.DType().PerByte())
}

// Length returns the number of rows of batch row b. It is L, or less if t is paged or ragged and
// another batch row is longer. It is 0 if there is no batch row b.
func (t Tensor) Length(b int) int { return t.view().CountRows(b) }

// Scales returns the scales of int8 or int4 elements as a tensor [B, H, L, G] with the rows of t,
// also if these lie in pages or follow one another. It is the zero Tensor if t has no scales.
func (t Tensor) Scales() Tensor { return Tensor(t.view().ScaleRows()) }

// IsZero tells whether t is the zero Tensor, which stands for an option that is not used.
func (t Tensor) IsZero() bool { return !t.view().IsSet() }

// IsPaged tells whether the rows of t lie in pages, see [Tensor.Paged].
func (t Tensor) IsPaged() bool { return t.view().IsPaged() }

// Overlaps tells whether t and u share memory: whether one begins, with its first element or
// scale, before the other ends.
func (t Tensor) Overlaps(u Tensor) bool {
	v, w := t.view(), u.view()
	if s := v.Scales(); s != nil && s.Memory().OverlapsTensor(w) {
		return true
	}
	return v.Memory().OverlapsTensor(w)
}

// Check returns an [*Error] about the argument called arg if no call can work with t,
// as it is not valid by itself: its slice is too short, its page table does not fit, it lacks
// scales, and so on. For functions that check all of their arguments before they begin.
func (t Tensor) Check(arg string) error {
	if f := t.view().Check(arg); f != nil {
		return (*Error)(f)
	}
	return nil
}

// CheckOutput is Check for a tensor that a function writes. It must be float32, float16 or
// bfloat16, must not be paged, and no two of its elements may share an address.
func (t Tensor) CheckOutput(arg string) error {
	v := t.view()
	f := v.Check(arg)
	if f == nil {
		f = v.CheckWritable(arg)
	}
	if f == nil {
		return nil
	}
	return (*Error)(f)
}
