package contracttest

import (
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/view"
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
	var scales kernel.Tensor
	if s := v.Scales(); s != nil {
		scales = kernel.BLHD(testutil.Filled(rows*h*s.Dim(3), testutil.NaN), 1, rows, h, s.Dim(3))
		to = to.Scaled(&scales)
	}
	for b, n := range lengths {
		for h := range h {
			for l := range n {
				copyRow(View(&to), v, h, starts[b]+l, b, l)
				if s := v.Scales(); s != nil {
					copyRow(View(&scales), s, h, starts[b]+l, b, l)
				}
			}
		}
	}
	return to, starts
}

// copyRow copies row (b, h, l) of a tensor to row (0, h, row) of one of the same type.
func copyRow(to, from *view.Tensor, h, row, b, l int) {
	d, at, src := to.Dim(3), to.At(0, h, row), from.At(b, h, l)
	switch to.DType() {
	case view.Float32:
		copy(to.F32()[at:at+d], from.F32()[src:])
	case view.Int8:
		copy(to.I8()[at:at+d], from.I8()[src:])
	default:
		copy(to.U16()[at:at+d], from.U16()[src:])
	}
}
