package kernel

import "github.com/attn-go/attn/internal/view"

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
// The scales of int8 and of 4 bits lie in pages like the elements. The view is [B, H, L, D], where B
// is the number of batch rows of table and L the largest of their lengths. A query of
// batch row b sees at most Lengths[b] keys, as under [KeyLengths].
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
