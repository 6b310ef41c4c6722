package fallback

// MaskSpan hides scores, for n rows of len(max) lanes of which the first has number
// j0: s[j·ld+lane] stays if lo[lane] ≤ j0+j < hi[lane], else it becomes -Inf. Then it
// raises max to the largest score of every lane.
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

// MaskBool hides scores, for n rows of len(max) lanes: s[j·ld+lane] becomes -Inf
// where keep[off[lane]+j] == hidden. Then it raises max to the largest score of every
// lane.
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
