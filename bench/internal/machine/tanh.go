package machine

import (
	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/stats"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// TanhProbe returns a function that measures how many nanoseconds of a tier one tanh takes, in a
// loop over a slice in L1 that computes nothing else. With several threads at once, these are
// nanoseconds for each tanh of all threads together.
func TanhProbe(tier kernel.Tier) func(threads int) float64 {
	tanh := vectorTanh(tier)
	if tanh == nil {
		tanh = func(dst, src []float32) {
			for i, x := range src {
				dst[i] = numeric.Tanh(x)
			}
		}
	}
	src := numbers.Normals(2048)
	return func(threads int) float64 {
		const rounds, calls = 5, 20
		dst := make([][]float32, threads)
		for i := range dst {
			dst[i] = make([]float32, len(src))
		}
		times := make([]float64, rounds)
		for i := range times {
			took := together(threads, func(thread int) {
				for range calls {
					tanh(dst[thread], src)
				}
			})
			times[i] = float64(took.Nanoseconds()) / float64(calls*threads*len(src))
		}
		return stats.Median(times)
	}
}
