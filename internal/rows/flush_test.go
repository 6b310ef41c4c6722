package rows

import (
	"math"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/scalar"
)

// TestFlushHalves: all numbers of 16 bits, at all places of a word.
func TestFlushHalves(t *testing.T) {
	for _, c := range []struct {
		name  string
		flush func(x []uint16)
		zero  func(h uint16) bool
	}{
		{"bfloat16", FlushBF16, func(h uint16) bool { return math.Abs(float64(scalar.BF16(h))) < 0x1p-126 }},
		{"binary16", FlushF16, func(h uint16) bool { return scalar.F16(h) == 0 }},
	} {
		for shift := range 4 {
			x := make([]uint16, 1<<16+shift)
			for i := range x {
				x[i] = uint16(i - shift)
			}
			want := slices.Clone(x)
			for i, h := range want {
				if c.zero(h) {
					want[i] = 0
				}
			}
			c.flush(x)
			if !slices.Equal(x, want) {
				t.Errorf("%s, shifted by %d: tiny numbers are left, or others are not what they were", c.name, shift)
			}
		}
		for at := range 70 { // -0 alone
			x := slices.Repeat([]uint16{0x3f80}, 70)
			want := slices.Clone(x)
			x[at], want[at] = 0x8000, 0
			if c.flush(x); !slices.Equal(x, want) {
				t.Errorf("%s: -0 at %d becomes %#x", c.name, at, x[at])
			}
		}
	}
}
