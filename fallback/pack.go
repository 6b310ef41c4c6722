package fallback

// Pack transposes the rows of src that start at off into a panel of len(off)
// lanes and scales them: dst[x·ld+lane] = src[off[lane]+x]·scale, x < d. Only
// the first n lanes matter; off repeats its n-th entry after them.
func Pack(dst []float32, ld int, src []float32, off []int, n, d int, scale float32) {
	for lane, o := range off {
		for x, q := range window(src, o, d) {
			dst[x*ld+lane] = float32(q * scale)
		}
	}
}

// Unpack finishes the first n lanes of a panel and transposes them back into
// rows: dst[off[lane]+x] = src[x·ld+lane]·inv + (+0) with inv = 1/sum[lane], or
// 0 for a sum of 0. The addition turns -0 into +0. Bit lane of the result tells
// that the row holds a NaN.
func Unpack(dst []float32, off []int, src []float32, ld, n, d int, sum []float32) uint64 {
	var nans uint64
	for lane, o := range window(off, 0, n) {
		inv, row := inverse(sum[lane]), window(dst, o, d)
		for x := range row {
			y := float32(src[x*ld+lane]*inv) + 0
			row[x] = y
			if y != y {
				nans |= 1 << lane
			}
		}
	}
	return nans
}

// inverse is 1/sum, or 0 for a sum of 0: a row that saw no key.
func inverse(sum float32) float32 {
	if sum == 0 {
		return 0
	}
	return 1 / sum
}
