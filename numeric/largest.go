package numeric

import (
	"fmt"

	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// Argmax returns the index of the largest number of x, the first of several that are equal: the
// most probable token of a model's logits. A NaN counts as less than any number. The result is
// -1 if x is empty or all of it is NaN.
func Argmax(x []float32) int {
	best := -1
	for i, v := range x {
		if v == v && (best < 0 || v > x[best]) {
			best = i
		}
	}
	return best
}

// TopK writes the indices of the len(dst) largest numbers of x to dst, the largest first, and of
// equal numbers the one with the smaller index first. A NaN counts as less than any number. It
// takes time in proportion to len(x), and to len(dst) for each of x that is among the largest
// so far: it is meant for a few, up to some hundred.
//
// If dst is longer than x the error is a [*kernel.Error], and dst is untouched.
func TopK(dst []int, x []float32) error {
	if len(dst) > len(x) {
		return &kernel.Error{Where: "numeric.TopK: dst", Got: fmt.Sprintf("length %d", len(dst)), Want: fmt.Sprintf("at most %d, the length of x", len(x))}
	}
	if view.MemoryOf(dst).Overlaps(view.MemoryOf(x)) {
		return &kernel.Error{Where: "numeric.TopK: dst", Got: "memory that overlaps x", Want: "memory of its own"}
	}
	k := len(dst)
	if k == 0 {
		return nil
	}
	n := 0 // found so far
	for i, v := range x {
		if n == k && !before(v, x[dst[k-1]]) {
			continue
		}
		at := min(n, k-1)
		for ; at > 0 && before(v, x[dst[at-1]]); at-- {
			dst[at] = dst[at-1]
		}
		dst[at] = i
		n = min(n+1, k)
	}
	return nil
}

// before tells whether v comes before w, which has a smaller index, among the largest numbers.
func before(v, w float32) bool { return v > w || w != w && v == v }
