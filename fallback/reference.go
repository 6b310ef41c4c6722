package fallback

// GemmW is Gemm for tiles of w lanes, straight from its definition.
func GemmW(w int, c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool) {
	for i := range m {
		for lane := range w {
			var acc float32
			if load {
				acc = c[i*ldc+lane]
			}
			for x := range k {
				acc = FMA(a[i*rs+x*cs], b[x*ldb+lane], acc)
			}
			c[i*ldc+lane] = acc
		}
	}
}

// GemmMaxW is GemmMax for tiles of w lanes, straight from its definition.
func GemmMaxW(w int, c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, max []float32) {
	GemmW(w, c, ldc, a, rs, cs, b, ldb, m, k, false)
	for i := range m {
		for lane := range w {
			max[lane] = larger(c[i*ldc+lane], max[lane])
		}
	}
}

// GemmMergeW is GemmMerge for tiles of w lanes, straight from its definition.
func GemmMergeW(w int, c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, alpha, beta []float32) {
	acc := make([]float32, m*w)
	GemmW(w, acc, w, a, rs, cs, b, ldb, m, k, false)
	for i := range m {
		for lane := range w {
			p := &c[i*ldc+lane]
			*p = FMA(acc[i*w+lane], beta[lane], float32(*p*alpha[lane]))
		}
	}
}
