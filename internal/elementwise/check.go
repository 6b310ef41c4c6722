// Package elementwise runs micro-kernels over slices of float32, for the public functions over
// slices.
package elementwise

import (
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/view"
)

// check reports the first argument that does not fit the function. It sets the number of rows.
func (f *Function) check(c *Call) *check.Failure {
	like, name := c.Slices[f.Like], f.Args[f.Like]
	if f.Size == "" {
		c.Size = 1
	}
	if c.Size < 1 {
		return &check.Failure{Where: f.Size, Got: fmt.Sprint(c.Size), Want: "at least 1"}
	}
	if len(like)%c.Size != 0 {
		return &check.Failure{Where: name, Got: fmt.Sprintf("length %d", len(like)), Want: fmt.Sprintf("a multiple of %s, %d", f.Size, c.Size)}
	}
	c.Rows = len(like) / c.Size
	for i, arg := range f.Args {
		x, n, times := c.Slices[i], len(like), ""
		if f.Times[i] > 1 {
			n, times = n*f.Times[i], fmt.Sprintf("%d times ", f.Times[i])
		}
		if len(x) != n {
			return &check.Failure{Where: arg, Got: fmt.Sprintf("length %d", len(x)), Want: fmt.Sprintf("length %d, %sthat of %s", n, times, name)}
		}
	}
	for i := range f.Outputs {
		if bad := f.checkMemory(c, i); bad != nil {
			return bad
		}
	}
	return nil
}

// checkMemory reports output i if it shares memory with another one, or with an input that it must not be or is
// in part.
func (f *Function) checkMemory(c *Call, i int) *check.Failure {
	m := view.MemoryOf(c.Slices[i])
	for k, arg := range f.Args {
		other := view.MemoryOf(c.Slices[k])
		place := k >= f.Outputs && !f.Apart
		switch {
		case k == i || !m.Overlaps(other) || place && m == other:
		case place:
			return &check.Failure{Where: f.Args[i], Got: "memory that overlaps a part of " + arg, Want: arg + " itself, or memory of its own"}
		default:
			return &check.Failure{Where: f.Args[i], Got: "memory that overlaps " + arg, Want: "memory of its own"}
		}
	}
	return nil
}
