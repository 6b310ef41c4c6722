package mask

import "github.com/attn-go/attn/internal/view"

// A BoolView is a strided view [B, H, Lq, Lk] of bools.
type BoolView struct {
	Data   []bool
	Grid   view.Grid
	Hidden bool // true hides
}
