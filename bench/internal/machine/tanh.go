package machine

import (
	"time"

	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/stats"
	"github.com/attn-go/attn/numeric"
)

// TanhProbe returns a function that measures how many nanoseconds a tier needs for one
// tanh, in a loop over a slice in L1 that computes nothing else.
func TanhProbe(tier string) func() float64 {
	tanh := vectorTanh(tier)
	if tanh == nil {
		tanh = func(dst, src []float32) {
			for i, x := range src {
				dst[i] = numeric.Tanh(x)
			}
		}
	}
	src := numbers.Normals(2048)
	dst := make([]float32, len(src))
	return func() float64 {
		const calls = 20
		times := make([]float64, calls)
		for i := range times {
			start := time.Now()
			tanh(dst, src)
			times[i] = float64(time.Since(start).Nanoseconds()) / float64(len(src))
		}
		return stats.Median(times)
	}
}
