package kernel

import (
	"cmp"
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/position"
	"github.com/attn-go/attn/internal/view"
)

// check reports the first argument of a call that does not fit. It reads no element
// of a tensor (but page tables, lengths and ids) and writes nothing.
func (c *call) check() *check.Failure {
	if c.plainlyFits() {
		return nil
	}
	// Names and tensors in one struct would make the tensors escape.
	names := [...]string{"q", "k", "v", "out"}
	for i, t := range [...]*view.Tensor{c.q, c.k, c.v, c.out} {
		if t.DType().IsScaled() && (t == c.q || t == c.out) { // scales, which Check may miss, would not help
			return &check.Failure{Where: names[i], Got: t.Describe(), Want: view.WantFloat}
		}
		if f := t.Check(names[i]); f != nil {
			return f
		}
	}
	if !c.q.IsFloat() {
		return &check.Failure{Where: "q", Got: c.q.Describe(), Want: view.WantFloat}
	}
	if f := c.checkShapes("out"); f != nil {
		return f
	}
	if f := cmp.Or(c.out.CheckWritable("out"), c.checkOptions()); f != nil {
		return f // the checks of outputs read what it has found to fit
	}
	return c.checkOutputs()
}

// checkShapes reports a tensor that does not fit those before it. out is the name of c.out.
func (c *call) checkShapes(out string) *check.Failure {
	wrong := func(arg string, t *view.Tensor, want string, args ...any) *check.Failure {
		return &check.Failure{Where: arg, Got: t.Describe(), Want: fmt.Sprintf(want, args...)}
	}
	q, k, v := c.q.Shape(), c.k.Shape(), c.v.Shape()
	b, h, l, d, kv, keys, dv := q[0], q[1], q[2], q[3], k[1], k[2], v[3]
	switch {
	case l > position.Max:
		return wrong("q", c.q, "at most %d queries", position.Max)
	case keys > position.Max:
		return wrong("k", c.k, "at most %d keys", position.Max)
	case k[0] != b || k[3] != d:
		return wrong("k", c.k, "batch %d and head size %d as q has it", b, d)
	case kv == 0 && h != 0 || kv != 0 && h%kv != 0:
		return wrong("k", c.k, "a number of heads that divides q's %d", h)
	case v != [4]int{b, kv, keys, dv}:
		return wrong("v", c.v, "batch %d, %d heads and length %d as k has it", b, kv, keys)
	}
	if want := [4]int{b, h, l, dv}; c.out.Shape() != want {
		return wrong(out, c.out, "shape %v, q's with v's head size", want)
	}
	return cmp.Or(c.out.CheckLengths(out, c.q, "q"), c.v.CheckLengths("v", c.k, "k"))
}

// plainlyFits tells whether a call with the options of plain calls certainly passes check. If it
// does not, check decides. The checks of check take a tenth of a short call, these a fifth of that,
// as they need not say what is wrong.
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
	if !ok || !out.IsFloat() || !out.IsOrdered() || !q.IsFloat() {
		return false
	}
	for _, in := range [...]*view.Tensor{q, k, v} {
		m, ok := in.PlainMemory()
		if !ok || written.Overlaps(m) || in.Scales() != nil && written.OverlapsTensor(in) {
			return false
		}
	}
	return (h == kv || h%kv == 0) && c.checkOptions() == nil
}
