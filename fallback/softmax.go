package fallback

import (
	"github.com/attn-go/attn/internal/scalar"
)

// softmax is LaneKernels.Softmax.
func softmax(s []float32, ld, n int, max, sum []float32) {
	sum = window(sum, 0, len(max))
	clear(sum)
	for j := range n {
		row := window(s, j*ld, len(max))
		for lane, m := range max {
			p := scalar.Weight(row[lane] - orZero(m))
			row[lane] = p
			sum[lane] += p
		}
	}
}

// mergeStats is LaneKernels.MergeStats.
func mergeStats(max, sum, blockMax, blockSum, alpha, beta []float32) {
	for lane, old := range max {
		m := scalar.Larger(blockMax[lane], old)
		z := orZero(m)
		al, be := scalar.Weight(old-z), scalar.Weight(blockMax[lane]-z)
		alpha[lane], beta[lane] = al, be
		sum[lane] = scalar.FMA(blockSum[lane], be, float32(sum[lane]*al))
		max[lane] = m
	}
}

// orZero replaces the maximum -Inf of a lane that has seen no key by 0: -Inf - -Inf
// would be NaN, while weight(-Inf - 0) is 0.
func orZero(m float32) float32 {
	if m == scalar.NegInf {
		return 0
	}
	return m
}
