package fallback

import (
	"github.com/attn-go/attn/internal/scalar"
)

// headScores is LaneKernels.HeadScores.
func headScores(s, k []float32, off []int, ldk int, q []float32, m, d int, max []float32) {
	w := len(max)
	for lane, at := range off {
		top := scalar.NegInf
		for j := range m {
			var acc float32
			for x, key := range window(k, at+j*ldk, d) {
				y := q[x*w+lane]
				sum := scalar.MulAdd(key, y, acc)
				if scalar.Rare(sum) {
					sum = scalar.Wide(scalar.FMA(key, y, acc))
				}
				acc = float32(sum)
			}
			s[j*w+lane] = acc
			top = scalar.Larger(acc, top)
		}
		max[lane] = top
	}
}

// headValues is SkinnyKernels.HeadValues.
func headValues(dst []float32, off []int, v []float32, offv []int, ldv int, p []float32, ldp, n, m, dv int, sum []float32) uint64 {
	var nans uint64
	for lane := range n {
		row, inv := window(dst, off[lane], dv), inverse(sum[lane])
		skinnyPV(row, dv, v[offv[lane]:], ldv, p[lane:], ldp, 1, m, dv, false, nil, 0)
		if normalise(row, row, inv) {
			nans |= 1 << lane
		}
	}
	return nans
}
