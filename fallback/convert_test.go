package fallback

import (
	"math"
	"testing"
)

// TestWidenInt8All scales all integers by numbers that overflow, underflow and
// round.
func TestWidenInt8All(t *testing.T) {
	src := make([]int8, 256)
	for i := range src {
		src[i] = int8(i - 128)
	}
	dst := make([]float32, len(src))
	for _, scale := range []float32{0, 1, -1, 1.0 / 3, 0x1.fffffep-126, 0x1p-149, 0x1.8p-147, 0x1.fffffep127, float32(math.Inf(1)), float32(math.NaN())} {
		widenInt8(dst, 0, src, 0, []float32{scale}, 0, 256, 1, 256)
		for i, got := range dst {
			want := float32(float64(src[i]) * float64(scale)) // exact before it is rounded
			if got != want && want == want || (got != got) != (want != want) {
				t.Errorf("%d·%v is %v, want %v", src[i], scale, got, want)
			}
		}
	}
}
