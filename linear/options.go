package linear

import (
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/kernel"
)

// Options are the settings of one call of a Linear.
type Options struct {
	kernel.Exec // changes no bit of the result

	// DynamicInt8 quantizes the rows of x to 8 bits, in blocks of 32 inputs whose scales it computes in the
	// call (dynamic quantization), so that products with quantized
	// weights are sums of integers. That takes less time, about half with weights of 4 bits, and changes
	// the result: each input has an error of up to a 254th of the largest magnitude in its block. The
	// result has the same bits on every CPU, too, see [Linear.Apply]. The layer must have quantized
	// weights, see [FromBlocks] and [QuantizeInt8]; others are a [*kernel.Error].
	DynamicInt8 bool

	// Activation is applied to the outputs while they are in cache. The result has the bits
	// that the function of package activation gives for the outputs of a call without it. The
	// bits of a NaN are not specified.
	Activation Activation
}

// An Activation is a function of package activation.
type Activation int

// The activations. The zero value is none.
const (
	NoActivation Activation = iota
	SiLU
	GELU     // with the error function
	GELUTanh // with tanh
)

// String returns the activation's name.
func (a Activation) String() string {
	if a < NoActivation || a > GELUTanh {
		return fmt.Sprintf("Activation(%d)", int(a))
	}
	return [...]string{"NoActivation", "SiLU", "GELU", "GELUTanh"}[a]
}

func (a Activation) check() *check.Failure {
	if a < NoActivation || a > GELUTanh {
		return &check.Failure{Where: "Options.Activation", Got: a.String(), Want: "NoActivation, SiLU, GELU or GELUTanh"}
	}
	return nil
}

// kernel returns the function over slices, nil for NoActivation.
func (a Activation) kernel(t *tier.Tier) func(dst, src []float32) {
	switch a {
	case SiLU:
		return t.Activations().SiLU
	case GELU:
		return t.Activations().GELU
	case GELUTanh:
		return t.Activations().GELUTanh
	}
	return nil
}
