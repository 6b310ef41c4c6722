package hugepages

import (
	"math"
	"runtime/debug"
	"testing"
)

// What no system has is refused, and what every system has is not.
func TestFits(t *testing.T) {
	for _, n := range []int{0, 1, certain, certain + 1, 2 * certain} {
		if !Fits(n, 1) {
			t.Errorf("%d bytes do not fit", n)
		}
	}
	// The last one is 2 GiB on 32-bit machines, which a system may have.
	refused := [][2]int{{-1, 4}, {math.MaxInt, 1}, {math.MaxInt/4 + 1, 4}, {math.MaxInt, math.MaxInt}, {math.MaxInt / 16, 15}}
	if math.MaxInt == math.MaxInt32 {
		refused = refused[:len(refused)-1]
	}
	for _, c := range refused {
		if Fits(c[0], c[1]) {
			t.Errorf("%d elements of %d bytes fit", c[0], c[1])
		}
	}
}

// What is more than the memory limit of the program is refused.
func TestFitsMemoryLimit(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(2 * certain))
	if !Fits(2*certain, 1) {
		t.Error("the memory limit does not fit")
	}
	if Fits(2*certain+1, 1) {
		t.Error("more than the memory limit fits")
	}
}
