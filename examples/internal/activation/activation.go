// Package activation has the activation functions of the example models. They follow the
// numeric contract of package contract: each operation is rounded to float32, and the
// exponential is [kernel.Exp2Slice]. So the bits are the same on every CPU.
package activation

import (
	"math"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// SiLU replaces each number of gate by gate·sigmoid(gate)·up. It overwrites scratch, which
// must be at least as long as gate.
func SiLU(gate, up, scratch []float32) error {
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
