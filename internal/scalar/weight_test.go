package scalar

import (
	"math"
	"testing"

	"github.com/attn-go/attn/contract"
)

// TestWeightBF16: rounded weights are the weights, rounded, for all numbers around the limit and
// some others.
func TestWeightBF16(t *testing.T) {
	const limit = contract.LeastWeightBF16
	check := func(bits uint32) {
		x := math.Float32frombits(bits)
		if got, want := WeightBF16(x), RoundBF16(Weight(x)); math.Float32bits(got) != math.Float32bits(want) {
			t.Fatalf("x = %v (%#x): got %v, want %v", x, bits, got, want)
		}
	}
	for bits := uint32(limit - 1000); bits < limit+1000; bits++ {
		check(bits)
	}
	step := uint32(1009)
	if testing.Short() {
		step *= 100
	}
	for bits := uint32(1 << 31); bits < math.Float32bits(-102); bits += step {
		check(bits)
	}
	if x := math.Float32frombits(limit); WeightBF16(x) != 0x1p-56 || WeightBF16(math.Nextafter32(x, -100)) != 0 || WeightBF16(NegInf) != 0 || !math.IsNaN(float64(WeightBF16(NaN))) {
		t.Error("the limit, -Inf or NaN")
	}
}
