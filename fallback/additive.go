package fallback

// Additive computes m rows of c, lanes wide, from a number of a and the rows of b each:
//
//	c[i·ldc+lane] = fma(weights[x], tanh(a[i·rs+x·cs] + b[x·ldb+lane]), c[i·ldc+lane]), x ascending
//
// from +0, for all of weights.
func Additive(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, lanes, m int, weights []float32) {
	for i := range m {
		row := window(c, i*ldc, lanes)
		clear(row)
		for x, w := range weights {
			q := a[i*rs+x*cs]
			for lane, k := range window(b, x*ldb, lanes) {
				row[lane] = FMA(w, Tanh(q+k), row[lane])
			}
		}
	}
}
