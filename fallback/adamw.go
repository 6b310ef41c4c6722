package fallback

import (
	"math"

	"github.com/attn-go/attn/internal/scalar"
)

// adamW is Elementwise.AdamW. A new m, v or w that is subnormal is +0.
func adamW(w, g, m, v []float32, keep, gain1, beta2, gain2, root, epsilon, rate float32) {
	g, m, v = g[:len(w)], m[:len(w)], v[:len(w)]
	for e, g := range g {
		mean := m[e] + float32(gain1*(g-m[e]))
		square := float32(beta2*v[e]) + float32(float32(gain2*g)*g)
		mean, square = scalar.Flush(mean, scalar.LeastNormal), scalar.Flush(square, scalar.LeastNormal)
		m[e], v[e] = mean, square
		d := float32(math.Sqrt(float64(square)))/root + epsilon
		w[e] = scalar.Flush(float32(w[e]*keep)-float32(rate*(mean/d)), scalar.LeastNormal)
	}
}
