package layer

import (
	"cmp"
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// MultiHeadGradients are the outputs of [MultiHead.Backward], float32. A gradient that is not set
// is not computed.
type MultiHeadGradients struct {
	// Query, Key and Value have the shapes of query, key and value, ragged if these are, with
	// tokens at equal distances. Two or all of them may be the same tensor, as in self-attention:
	// it gets their sum, in this order.
	Query, Key, Value kernel.Tensor

	Q, K, V, O Parameters // with respect to the parameters of the projections

	Bias  kernel.Tensor // with respect to Options.Bias, as in [kernel.Gradients]
	Sinks []float32     // with respect to Options.Sinks
}

// MultiHeadWeights are the weights of the projections, [outputs, inputs], contiguous. The gradients
// of query, key and value need Q, K and V. All gradients but O's own need O. A projection that is
// nil has no weights.
type MultiHeadWeights struct{ Q, K, V, O []float32 }

// Backward computes the gradients of [MultiHead.Attend] from dout, the gradient of its out, and the
// trace of the call of [MultiHead.Forward]. With dq, dk and dv, the gradients of the attention of
// the heads:
//
//	dheads = dout·O    O.Weight = doutᵀ·trace.Heads    O.Bias = the sum of dout
//	Query  = dq·Q      Q.Weight = dqᵀ·query            Q.Bias = the sum of dq
//	Key    = dk·K      K.Weight = dkᵀ·key              K.Bias = the sum of dk
//	Value  = dv·V      V.Weight = dvᵀ·value            V.Bias = the sum of dv
//
// The method Backward of the similarity, which must be [Differentiable], computes dq, dk and dv.
// [linear.Backward] computes everything else, over all tokens, batch row by batch row. Where there
// is no projection, Query, Key and Value are dq, dk and dv.
//
//	dout [B, 1, Lq, width of out]  float32, with tokens at equal distances; ragged if query is
//
// opts.Accumulate adds all gradients to what the outputs hold. The sums of tokens and parameters
// start from there, as in linear.Backward.
//
// query, key, value, trace and the other opts are the same as in the call of Forward. w has the
// weights that the projections were made of.
//
// The gradients share no memory with anything else, but for Query, Key and Value as said
// there. The gradients of heads and projections take memory for 2·B·(Lq+Lk) tokens at
// most. It is recycled: in the steady state a call allocates nothing. Bad input gets a
// [*kernel.Error], and the gradients stay untouched.
func (m *MultiHead) Backward(g MultiHeadGradients, dout, query, key, value kernel.Tensor, trace MultiHeadTrace, w MultiHeadWeights, opts *kernel.BackwardOptions) error {
	c := multiHeadBackward{
		multiHeadCall: multiHeadCall{MultiHead: m, function: "layer.MultiHead.Backward", out: dout, inputs: [3]kernel.Tensor{query, key, value}, keeps: true, trace: trace},
		settings:      valueOf(opts),
		g:             g,
		tokens:        [3]kernel.Tensor{g.Query, g.Key, g.Value},
		parameters:    [4]Parameters{g.Q, g.K, g.V, g.O},
		weights:       [4][]float32{w.Q, w.K, w.V, w.O},
	}
	if bad := c.check(); bad != nil {
		return (*kernel.Error)(bad.In("layer.MultiHead.Backward"))
	}
	s := getScratch(c.sizes[:]...)
	if s == nil {
		return (*kernel.Error)(memoryFailure("query", &c.inputs[0], "fewer tokens: memory for the gradients of their projections").In("layer.MultiHead.Backward"))
	}
	defer s.release()
	return c.run(s)
}

// A multiHeadBackward is one call of MultiHead.Backward. out is dout.
type multiHeadBackward struct {
	multiHeadCall
	settings   kernel.BackwardOptions
	g          MultiHeadGradients
	tokens     [3]kernel.Tensor // the gradients of the inputs
	parameters [4]Parameters    // of Q, K, V and O
	weights    [4][]float32
}

// The names of the gradients, in the order of the inputs and projections.
var (
	tokenGradients     = [...]string{"Gradients.Query", "Gradients.Key", "Gradients.Value"}
	parameterGradients = [...]parameterNames{
		{"Gradients.Q", "Gradients.Q.Weight", "Gradients.Q.Bias", "MultiHead.Q", "Weights.Q"},
		{"Gradients.K", "Gradients.K.Weight", "Gradients.K.Bias", "MultiHead.K", "Weights.K"},
		{"Gradients.V", "Gradients.V.Weight", "Gradients.V.Bias", "MultiHead.V", "Weights.V"},
		{"Gradients.O", "Gradients.O.Weight", "Gradients.O.Bias", "MultiHead.O", "Weights.O"},
	}
)

// run does the call, which check has accepted. Whatever may still fail comes before the first write
// to a gradient.
func (c *multiHeadBackward) run(s *scratch) error {
	dHeads := c.out
	if c.O != nil {
		dHeads = s.takeLike(&c.inputs[0], 1, c.Heads*c.dv, true)
		dx := tokenMatrix(&dHeads)
		if err := new(Parameters).backward(&dx, tokenMatrix(&c.out), linear.Matrix{}, weightsOf(c.O, c.weights[3]), c.O, false, false, c.settings.Exec); err != nil {
			return err
		}
	}
	inner, err := c.differentiateHeads(s, &dHeads)
	if err != nil {
		return err
	}
	if c.O != nil {
		if err := c.parameters[3].backward(nil, tokenMatrix(&c.out), tokenMatrix(&c.trace.Heads), linear.Matrix{}, c.O, false, c.settings.Accumulate, c.settings.Exec); err != nil {
			return err
		}
	}
	for i := range c.inputs {
		if err := c.backProject(i, &inner[i]); err != nil {
			return err
		}
	}
	return nil
}

// differentiateHeads computes dq, dk and dv, as far as they are needed, and the gradients of biases
// and sinks.
func (c *multiHeadBackward) differentiateHeads(s *scratch, dHeads *kernel.Tensor) (inner [3]kernel.Tensor, err error) {
	var x, dx [3]kernel.Tensor
	heads := [...]int{c.Heads, c.kvHeads, c.kvHeads}
	kept, settings := c.trace.projections(), &s.settings
	*settings = c.settings
	settings.Accumulate = settings.Accumulate && (viewOf(&c.g.Bias).IsSet() || c.g.Sinks != nil) // the others are memory of this call
	for i := range c.inputs {
		if x[i] = c.inputs[i]; c.uses(i) {
			x[i] = *kept[i]
		}
		if viewOf(&c.tokens[i]).IsSet() || c.parameters[i].wanted() {
			inner[i] = s.takeLike(&c.inputs[i], 1, c.width(i), true)
			if settings.Accumulate {
				clear(viewOf(&inner[i]).F32())
			}
			dx[i] = splitHeads(&inner[i], heads[i])
		}
		x[i] = splitHeads(&x[i], heads[i])
	}
	g := kernel.Gradients{Q: dx[0], K: dx[1], V: dx[2], Bias: c.g.Bias, Sinks: c.g.Sinks}
	err = c.similarity().(Differentiable).Backward(g, splitHeads(dHeads, c.Heads), x[0], x[1], x[2], c.trace.LSE, settings)
	return inner, renameArgument(c.renameHeads(err), "lse", c.function, lseName)
}

// backProject goes back through the projection of input i from dy, the gradient of its outputs,
// which is not set if nothing needs it.
func (c *multiHeadBackward) backProject(i int, dy *kernel.Tensor) error {
	if !viewOf(dy).IsSet() {
		return nil
	}
	to, adds := &c.tokens[i], c.settings.Accumulate || c.firstOf(i) != i
	l := c.layers()[i]
	if l == nil {
		addTokens(to, dy, adds)
		return nil
	}
	var dx *linear.Matrix
	if viewOf(to).IsSet() {
		m := tokenMatrix(to)
		dx = &m
	}
	return c.parameters[i].backward(dx, tokenMatrix(dy), tokenMatrix(&c.inputs[i]), weightsOf(l, c.weights[i]), l, adds, c.settings.Accumulate, c.settings.Exec)
}

// firstOf returns the first input whose gradient is the same tensor as input i's.
func (c *multiHeadBackward) firstOf(i int) int {
	for k := range i {
		if viewOf(&c.tokens[i]).IsSet() && viewOf(&c.tokens[k]).IsSame(viewOf(&c.tokens[i])) {
			return k
		}
	}
	return i
}

// addTokens copies the tokens of src to dst, or adds them.
func addTokens(dst, src *kernel.Tensor, accumulate bool) {
	to, from := kernel.Tensor(viewOf(dst).Joined()), kernel.Tensor(viewOf(src).Joined())
	put(&to, &from, accumulate)
}

// check reports the first argument that does not fit. It sets sizes.
func (c *multiHeadBackward) check() *check.Failure {
	if bad := c.checkInputs(); bad != nil {
		return rename(bad, "out", "dout")
	}
	if _, ok := c.similarity().(Differentiable); !ok {
		return &check.Failure{Where: "MultiHead.Similarity", Got: fmt.Sprintf("%T", c.Similarity), Want: "a Differentiable one, such as ScaledDot{}"}
	}
	if bad := cmp.Or(c.checkTrace(), c.checkLike("dout", &c.out, 0, c.out.Shape()[3])); bad != nil {
		return bad
	}
	for i := range c.tokens {
		if bad := c.checkTokenGradient(i); bad != nil {
			return bad
		}
	}
	for i, l := range [...]*linear.Linear{c.Q, c.K, c.V, c.O} {
		name := &parameterGradients[i]
		if bad := c.parameters[i].check(name, l); bad != nil {
			return bad
		}
		if l != nil && (i == 3 || viewOf(&c.tokens[i]).IsSet()) {
			if bad := checkWeight(name.weights, c.weights[i], l); bad != nil {
				return bad
			}
		}
	}
	for i := range c.inputs { // of dq, dk and dv, with a projection or without
		batch, rows := viewOf(&c.inputs[i]).AllRows()
		c.sizes[i] = product(batch, rows, c.width(i))
	}
	return c.checkMemory()
}

// checkTokenGradient reports a gradient of input i that is set and does not fit.
func (c *multiHeadBackward) checkTokenGradient(i int) *check.Failure {
	t := &c.tokens[i]
	if !viewOf(t).IsSet() {
		return nil
	}
	return cmp.Or(c.checkLike(tokenGradients[i], t, i, c.inputs[i].Shape()[3]), viewOf(t).CheckDistinct(tokenGradients[i]))
}

// checkMemory reports a gradient that shares memory with anything else.
func (c *multiHeadBackward) checkMemory() *check.Failure {
	var f footprint
	for i := range c.tokens {
		if c.firstOf(i) == i {
			f.output(tokenGradients[i], viewOf(&c.tokens[i]).Memory())
		}
	}
	for i := range c.parameters {
		f.outputParameters(&parameterGradients[i], &c.parameters[i])
	}
	f.output("Gradients.Bias", viewOf(&c.g.Bias).Memory())
	f.output("Gradients.Sinks", view.MemoryOf(c.g.Sinks))
	f.add("dout", viewOf(&c.out).Memory())
	f.inputInputs(&c.multiHeadCall)
	f.inputTrace(&c.multiHeadCall)
	for i, w := range c.weights {
		f.add(parameterGradients[i].weights, view.MemoryOf(w))
	}
	f.inputScoring(&c.settings.Scoring)
	return f.check()
}
