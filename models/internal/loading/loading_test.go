package loading

import (
	"slices"
	"testing"

	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
)

// TestMeter: reports go from 0 to all, whatever is left out or counted twice, and a nil Meter is
// silent.
func TestMeter(t *testing.T) {
	for _, c := range []struct{ add, want []int64 }{
		{nil, []int64{0, 10}}, {[]int64{4, 6}, []int64{0, 4, 10}}, {[]int64{4}, []int64{0, 4, 10}}, {[]int64{8, 8}, []int64{0, 8, 10}},
	} {
		var got []int64
		m := New(10, func(done, total int64) {
			if total != 10 {
				t.Errorf("total %d", total)
			}
			got = append(got, done)
		})
		for _, n := range c.add {
			m.Add(n)
		}
		if m.End(); !slices.Equal(got, c.want) {
			t.Errorf("%d: %d, want %d", c.add, got, c.want)
		}
	}
	New(10, nil).Add(1)
	var none *Meter
	none.Add(1)
	none.End()
}
