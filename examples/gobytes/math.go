package gobytes

import (
	"math"

	"github.com/attn-go/attn/kernel"
)

// What lies between the matrix products, under the contract's rules: sums are
// ascending chains, every operation rounds for itself, and the exponential is
// kernel's.

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

var log2e = math.Float32frombits(0x3FB8AA3B)

// silu writes gate·sigmoid(gate)·up to gate. The exponential's argument is never
// positive: sigmoid(x) is 1/(1+e^-x), and e^x/(1+e^x) for x < 0.
func silu(gate, up, scratch []float32) error {
	e := scratch[:len(gate)]
	for i, x := range gate {
		e[i] = float32(-float32(math.Abs(float64(x))) * log2e)
	}
	if err := kernel.Exp2Slice(e, e); err != nil {
		return err
	}
	for i, x := range gate {
		numerator := x
		if x < 0 {
			numerator = float32(x * e[i])
		}
		gate[i] = float32(numerator / (1 + e[i]) * up[i])
	}
	return nil
}

// add adds y to x.
func add(x, y []float32) {
	for i, v := range y {
		x[i] += v
	}
}
