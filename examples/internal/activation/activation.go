// Package activation has the functions between the matrix products of models, under
// the numeric contract's rules: every operation rounds for itself, and the
// exponential is kernel's, so that the bits are the same on every CPU.
package activation

import (
	"math"

	"github.com/attn-go/attn/kernel"
)

// Sigmoid replaces every x by 1/(1+e^-x). scratch has room for as many numbers.
func Sigmoid(x, scratch []float32) error {
	e, err := decay(x, scratch)
	if err != nil {
		return err
	}
	for i, x0 := range x {
		x[i] = sigmoidTimes(1, x0, e[i])
	}
	return nil
}

// SiLU replaces every number of gate by gate·sigmoid(gate)·up. scratch has room for
// as many numbers.
func SiLU(gate, up, scratch []float32) error {
	e, err := decay(gate, scratch)
	if err != nil {
		return err
	}
	for i, x := range gate {
		gate[i] = float32(sigmoidTimes(x, x, e[i]) * up[i])
	}
	return nil
}

// sigmoidTimes returns y·sigmoid(x), where e is e^-|x|: sigmoid(x) is 1/(1+e^-x), and
// e^x/(1+e^x) for x < 0. So the exponential's argument is never positive.
func sigmoidTimes(y, x, e float32) float32 {
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
	return e, kernel.Exp2Slice(e, e)
}
