package numbers

import (
	"math"
	"testing"
)

// TestPortable compares with what bench/peers/accuracy.py makes in numpy.
func TestPortable(t *testing.T) {
	for i, want := range []uint32{0xbf1e155e, 0x3f894672, 0x3fcc723f, 0x3f981881, 0x3f05e704} {
		if got := Portable(1, 5)[i]; math.Float32bits(got) != want {
			t.Errorf("number %d is %v, want %v", i, got, math.Float32frombits(want))
		}
	}
}
