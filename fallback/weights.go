package fallback

// PanelLanes is the width of the packed panels of weights.
const PanelLanes = 48

// WeightGemm is Gemm for the lanes of a whole packed panel of weights, in segments of
// InputSegment steps. The last argument is what kernels may prefetch.
func WeightGemm(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool, _ []byte) {
	if m == 0 {
		return
	}
	for lane := 0; lane < PanelLanes; lane += Lanes {
		Gemm(c[lane:], ldc, a, rs, cs, b[min(lane, len(b)):], ldb, m, k, InputSegment, load)
	}
}

// WeightGemmF16 is WeightGemm with binary16 numbers in b.
func WeightGemmF16(c []float32, ldc int, a []float32, rs, cs int, b []uint16, ldb, m, k int, load bool, _ []byte) {
	gemmWidened(c, ldc, a, rs, cs, b, ldb, m, k, load, F16)
}

// WeightGemmBF16 is WeightGemm with bfloat16 numbers in b.
func WeightGemmBF16(c []float32, ldc int, a []float32, rs, cs int, b []uint16, ldb, m, k int, load bool, _ []byte) {
	gemmWidened(c, ldc, a, rs, cs, b, ldb, m, k, load, BF16)
}

// gemmWidened is WeightGemm on widened weights. It widens one segment of some lanes at a
// time, for all rows of a.
func gemmWidened(c []float32, ldc int, a []float32, rs, cs int, b []uint16, ldb, m, k int, load bool, widen func(uint16) float32) {
	if m == 0 {
		return
	}
	var wide [InputSegment * Lanes]float32
	for x := 0; ; x += InputSegment {
		n := min(InputSegment, k-x)
		for lane := 0; lane < PanelLanes; lane += Lanes {
			for r := range n {
				for i, h := range window(b, (x+r)*ldb+lane, Lanes) {
					wide[r*Lanes+i] = widen(h)
				}
			}
			Gemm(c[lane:], ldc, a[min(x*cs, len(a)):], rs, cs, wide[:], Lanes, m, n, InputSegment, load || x > 0)
		}
		if x+n == k {
			return
		}
	}
}

// AddBias adds bias to the first m rows of c, len(bias) wide, and replaces every NaN by
// that with the bits 0x7fc00000.
func AddBias(c []float32, ldc, m int, bias []float32) {
	for i := range m {
		for x := range window(c, i*ldc, len(bias)) {
			c[i*ldc+x] = Canonical(c[i*ldc+x] + bias[x])
		}
	}
}

// WeightPack transposes n rows of d weights into lanes of a packed panel:
// dst[x·ld+lane] = src[lane·lds+x].
func WeightPack(dst []float32, ld int, src []float32, lds, n, d int) {
	packRows(dst, ld, src, lds, n, d)
}

// WeightPackHalves is WeightPack for weights of 16 bits.
func WeightPackHalves(dst []uint16, ld int, src []uint16, lds, n, d int) {
	packRows(dst, ld, src, lds, n, d)
}

// packRows takes four rows at a time, then the rest one by one.
func packRows[E any](dst []E, ld int, src []E, lds, n, d int) {
	lane := 0
	row := func(i int) []E { return window(src, (lane+i)*lds, d) }
	for ; lane+4 <= n; lane += 4 {
		a, b, c, e := row(0), row(1), row(2), row(3)
		for x := range d {
			to := dst[x*ld+lane:][:4]
			to[0], to[1], to[2], to[3] = a[x], b[x], c[x], e[x]
		}
	}
	for ; lane < n; lane++ {
		for x, w := range row(0) {
			dst[x*ld+lane] = w
		}
	}
}
