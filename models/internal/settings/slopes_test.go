package settings

import (
	"math"
	"testing"
)

// TestSlopes: slopes of ALiBi are the powers of 2^(-8/n), as the paper has them for any number of
// heads.
func TestSlopes(t *testing.T) {
	for heads := 1; heads <= 40; heads++ {
		n := 1
		for 2*n <= heads {
			n *= 2
		}
		all := slopes(heads)
		if len(all) != heads {
			t.Fatalf("%d heads have %d slopes", heads, len(all))
		}
		for i, got := range all {
			power := -8 * float64(i+1) / float64(n)
			if i >= n {
				power = -8 * float64(2*(i-n)+1) / float64(2*n)
			}
			if want := math.Exp2(power); math.Abs(float64(got)/want-1) > 1e-6 {
				t.Errorf("head %d of %d: %v, want %v", i, heads, got, want)
			}
		}
	}
}
