package scalar

import (
	"math/rand/v2"
	"testing"
)

func BenchmarkFMA(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	x := make([]float32, 1024)
	fill(r, x)
	var acc float32
	for b.Loop() {
		for i := range x {
			acc = FMA(x[i], x[len(x)-1-i], acc)
		}
	}
	sink = acc
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N*len(x)), "ns/fma")
}

func BenchmarkExp2(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 3))
	x := make([]float32, 1024)
	fill(r, x)
	var sum float32
	for b.Loop() {
		for _, x := range x {
			sum += Exp2(8 * (x - 1))
		}
	}
	sink = sum
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N*len(x)), "ns/exp2")
}

// sink keeps the compiler from dropping what is measured.
var sink float32

// fill fills x with multiples of 2^-23 from [-1, 1).
func fill(r *rand.Rand, x []float32) {
	for i := range x {
		x[i] = float32(r.IntN(1<<24)-1<<23) / (1 << 23)
	}
}
