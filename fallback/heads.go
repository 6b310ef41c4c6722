package fallback

import (
	"math"

	"github.com/attn-go/attn/internal/scalar"
)

// headScores computes m rows of scores, w = len(max) lanes wide, of lanes that have keys of their
// own, and sets max to the largest of every lane:
//
//	s[j·w+lane] = fma(k[off[lane]+j·ldk+x], q[x·w+lane], acc), x = 0..d-1 ascending, from +0
//
// d is a multiple of 8, at most contract.ColumnSegment. A NaN is ignored by max.
func headScores(s, k []float32, off []int, ldk int, q []float32, m, d int, max []float32) {
	w := len(max)
	for lane, at := range off {
		top := float32(math.Inf(-1))
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

// headValues computes the rows of the output of n lanes that have values of their own,
// normalised, and returns the set of lanes that hold a NaN:
//
//	o                = fma(p[j·ldp+lane], v[offv[lane]+j·ldv+e], acc), j = 0..m-1 ascending, from +0
//	dst[off[lane]+e] = o·inv + (+0), e < dv, inv = 1/sum[lane], or 0 for a sum of 0
func headValues(dst []float32, off []int, v []float32, offv []int, ldv int, p []float32, ldp, n, m, dv int, sum []float32) uint64 {
	var nans uint64
	for lane := range n {
		row, inv := window(dst, off[lane], dv), inverse(sum[lane])
		skinnyPV(row, dv, v[offv[lane]:], ldv, p[lane:], ldp, 1, m, dv, false, nil, 0)
		for e, o := range row {
			row[e] = float32(o*inv) + 0
			if row[e] != row[e] {
				nans |= 1 << lane
			}
		}
	}
	return nans
}
