package layer

import (
	"cmp"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// Additive is V·tanh(Query(q) + Key(k)), a small network applied to query and key
// (Bahdanau, Cho, Bengio: "Neural Machine Translation by Jointly Learning to Align and
// Translate"). Query and Key project to the same number of hidden units. Queries and keys
// may differ in size. All heads share the weights.
//
// In a decoder every step attends to the same keys. Project them once, and use an
// Additive without Key from then on:
//
//	err := a.Key.Project(projected, states, linear.Options{})
//	step := layer.Additive{Query: a.Query, V: a.V}
//	err = step.Attend(out, query, projected, states, opts) // in every step
type Additive struct {
	Query, Key *linear.Linear // nil uses the queries or keys as they are
	V          []float32      // one weight for each hidden unit
}

// Attend implements [Similarity]. It projects queries and keys and calls
// [kernel.Additive]. The projections take memory that is recycled.
func (a Additive) Attend(out, q, k, v kernel.Tensor, opts *kernel.Options) error {
	tensors := [...]kernel.Tensor{q, k}
	layers := [...]*linear.Linear{a.Query, a.Key}
	o := valueOf(opts)
	var sizes [2]int
	bad := checkMemory(&out, &o, qkv[:], &q, &k, &v)
	for i, l := range layers {
		if bad == nil && l != nil {
			sizes[i], bad = checkProjection(qkv[i], &tensors[i], additiveNames[i].layer, l)
		}
	}
	if bad != nil {
		return (*kernel.Error)(bad.In("layer.Additive.Attend"))
	}
	s := getScratch(sizes[:]...)
	if s == nil {
		i := 0 // the larger one
		if sizes[1] > sizes[0] {
			i = 1
		}
		return (*kernel.Error)(projectionMemoryFailure(qkv[i], &tensors[i]).In("layer.Additive.Attend"))
	}
	defer s.release()
	for i, l := range layers {
		if l == nil {
			continue
		}
		var err error
		if tensors[i], err = s.project(&tensors[i], l, o.Exec); err != nil {
			return err
		}
	}
	err := kernel.Additive(out, tensors[0], tensors[1], v, a.V, &o)
	return renameArgument(err, "weights", "layer.Additive.Attend", "Additive.V")
}

// AdditiveGradients are the outputs of [Additive.Backward]: tensors are float32 and neither ragged
// nor paged. A gradient that is not set is not computed.
type AdditiveGradients struct {
	Q, K, V    kernel.Tensor // with respect to q, k and v, and of their shapes
	Query, Key Parameters    // with respect to the parameters of the projections
	Scoring    []float32     // with respect to Additive.V
}

// AdditiveWeights are the weights of the projections of an [Additive], [outputs, inputs],
// contiguous. The gradient of q needs Query, and the gradient of k needs Key, if there is such a
// projection.
type AdditiveWeights struct{ Query, Key []float32 }

// Backward computes the gradients of [Additive.Attend] from dout, the gradient of its out, and p,
// the weights of the attention, as the call wrote them to Options.Weights. With a and b, the
// gradients that [kernel.AdditiveBackward] computes of the projected queries and keys:
//
//	Q = a·Query    Query.Weight = the sum of aᵀ·q, Query.Bias = the sum of a, over all queries
//	K = b·Key      Key.Weight = the sum of bᵀ·k, Key.Bias = the sum of b, over all keys
//
// [linear.Backward] computes these, with rows in the order of [B, H, L]. Where there is no
// projection, Q and K are a and b. V and Scoring are V and Weights of kernel.AdditiveBackward, and
// so are the options and errors.
//
// All tensors are float32 and neither ragged nor paged. Queries and keys are projected again, to
// memory that is recycled: in the steady state a call allocates nothing.
func (a Additive) Backward(g AdditiveGradients, dout, q, k, v, p kernel.Tensor, w AdditiveWeights, opts kernel.AdditiveBackwardOptions) error {
	c := additiveBackward{
		Additive: a, opts: opts,
		sides: [2]side{{x: q, dx: g.Q, layer: a.Query, parameters: g.Query, weight: w.Query}, {x: k, dx: g.K, layer: a.Key, parameters: g.Key, weight: w.Key}},
	}
	if bad := c.check(&g, &dout, &v, &p); bad != nil {
		return (*kernel.Error)(bad.In("layer.Additive.Backward"))
	}
	s := getScratch(c.sizes[:]...)
	if s == nil {
		return (*kernel.Error)(memoryFailure("k", &k, "fewer queries and keys: memory for copies of them and for their projections").In("layer.Additive.Backward"))
	}
	defer s.release()
	for i := range c.sides {
		if err := c.sides[i].project(s, opts.Accumulate, opts.Exec); err != nil {
			return err
		}
	}
	x, y := &c.sides[0], &c.sides[1]
	inner := kernel.AdditiveGradients{Q: x.dProjected, K: y.dProjected, V: g.V, Weights: g.Scoring}
	if err := kernel.AdditiveBackward(inner, dout, x.projected, y.projected, v, p, a.V, opts); err != nil {
		return renameArgument(renameArgument(err, "weights", "layer.Additive.Backward", "Additive.V"), "Gradients.Weights", "layer.Additive.Backward", "Gradients.Scoring")
	}
	for i := range c.sides {
		x := &c.sides[i]
		if err := x.backward(s, weightsOf(x.layer, x.weight), opts.Accumulate, opts.Exec); err != nil {
			return err
		}
	}
	return nil
}

// An additiveBackward is one call of Additive.Backward.
type additiveBackward struct {
	Additive
	opts  kernel.AdditiveBackwardOptions
	sides [2]side // queries and keys
	sizes [8]int  // of scratch memory
}

// The names of what belongs to queries and keys.
var additiveNames = [...]struct {
	arg, gradient string
	parameterNames
}{
	{"q", "Gradients.Q", parameterNames{"Gradients.Query", "Gradients.Query.Weight", "Gradients.Query.Bias", "Additive.Query", "Weights.Query"}},
	{"k", "Gradients.K", parameterNames{"Gradients.Key", "Gradients.Key.Weight", "Gradients.Key.Bias", "Additive.Key", "Weights.Key"}},
}

// check reports what kernel.AdditiveBackward, which gets projected queries and keys, does not see.
// It sets sizes.
func (c *additiveBackward) check(g *AdditiveGradients, dout, v, p *kernel.Tensor) *check.Failure {
	var f footprint
	for i := range c.sides {
		x, name := &c.sides[i], &additiveNames[i]
		if bad := cmp.Or(x.parameters.check(&name.parameterNames, x.layer), viewOf(&x.x).CheckPlainFloats(name.arg)); bad != nil {
			return bad
		}
		if bad := checkGradient(name.gradient, &x.dx, name.arg, &x.x); bad != nil {
			return bad
		}
		f.output(name.gradient, viewOf(&x.dx).Memory())
		f.outputParameters(&name.parameterNames, &x.parameters)
		if x.layer == nil {
			continue
		}
		if _, bad := checkProjection(name.arg, &x.x, name.layer, x.layer); bad != nil {
			return bad
		}
		if viewOf(&x.dx).IsSet() {
			if bad := checkWeight(name.weights, x.weight, x.layer); bad != nil {
				return bad
			}
		}
		outputs, _ := x.layer.Shape()
		sizes := x.sizes(outputs)
		copy(c.sizes[4*i:], sizes[:])
	}
	f.output("Gradients.V", viewOf(&g.V).Memory())
	f.output("Gradients.Scoring", view.MemoryOf(g.Scoring))
	f.inputTensors(dout, &c.sides[0].x, &c.sides[1].x, v)
	f.add("p", viewOf(p).Memory())
	f.add("Additive.V", view.MemoryOf(c.V))
	for i := range c.sides {
		f.add(additiveNames[i].weights, view.MemoryOf(c.sides[i].weight))
	}
	return f.check()
}
