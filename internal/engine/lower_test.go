package engine

import (
	"reflect"
	"testing"

	"github.com/attn-go/attn/internal/tier"
)

// TestLowerBytes: scores of float32 keys take the kernel of the tier below if keys and values have
// more bytes.
func TestLowerBytes(t *testing.T) {
	eachTier(t, func(t *testing.T, x *tier.Tier) {
		const bytes = 4 * 2 * 64 * (32 + 32)
		c := Call{Out: floats(1, 2, 1, 32), Q: floats(1, 2, 1, 32), K: floats(1, 2, 64, 32), V: floats(1, 2, 64, 32)}
		for _, limit := range []int{0, bytes, bytes - 1} {
			tuning := x.Tuning
			tuning.LowerBytes = limit
			tuned, err := x.Tuned(tuning)
			if err != nil {
				t.Fatal(err)
			}
			want := tuned
			if lower := tuned.Lower(); lower != nil && limit == bytes-1 {
				want = lower
			}
			if got := newPlanned(tuned, c, 1).narrowFor().qkFloats; reflect.ValueOf(got).Pointer() != reflect.ValueOf(want.Skinny().QK).Pointer() {
				t.Errorf("LowerBytes=%d: scores do not take the kernel of tier %s", limit, want.Name)
			}
		}
	})
}
