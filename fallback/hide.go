package fallback

// MaskBool hides scores, for n rows of len(max) lanes: s[j·ld+lane] becomes -Inf
// where keep[off[lane]+j] == hidden and stays elsewhere. Then it raises max to
// the largest score of every lane.
func MaskBool(s []float32, ld, n int, keep []bool, off []int, hidden bool, max []float32) {
	for lane, m := range max {
		for j, k := range window(keep, off[lane], n) {
			x := &s[j*ld+lane]
			if k == hidden {
				*x = negInf
			}
			m = larger(*x, m)
		}
		max[lane] = m
	}
}
