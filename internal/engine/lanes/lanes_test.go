package lanes

import (
	"testing"

	"github.com/attn-go/attn/internal/view"
)

// TestOffsets: every lane has the row that its number within the KV head says, by each
// way to ask for it, and lanes after the last row have that.
func TestOffsets(t *testing.T) {
	const batch, heads, queries, d, width = 2, 6, 5, 3, 8
	x := view.Floats(make([]float32, batch*heads*queries*d), [4]int{batch, heads, queries, d}, [3]int{heads * queries * d, d, heads * d})
	for _, group := range []int{1, 2, 3} {
		for first := range group * queries {
			for n := 1; n <= min(width, group*queries-first); n++ {
				var r Rows
				h := Head{Batch: 1, Head: heads/group - 1}
				r.Place(h, first, n, group, width)
				off, parts, from := make([]int, width), make([]int, width), make([]int, width)
				r.Offsets(off, &x, 0)
				r.Offsets(parts, &x, 2)
				r.OffsetsFrom(from, &x, r.GroupHead*x.Stride(1))
				start := x.Index(1, h.Head*group, r.Query)
				count := 0
				r.EachLane(func(lane, head, query int) {
					row := first + min(lane, n-1)
					want := x.Index(1, h.Head*group+row%group, row/group)
					if head != h.Head*group+row%group || query != row/group || r.QueryOf(lane) != query {
						t.Errorf("group %d, rows %d+%d: lane %d is query %d of head %d", group, first, n, lane, query, head)
					}
					if off[lane] != want || parts[lane] != want+2 || from[lane]+start != want || lane < n && r.Index(&x, lane) != want {
						t.Errorf("group %d, rows %d+%d: lane %d starts at %d, %d-2 and %d+%d, want %d", group, first, n, lane, off[lane], parts[lane], from[lane], start, want)
					}
					count++
				})
				if count != width || r.LastQuery() != (first+n-1)/group {
					t.Errorf("group %d, rows %d+%d: %d lanes, the last query is %d", group, first, n, count, r.LastQuery())
				}
			}
		}
	}
}

// TestStartsThatChange: starts of a ragged tensor that lead out of its slice are no
// offsets.
func TestStartsThatChange(t *testing.T) {
	starts := []int{0, 2, 4}
	x := view.Floats(make([]float32, 4*3), [4]int{1, 1, 4, 3}, [3]int{0, 0, 3}).Ragged(starts)
	var r Rows
	r.Place(Head{Batch: 1}, 0, 2, 1, 4)
	off := make([]int, 4)
	r.Offsets(off, &x, 0)
	starts[1] = 3
	defer func() {
		if recover() == nil {
			t.Errorf("offsets %v in 12 elements", off)
		}
	}()
	r.Offsets(off, &x, 0)
}
