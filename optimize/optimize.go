// Package optimize changes the weights of a model by their gradients: [ClipNorm] limits the norm of
// the gradients, then [AdamW.Step] changes weights. The program keeps the optimizer's state.
//
// As everywhere in this module, a result has the same bits on every CPU and with any number of
// threads. The numeric contract, package contract, defines them.
package optimize

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/kernel"
)

// AdamW are the settings of the optimizer AdamW (Loshchilov, Hutter: "Decoupled Weight Decay
// Regularization"). With a WeightDecay of 0 it is Adam. There are no defaults: usual are
// a Rate of 1e-3, Beta1 0.9, Beta2 0.999, Epsilon 1e-8 and a WeightDecay of 0.01.
type AdamW struct {
	Rate         float64 // the learning rate, 0 or more
	Beta1, Beta2 float64 // how much of the means is kept in a step, from 0 to below 1
	Epsilon      float64 // is added to the root of the mean square, above 0
	WeightDecay  float64 // a step multiplies weights by 1 - Rate·WeightDecay; 0 or more, and Rate·WeightDecay at most 1
}

// Step changes weights w by their gradient g, in step number step, which counts from 1:
//
//	w = w·(1 - Rate·WeightDecay)
//	m = m + (1-Beta1)·(g - m)
//	v = Beta2·v + (1-Beta2)·g²
//	w = w - Rate/(1-Beta1^step)·m / (sqrt(v)/sqrt(1-Beta2^step) + Epsilon)
//
// m and v are the means of the gradient and of its square: zeros before the first step, and
// the program's to keep for the next one. A new m, v or w that is below 2^-126 in magnitude
// is 0: the means of a weight that gets no gradient any more end there, and do not stay
// subnormal for ever, which makes a step slow on some CPUs. All four slices have the same
// length and share no memory.
//
// The factors are computed in float64 and rounded to float32. Each other operation is rounded to
// float32. exec says how the call is computed; the zero Exec is the default. In the steady state a
// call allocates nothing. An error is a [*kernel.Error], and leaves w, m and v untouched.
func (a AdamW) Step(w, g, m, v []float32, step int, exec kernel.Exec) error {
	f := a.check()
	if f == nil && step < 1 {
		f = check.Least("step", step, 1)
	}
	if f != nil {
		return (*kernel.Error)(f.In(adamW.Name))
	}
	return adamW.Run(&exec, &elementwise.Call{Slices: [6][]float32{w, m, v, g}, Factors: a.factors(step)})
}

// check reports a setting that does not fit.
func (a *AdamW) check() *check.Failure {
	bad := func(arg string, got float64, want string) *check.Failure {
		return &check.Failure{Where: "AdamW." + arg, Got: fmt.Sprint(got), Want: want}
	}
	const most = math.MaxFloat32
	switch {
	case !(a.Rate >= 0 && a.Rate <= most):
		return bad("Rate", a.Rate, "0 or more, finite")
	case !(a.Beta1 >= 0 && a.Beta1 < 1):
		return bad("Beta1", a.Beta1, "0 to below 1")
	case !(a.Beta2 >= 0 && a.Beta2 < 1):
		return bad("Beta2", a.Beta2, "0 to below 1")
	case !(a.Epsilon > 0 && a.Epsilon <= most):
		return bad("Epsilon", a.Epsilon, "above 0, finite")
	case !(a.WeightDecay >= 0 && a.WeightDecay*a.Rate <= 1):
		return bad("WeightDecay", a.WeightDecay, "0 or more, and multiplied by Rate at most 1")
	}
	return nil
}

// adamW is a step. AdamW.factors makes its factors.
var adamW = elementwise.Function{
	Name: "optimize.AdamW.Step", Args: []string{"w", "m", "v", "g"}, Outputs: 3, Apart: true, ElementFMAs: 100,
	Do: func(c *elementwise.Call) {
		f := &c.Factors
		c.Tier.Elementwise().AdamW(c.Slices[0], c.Slices[3], c.Slices[1], c.Slices[2], f[0], f[1], f[2], f[3], f[4], f[5], f[6])
	},
}

// factors returns the numbers of a step.
func (a *AdamW) factors(step int) [7]float32 {
	return [...]float32{
		float32(1 - float64(a.Rate*a.WeightDecay)), // of a weight
		float32(1 - a.Beta1),
		float32(a.Beta2),
		float32(1 - a.Beta2),
		float32(math.Sqrt(1 - power(a.Beta2, step))),
		float32(a.Epsilon),
		float32(a.Rate / (1 - power(a.Beta1, step))),
	}
}

// power returns x^n, n ≥ 1, by squaring: math.Pow has other last bits on some architectures.
func power(x float64, n int) float64 {
	y := 1.0
	for ; n > 0; n /= 2 {
		if n%2 == 1 {
			y = float64(y * x)
		}
		x = float64(x * x)
	}
	return y
}
