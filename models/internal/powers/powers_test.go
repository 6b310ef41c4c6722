package powers

import (
	"math"
	"math/big"
	"testing"

	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
)

// TestRoot: the n-th power of a root is the number, to more digits than a float64 has.
func TestRoot(t *testing.T) {
	for _, x := range []float64{1, 2, 10000, 500000, 1 << 32, 0x1p64} {
		for _, n := range []int{1, 2, 3, 32, 64, 128} {
			power, root := Number(1), Root(x, n)
			for range n {
				power.Mul(power, root)
			}
			off := new(big.Float).Sub(power, Number(x))
			if off.Abs(off).Cmp(Number(x*0x1p-200)) > 0 {
				t.Errorf("root %d of %v: its power is off by %v", n, x, off)
			}
		}
	}
}

// TestLog: logarithms are near math.Log's, and have bits that were recorded on amd64.
func TestLog(t *testing.T) {
	for _, x := range []float64{0x1p-1000, 1e-9, 0.05, 0.5, 0.75, 1 - 0x1p-53, 1, 1 + 0x1p-52, 1.5, 2, math.E, 10, 10000, 1e6, 0x1p1000} {
		got, want := Log(x), math.Log(x)
		if !(math.Abs(got-want) <= 0x1p-50*max(1, math.Abs(want))) {
			t.Errorf("Log(%v) is %v, want %v", x, got, want)
		}
	}
	for x, want := range map[float64]uint64{0.05: 0xc007f7427b73e391, 500000: 0x402a3ea669a05c01, 8192: 0x402205966f2b4f12} {
		if got := math.Float64bits(Log(x)); got != want {
			t.Errorf("Log(%v) has the bits %#x, want %#x", x, got, want)
		}
	}
}
