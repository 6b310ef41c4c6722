package fallback

import "math"

// GemmW is Gemm for tiles of w lanes, straight from its definition.
func GemmW(w int, c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, load bool) {
	for i := range m {
		for lane := range w {
			sum := c[i*ldc+lane]
			for lo := 0; ; lo += seg {
				hi := lo + min(seg, k-lo)
				var acc float32
				for x := lo; x < hi; x++ {
					acc = FMA(a[i*rs+x*cs], b[x*ldb+lane], acc)
				}
				if lo > 0 || load {
					sum += acc
				} else {
					sum = acc
				}
				if hi == k {
					break
				}
			}
			c[i*ldc+lane] = sum
		}
	}
}

// GemmMaxW is GemmMax for tiles of w lanes, straight from its definition.
func GemmMaxW(w int, c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, max []float32) {
	GemmW(w, c, ldc, a, rs, cs, b, ldb, m, k, seg, false)
	for i := range m {
		for lane := range w {
			max[lane] = larger(c[i*ldc+lane], max[lane])
		}
	}
}

// GemmMergeW is GemmMerge for tiles of w lanes, straight from its definition.
func GemmMergeW(w int, c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, alpha, beta []float32) {
	acc := make([]float32, m*w)
	GemmW(w, acc, w, a, rs, cs, b, ldb, m, k, max(k, 1), false)
	for i := range m {
		for lane := range w {
			p := &c[i*ldc+lane]
			*p = FMA(acc[i*w+lane], beta[lane], float32(*p*alpha[lane]))
		}
	}
}

// Oracle computes the attention of one head in float64 as a textbook does,
// softmax(q·kᵀ·scale)·v. Tests measure errors against it. q is [lq][d], k [lk][d],
// v [lk][dv] and out [lq][dv], all contiguous. Visible to query i are the keys [lo, hi)
// = span(i), or all if span is nil. A query without visible keys gets zeros. The last
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
