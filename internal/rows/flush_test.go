package rows

import (
	"math"
	"slices"
	"testing"
)

// TestFlushBF16: all numbers, at all places of a word.
func TestFlushBF16(t *testing.T) {
	for shift := range 4 {
		x := make([]uint16, 1<<16+shift)
		for i := range x {
			x[i] = uint16(i - shift)
		}
		want := slices.Clone(x)
		for i, h := range want {
			if a := math.Abs(float64(math.Float32frombits(uint32(h) << 16))); a < 0x1p-126 {
				want[i] = 0
			}
		}
		FlushBF16(x)
		if !slices.Equal(x, want) {
			t.Errorf("shifted by %d: subnormal numbers are left, or others are not what they were", shift)
		}
	}
}
