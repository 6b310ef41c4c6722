package fallback

import "math"

var negInf = float32(math.Inf(-1))

// MaskSpan hides scores, for n rows of len(max) lanes of which the first is number
// j0: s[j·ld+lane] stays if lo[lane] ≤ j0+j < hi[lane] and becomes -Inf
// otherwise. Then it raises max to the largest score of every lane.
func MaskSpan(s []float32, ld, j0, n int, lo, hi []int32, max []float32) {
	for j := range n {
		row := window(s, j*ld, len(max))
		for lane, m := range max {
			if key := j0 + j; key < int(lo[lane]) || key >= int(hi[lane]) {
				row[lane] = negInf
			}
			max[lane] = larger(row[lane], m)
		}
	}
}

// Softmax turns n rows of len(max) scores into weights, exp2(s - max[lane]), in
// place and writes their sums, from +0 in the order of the rows. In a lane
// whose max is -Inf the weights are 0, except those of NaN.
func Softmax(s []float32, ld, n int, max, sum []float32) {
	sum = window(sum, 0, len(max))
	clear(sum)
	for j := range n {
		row := window(s, j*ld, len(max))
		for lane, m := range max {
			p := Exp2(row[lane] - finite(m))
			row[lane] = p
			sum[lane] += p
		}
	}
}

// MergeStats merges the statistics of a block into the running ones and returns in
// alpha and beta the factors that do the same to the output: per lane
//
//	m = max(blockMax, max), z = m with 0 for -Inf
//	alpha = exp2(max - z), beta = exp2(blockMax - z)
//	sum = fma(blockSum, beta, sum·alpha), max = m
//
// A side that has seen no key (-Inf, sum 0) changes nothing in the other.
func MergeStats(max, sum, blockMax, blockSum, alpha, beta []float32) {
	for lane, old := range max {
		m := larger(blockMax[lane], old)
		z := finite(m)
		al, be := Exp2(old-z), Exp2(blockMax[lane]-z)
		alpha[lane], beta[lane] = al, be
		sum[lane] = FMA(blockSum[lane], be, float32(sum[lane]*al))
		max[lane] = m
	}
}

// finite replaces the maximum of a lane that has seen no key: -Inf - -Inf would
// be NaN, while -Inf - 0 gives the weight 0.
func finite(m float32) float32 {
	if m == negInf {
		return 0
	}
	return m
}

// window returns the n elements of s that start at at. Unlike s[at:at+n] alone it
// panics if they reach past the length of s, not only past its capacity. None
// may be anywhere.
func window[T any](s []T, at, n int) []T {
	if n == 0 {
		return nil
	}
	return s[:len(s):len(s)][at : at+n]
}
