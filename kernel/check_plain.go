package kernel

import "github.com/attn-go/attn/internal/view"

// plainlyFits tells whether a call with float32 tensors and the options of plain calls certainly
// passes check. If it does not, check decides. Checks that need not say what is wrong take a fifth
// of the time, and those of check take a tenth of a short call.
func (c *call) plainlyFits() bool {
	if !c.isPlain {
		return false
	}
	q, k, v, out := c.q, c.k, c.v, c.out
	b, h, kv := q.Dim(0), q.Dim(1), k.Dim(1)
	if k.Dim(0) != b || v.Dim(0) != b || out.Dim(0) != b || v.Dim(1) != kv || out.Dim(1) != h ||
		out.Dim(2) != q.Dim(2) || v.Dim(2) != k.Dim(2) || k.Dim(3) != q.Dim(3) || out.Dim(3) != v.Dim(3) {
		return false
	}
	written, ok := out.PlainMemory()
	if !ok || !out.IsOrdered() {
		return false
	}
	for _, in := range [...]*view.Tensor{q, k, v} {
		if m, ok := in.PlainMemory(); !ok || written.Overlaps(m) {
			return false
		}
	}
	return (h == kv || h%kv == 0) && c.checkOptions() == nil
}
