package ropescaling

import (
	"math"
	"testing"

	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
)

// Frequencies have the bits of exact powers, rounded.
func TestFrequencies(t *testing.T) {
	ones := make([]float64, 64)
	for i := range ones {
		ones[i] = 1
	}
	for i, x := range Frequencies(1<<32, 64, ones) { // powers of 2
		if want := math.Ldexp(1, -i); x != want {
			t.Errorf("frequency %d is %v, want %v", i, x, want)
		}
	}
	for i, x := range Frequencies(500000, 128, ones) {
		if want := math.Pow(500000, -float64(i)/64); math.Abs(x/want-1) > 1e-15 {
			t.Errorf("frequency %d is %v, want %v", i, x, want)
		}
	}
}
