package fallback

import "math"

// log2E is log2 e as the contract has it.
var log2E = math.Float32frombits(0x3fb8aa3b)

// Bias adds a bias, given in natural units, to n rows of len(max) scores:
//
//	s[j·ld+lane] = fma(src[off[lane]+j], log2 e, s[j·ld+lane])
//
// A bias of -Inf makes the score -Inf, whatever it was. Then it raises max to
// the largest score of every lane.
func Bias(s []float32, ld, n int, src []float32, off []int, max []float32) {
	for lane, m := range max {
		for j, b := range window(src, off[lane], n) {
			x := b
			if b != negInf {
				x = FMA(b, log2E, s[j*ld+lane])
			}
			s[j*ld+lane] = x
			m = larger(x, m)
		}
		max[lane] = m
	}
}
