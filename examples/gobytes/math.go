package gobytes

import "math"

// What lies between the matrix products, under the contract's rules: sums are
// ascending chains, and every operation rounds for itself.

// rmsNorm writes x/√(mean(x²)+ε)·weight, row by row.
func rmsNorm(out, x, weight []float32, epsilon float32) {
	n := len(weight)
	for ; len(x) > 0; x, out = x[n:], out[n:] {
		sum := float32(0)
		for _, v := range x[:n] {
			sum += float32(v * v)
		}
		// The square root of a float32 in float64, rounded, is the float32 square root.
		r := 1 / float32(math.Sqrt(float64(sum/float32(n)+epsilon)))
		for i, w := range weight {
			out[i] = float32(float32(x[i]*r) * w)
		}
	}
}

// add adds y to x.
func add(x, y []float32) {
	for i, v := range y {
		x[i] += v
	}
}
