package kernel

import (
	"fmt"
	"unsafe"
)

// Ragged is a view of sequences of different lengths that follow one another, packed
// tokens [ΣL, heads, D] at the start of data: batch row b is tokens starts[b] up to
// starts[b+1], as the cumulative lengths of FlashAttention have it. starts has one entry
// more than there are batch rows; the first may be above 0. The view is
// [B, heads, L, D], where L is the largest length.
//
// See [Tensor.Ragged], which does the same to any other layout.
func Ragged[E Element](data []E, starts []int, heads, d int) Tensor {
	rows := 0
	if n := len(starts); n > 0 {
		rows = max(starts[n-1], 0)
	}
	return BLHD(data, 1, rows, heads, d).Ragged(starts)
}

// Ragged returns a view of sequences of different lengths that follow one another in t,
// [1, H, rows, D], of any element type and with any strides: batch row b is rows
// starts[b] up to starts[b+1], so that starts has one entry more than there are batch
// rows. Scales of int8 have the rows of the elements. The slice is not copied: it must
// not change during the call.
//
// The view is [B, H, L, D], where L is the largest length. Every batch row is a sequence
// by itself: its queries and keys count from 0, and rows beyond its length are
// those of a neighbour and neither read nor written for it. In a call of [Attention]
//
//   - queries, or keys and values, or all of them may be ragged;
//   - out, LSE, Weights and Scores have the lengths of q, so that they are ragged if q
//     is (the last two with as many columns as the longest row has keys); v has those of k;
//   - masks and biases count queries and keys up to L, and what they say beyond a
//     row's own length does not matter.
//
// A row's bits are those of a call with its sequence alone.
func (t Tensor) Ragged(starts []int) Tensor {
	size := t.shape[2]
	if t.shape[0] != 1 || t.isPaged() || t.isRagged() {
		size = -1 // what t is not; see checkRagged
	}
	t.paging = paging{count: clampInt32(len(starts)), size: clampInt32(size), starts: &noStarts}
	if len(starts) > 0 {
		t.starts = unsafe.SliceData(starts)
	}
	t.shape[0], t.shape[2] = max(len(starts)-1, 0), 0
	for b := 1; b < len(starts); b++ {
		t.shape[2] = max(t.shape[2], starts[b]-starts[b-1])
	}
	return t
}

// noStarts is where the starts of a ragged tensor without any are.
var noStarts int

// isRagged tells whether the tensor's batch rows are parts of one.
func (t *Tensor) isRagged() bool { return t.starts != nil }

// start returns the row that batch row b of a ragged tensor starts with; its last row
// ends where batch row b+1 starts.
func (t *Tensor) start(b int) int { return unsafe.Slice(t.starts, t.count)[b] }

// index returns the index of the first element of row (b, h, l).
func (t *Tensor) index(b, h, l int) int {
	if !t.isPaged() && !t.isRagged() {
		return t.at(b, h, l)
	}
	page, row := t.locate(b, l)
	return t.at(page, h, row)
}

// checkRagged reports a ragged tensor whose starts are not valid.
func (t *Tensor) checkRagged(name string) error {
	wrong := func(got, want string) error {
		return &ArgumentError{"the starts of " + name, got, want}
	}
	switch {
	case t.size < 0:
		return &ArgumentError{name, t.describe(), "one batch row of all rows, neither paged nor ragged, to make it ragged"}
	case t.count == 0:
		return wrong("none", "one for each batch row and the end of the last")
	case t.start(0) < 0:
		return wrong(fmt.Sprint(t.start(0)), "0 or more")
	}
	for b := range t.shape[0] {
		lo, hi := t.start(b), t.start(b+1)
		if hi < lo || hi-lo > t.shape[2] {
			return wrong(fmt.Sprintf("batch row %d from %d to %d", b, lo, hi), fmt.Sprintf("a length of 0 to %d, the largest when the view was made", t.shape[2]))
		}
	}
	if end := t.start(t.shape[0]); end > int(t.size) {
		return wrong(fmt.Sprintf("the end %d", end), fmt.Sprintf("at most the number of rows, %d", t.size))
	}
	return nil
}

// checkLengths reports a tensor whose batch rows differ in length from those of
// another; both have the same shape.
func (t *Tensor) checkLengths(name string, other *Tensor, otherName string) error {
	if t.paging == other.paging {
		return nil
	}
	for b := range t.shape[0] {
		if got, want := t.length(b), other.length(b); got != want {
			return &ArgumentError{name, fmt.Sprintf("length %d of batch row %d", got, b), fmt.Sprintf("%d as %s has it", want, otherName)}
		}
	}
	return nil
}
