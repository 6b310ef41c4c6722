package network

import (
	"math"
	"testing"
)

// TestOpenNaN: the inputs of a convolution, which states keep, have no NaN but the contract's.
func TestOpenNaN(t *testing.T) {
	inf, payload := float32(math.Inf(1)), math.Float32frombits(0xffc12345)
	in := []float32{inf, payload, 2, 0, 0, 0, 0, 1, float32(math.Copysign(0, -1))}
	if err := open(nil, thirds{in: in, w: 3}, 0, 1); err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint32{0x7fc00000, 0x7fc00000, 0x80000000} {
		if got := math.Float32bits(in[i]); got != want {
			t.Errorf("input %d is %08x, want %08x", i, got, want)
		}
	}
}
