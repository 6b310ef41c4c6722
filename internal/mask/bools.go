package mask

import (
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/view"
)

// A BoolView is a strided view [B, H, Lq, Lk] of bools. If it is shorter than the keys of
// a call, the keys after it are hidden.
type BoolView struct {
	Data   []bool
	Grid   view.Grid
	Hidden bool // true hides
	Exact  bool // there must be exactly one bool for each key, or the view does not fit
}

// check reports a view that does not fit scores of shape c.
func (v *BoolView) check(c *view.Scores) *check.Failure {
	if v.Exact {
		if f := v.checkExact(c); f != nil {
			return f
		}
	}
	_, f := v.Grid.Broadcast(Arg, len(v.Data), c)
	return f
}

// checkExact reports a contiguous view that does not hold one bool for each key in each
// of its rows. It leaves a wrong number of rows to Broadcast.
func (v *BoolView) checkExact(c *view.Scores) *check.Failure {
	shape := v.Grid.Shape
	rows := 1
	for i, n := range [...]int{c.Batch, c.Heads, c.Queries} {
		if shape[i] != 1 && shape[i] != n {
			return nil
		}
		rows = ints.MulSat(rows, shape[i])
	}
	switch want := ints.MulSat(rows, c.Keys); {
	case len(v.Data) != want:
		return &check.Failure{Where: Arg, Got: fmt.Sprintf("%d elements for the shape [%d %d %d Lk]", len(v.Data), shape[0], shape[1], shape[2]),
			Want: fmt.Sprintf("%d: the call has Lk = %d keys", want, c.Keys)}
	case rows > 0 && shape[3] != c.Keys:
		return &check.Failure{Where: Arg, Got: fmt.Sprintf("the shape %v", shape), Want: fmt.Sprintf("Lk = %d, the number of keys", c.Keys)}
	}
	return nil
}
