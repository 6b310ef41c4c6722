package kvrows

import (
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/engine/lanes"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/view"
)

// TestToBytes: offsets that fit an int of 32 bits in bytes are right there, too.
func TestToBytes(t *testing.T) {
	for _, x := range []struct {
		dtype          view.DType
		elements, want int
	}{{view.Float32, 1 << 27, 1 << 29}, {view.Float32, 3 << 27, 3 << 29}, {view.BFloat16, 3 << 28, 3 << 29}, {view.Int8, 1<<31 - 1, 1<<31 - 1}, {view.Int4, 1<<31 - 2, 1<<30 - 1}} {
		off := []int{0, x.elements}
		if toBytes(off, x.dtype); off[0] != 0 || off[1] != x.want {
			t.Errorf("%v: %d elements begin at %v, want %d", x.dtype, x.elements, off, x.want)
		}
	}
}

// TestPathIsWalkedOnce: a reader keeps the path of a query, for pieces and heads after the first one, until the next call.
func TestPathIsWalkedOnce(t *testing.T) {
	const keys, past = 40, 30
	shape := [4]int{2, 2, keys, 4}
	x := view.Floats(make([]float32, 2*2*keys*4), shape, view.Contiguous(shape))
	s := Rows{Parents: make(view.Parents, 2*(keys-past)), Queries: keys - past, QueryStart: []int{past}}
	tree := func(b int, parents ...int32) { copy(s.Parents[b*s.Queries:], parents) }
	var r Reader
	r.Fit(new(parallel.Memory), &x, Need{Listed: true, Path: s.Queries})
	for _, want := range [][]int32{{30, 32, 33, 36}, {30, 31, 36}} {
		tree(0, -1, 0, 0, 2, 3, -1, want[len(want)-2]-past)
		tree(1, -1, -1, -1, -1, -1, -1, -1)
		r.Begin(nil, &x, &s)
		r.list.head = lanes.Head{Query: 6}
		if got := r.list.from(&x, past, 9); !slices.Equal(got, want) {
			t.Errorf("path %v, want %v", got, want)
		}
		tree(0, 9, 9, 9, 9, 9, 9, 9) // a walk would panic
		r.list.head.Head = 1
		if got := r.list.from(&x, past+2, 1); !slices.Equal(got, want[2:3]) {
			t.Errorf("a piece of the path %v, want %v", got, want[2:3])
		}
		r.list.head.Batch = 1
		if got := r.list.from(&x, past, 9); !slices.Equal(got, []int32{36}) {
			t.Errorf("path %v in batch row 1, want [36]", got)
		}
	}
}
