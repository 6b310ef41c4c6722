package contracttest

import (
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// Ragged returns a ragged copy of t with the first lengths[b] rows of every batch row,
// which begin at row start, or t itself if there are no lengths. What lies before the
// first row is canaries.
func Ragged(t kernel.Tensor, lengths []int, start int) kernel.Tensor {
	to, starts := Packed(t, lengths, start)
	if starts == nil {
		return t
	}
	return to.Ragged(starts)
}

// Packed returns what Ragged makes a view of: a tensor [1, H, rows, D], and the starts
// of the batch rows. Without lengths it returns t and nil.
func Packed(t kernel.Tensor, lengths []int, start int) (to kernel.Tensor, starts []int) {
	if lengths == nil {
		return t, nil
	}
	starts = []int{start}
	for b, n := range lengths {
		starts = append(starts, starts[b]+n)
	}
	v, shape := View(&t), t.Shape()
	h, rows, d := shape[1], starts[len(lengths)], shape[3]
	to = As(kernel.BLHD(testutil.Filled(rows*h*d, Canary), 1, rows, h, d), t.DType())
	if s := v.Scales(); s != nil {
		scales := kernel.BLHD(testutil.Filled(rows*h*s.Dim(3), testutil.NaN), 1, rows, h, s.Dim(3))
		to = to.Scaled(&scales)
	}
	for b, n := range lengths {
		for h := range h {
			for l := range n {
				CopyRow(&to, 0, h, starts[b]+l, &t, b, h, l)
			}
		}
	}
	return to, starts
}

// CopyRow copies row (fromB, fromH, fromL) of a tensor, with its scales, to row (b, h, l) of a
// tensor of the same type. Both are neither paged nor ragged.
func CopyRow(to *kernel.Tensor, b, h, l int, from *kernel.Tensor, fromB, fromH, fromL int) {
	v, w := View(to), View(from)
	d, at, src := v.Dim(3), v.At(b, h, l), w.At(fromB, fromH, fromL)
	bytes := v.DType().Bytes
	copy(v.Bytes()[bytes(at):bytes(at+d)], w.Bytes()[bytes(src):])
	if v.Scales() != nil {
		scales, fromScales := kernel.Tensor(*v.Scales()), kernel.Tensor(*w.Scales())
		CopyRow(&scales, b, h, l, &fromScales, fromB, fromH, fromL)
	}
}
