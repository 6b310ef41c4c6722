package main

import (
	"math"

	"github.com/attn-go/attn/bench/examples/internal/train"
	"github.com/attn-go/attn/models/gobytes"
)

// parameters are all weights of a model in one slice, for the optimizer, and the parts of that
// slice. Their gradients and the optimizer's means are parameters too.
type parameters struct {
	gobytes.Weights
	all   []float32
	parts []train.Part
}

// newParameters returns zeros for a model.
func newParameters(c *gobytes.Config) *parameters {
	p := &parameters{}
	for _, t := range p.Tensors(c) {
		part := train.Part{Name: t.Name, Shape: t.Shape, Numbers: t.Numbers}
		switch {
		case len(t.Shape) == 1:
			part.Center = 1
		case t.Numbers == &p.Embed:
			part.Bound = 0.02 * math.Sqrt(3)
		default:
			part.Bound = 1 / math.Sqrt(float64(t.Shape[1]))
		}
		p.parts = append(p.parts, part)
	}
	p.all = train.Allocate(p.parts)
	return p
}
