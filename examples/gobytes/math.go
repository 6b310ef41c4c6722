package gobytes

import "math"

// These functions follow the numeric contract of package contract: sums are computed in
// ascending order, and each operation is rounded to float32. So the compiler cannot fuse
// them, and the bits are the same on every CPU.

// rmsNorm computes x/√(mean(x²)+ε)·weight for each row.
func rmsNorm(out, x, weight []float32, epsilon float32) {
	n := len(weight)
	for ; len(x) > 0; x, out = x[n:], out[n:] {
		sum := float32(0)
		for _, v := range x[:n] {
			sum += float32(v * v)
		}
		// A float64 square root, rounded to float32, is the exact float32 square root.
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
