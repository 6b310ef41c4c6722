package fallback

// ALiBi adds a bias that falls with the distance between query and key, for n
// rows of len(max) lanes of which the first is key j0:
//
//	s[j·ld+lane] = fma(slopes[lane], -float32(|pos[lane]-(j0+j)|), s[j·ld+lane])
//
// Positions lie between 0 and 2^31-1; the distance is rounded to float32. Then
// it raises max to the largest score of every lane.
func ALiBi(s []float32, ld, j0, n int, slopes []float32, pos []int32, max []float32) {
	for j := range n {
		row := window(s, j*ld, len(max))
		for lane, m := range max {
			d := pos[lane] - int32(j0+j)
			x := FMA(slopes[lane], -float32(magnitude(d)), row[lane])
			row[lane], max[lane] = x, larger(x, m)
		}
	}
}

func magnitude(d int32) int32 {
	if d < 0 {
		return -d
	}
	return d
}
