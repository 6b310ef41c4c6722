package fallback

// pack is LaneKernels.Pack.
func pack(dst []float32, ld int, src []float32, off []int, n, d int, scale float32) {
	for lane, o := range off {
		for x, q := range window(src, o, d) {
			dst[x*ld+lane] = float32(q * scale)
		}
	}
}

// unpack is LaneKernels.Unpack.
func unpack(dst []float32, off []int, src []float32, ld, n, d int, sum []float32) uint64 {
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

// inverse returns 1/sum, or 0 for a sum of 0, which is that of a row that has seen no
// key.
func inverse(sum float32) float32 {
	if sum == 0 {
		return 0
	}
	return 1 / sum
}
