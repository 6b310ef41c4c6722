package gobytes

import (
	"math"
	"testing"

	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
)

// points returns numbers of both signs: some where the sigmoid is steep, and some for which
// an exponential underflows or would overflow.
func points() []float32 {
	x := []float32{0, float32(math.Copysign(0, -1)), 1e-40, -1e-40, 87, -87, 89, -89, 200, -200, math.MaxFloat32, -math.MaxFloat32, float32(math.Inf(1))}
	for i := -400; i <= 400; i++ {
		x = append(x, float32(i)/20)
	}
	return x
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// near tells whether got is within some units in the last place of want. There are more
// units for a larger |x|, as the rounding error of x·log2(e) grows with it. If want is below
// the normal float32 numbers, got may be 0.
func near(x, got float32, want float64) bool {
	units := 4 + min(128, math.Abs(float64(x)))
	return math.Abs(float64(got)-want) <= units*(0x1p-23*math.Abs(want)+0x1p-125)
}

func TestSiLU(t *testing.T) {
	x := points()
	x = x[:len(x)-1]
	up := make([]float32, len(x))
	for i := range up {
		up[i] = float32(i%7) - 3
	}
	got := append([]float32(nil), x...)
	if err := silu(got, up, make([]float32, len(got))); err != nil {
		t.Fatal(err)
	}
	for i, x := range x {
		want := float64(x) * sigmoid(float64(x)) * float64(up[i])
		if math.Abs(want) < math.MaxFloat32 && !near(x, got[i], want) {
			t.Errorf("silu(%v)·%v = %v, want %v", x, up[i], got[i], want)
		}
	}
}
