// Package optimize changes the weights of a model by their gradients: [AdamW.Step], after
// [ClipNorm] has limited the norm of the gradients. The state of the optimizer lies in memory of the program.
//
// Like all of this module, a result has the same bits on every CPU and with any number of
// threads. The numeric contract, package contract, defines them.
package optimize

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
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

// Options are the settings of one call of [AdamW.Step]. None of them changes a bit.
type Options struct {
	kernel.Exec
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
// The factors are computed in float64 and rounded to float32. Each other operation is
// rounded to float32. In the steady state a call allocates nothing. An error is a
// [*kernel.Error], and leaves w, m and v untouched.
func (a AdamW) Step(w, g, m, v []float32, step int, opts Options) error {
	t, f := tier.Handle(opts.Tier).Tier()
	if f == nil {
		f = a.check(w, g, m, v, step, opts.Threads)
	}
	if f != nil {
		return (*kernel.Error)(f.In("optimize.AdamW.Step"))
	}
	if view.Races {
		view.Announce(view.Read, g)
		for _, x := range [...][]float32{w, m, v} {
			view.Announce(view.Write, x)
		}
	}
	j := jobs.Get()
	j.tier, j.w, j.g, j.m, j.v, j.factors = t, w, g, m, v, a.factors(step)
	j.split.Run(len(w), float64(len(w))*elementFMAs/float64(t.ThreadFMAs), struct{}{}, opts.Threads, opts.ParallelFor)
	j.w, j.g, j.m, j.v = nil, nil, nil, nil // the caller's memory
	jobs.Put(j)
	return nil
}

// check reports the first argument of Step that does not fit.
func (a *AdamW) check(w, g, m, v []float32, step, threads int) *check.Failure {
	if f := a.checkSettings(); f != nil {
		return f
	}
	if step < 1 {
		return &check.Failure{Where: "step", Got: fmt.Sprint(step), Want: "at least 1, the number of the first step"}
	}
	names := [...]string{"w", "g", "m", "v"}
	slices := [...][]float32{w, g, m, v}
	for i, x := range slices {
		if len(x) != len(w) {
			return &check.Failure{Where: names[i], Got: fmt.Sprintf("length %d", len(x)), Want: fmt.Sprintf("length %d, that of w", len(w))}
		}
		for k, y := range slices[:i] {
			if view.MemoryOf(x).Overlaps(view.MemoryOf(y)) {
				return &check.Failure{Where: names[i], Got: "memory that overlaps " + names[k], Want: "memory of its own"}
			}
		}
	}
	return check.Threads("Options.Threads", threads)
}

// checkSettings reports a setting that does not fit.
func (a *AdamW) checkSettings() *check.Failure {
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
