package fallback

import "math"

func Log2(x float32) float32 { return float32(math.Log2(float64(x))) }
func Tanh(x float32) float32 { return float32(math.Tanh(float64(x))) }
func Softcap(s []float32, ld, n int, c, inv float32, max []float32) {
	for lane := range max {
		for j := range n {
			p := &s[j*ld+lane]
			*p = c * Tanh(float32(*p*inv))
			if *p > max[lane] {
				max[lane] = *p
			}
		}
	}
}
