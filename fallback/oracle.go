package fallback

import "math"

// Oracle computes the attention of one head in float64 as a textbook does,
// softmax(q·kᵀ·scale)·v. Tests measure errors against it. q is [lq][d], k [lk][d],
// v [lk][dv] and out [lq][dv], all contiguous. Visible to query i are the keys
// [lo, hi) = span(i), or all if span is nil. A query without visible keys gets zeros. The last
// bits of the result depend on the architecture.
func Oracle(out []float64, q, k, v []float32, lq, lk, d, dv int, scale float64, span func(i int) (lo, hi int)) {
	weights := make([]float64, lk)
	for i := range lq {
		lo, hi := 0, lk
		if span != nil {
			lo, hi = span(i)
		}
		row := out[i*dv : (i+1)*dv]
		clear(row)

		top := math.Inf(-1)
		for j := lo; j < hi; j++ {
			var s float64
			for x := range d {
				s += float64(q[i*d+x]) * float64(k[j*d+x])
			}
			weights[j] = s * scale
			top = math.Max(top, weights[j])
		}
		var sum float64
		for j := lo; j < hi; j++ {
			weights[j] = math.Exp(weights[j] - top)
			sum += weights[j]
		}
		for j := lo; j < hi; j++ {
			for x := range dv {
				row[x] += weights[j] / sum * float64(v[j*dv+x])
			}
		}
	}
}
