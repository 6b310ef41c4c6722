package gobytes

import (
	"math"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// These functions follow the numeric contract of package contract: sums are computed in ascending
// order, each operation is rounded to float32, and the exponential comes from package numeric. So
// the compiler cannot fuse them, and the bits are the same on every CPU.

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

// silu replaces each number of gate by gate·sigmoid(gate)·up. It overwrites scratch, which
// must be at least as long as gate.
func silu(gate, up, scratch []float32) error {
	e, err := decay(gate, scratch)
	if err != nil {
		return err
	}
	for i, x := range gate {
		gate[i] = float32(sigmoidTimes(x, e[i]) * up[i])
	}
	return nil
}

// sigmoidTimes returns x·sigmoid(x), given e = e^-|x|. It cannot overflow:
//
//	sigmoid(x) = 1/(1+e^-x) = 1/(1+e)    for x >= 0
//	sigmoid(x) = e^x/(1+e^x) = e/(1+e)   for x < 0
func sigmoidTimes(x, e float32) float32 {
	y := x
	if x < 0 {
		y = float32(y * e)
	}
	return float32(y / (1 + e))
}

// decay writes e^-|x| to scratch.
func decay(x, scratch []float32) ([]float32, error) {
	e := scratch[:len(x)]
	for i, x := range x {
		e[i] = float32(-float32(math.Abs(float64(x))) * math.Log2E)
	}
	return e, numeric.Exp2Slice(e, e, kernel.Exec{})
}
