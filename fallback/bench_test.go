package fallback

import (
	"math/rand/v2"
	"testing"
)

func BenchmarkGemm(b *testing.B) {
	const m, k = 64, 64
	r := rand.New(rand.NewPCG(1, 2))
	c, x, y := make([]float32, m*lanes), make([]float32, m*k), make([]float32, k*lanes)
	fill(r, x)
	fill(r, y)
	for b.Loop() {
		gemm(c, lanes, x, k, 1, y, lanes, m, k, k, false)
	}
	b.ReportMetric(2*float64(b.N*m*k*lanes)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

// fill fills x with multiples of 2^-23 from [-1, 1).
func fill(r *rand.Rand, x []float32) {
	for i := range x {
		x[i] = float32(r.IntN(1<<24)-1<<23) / (1 << 23)
	}
}
