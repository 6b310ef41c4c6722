package layer

import (
	"cmp"
	"math"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/scoring"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// A Differentiable is a [Similarity] without weights of its own whose gradients are known:
// [ScaledDot], [Dot] and [Cosine]. [General] and [Additive] have weights: their methods Backward
// have further arguments.
type Differentiable interface {
	Similarity

	// Backward computes the gradients of Attend from dout, the gradient of its out. Shapes,
	// options and errors are those of [kernel.AttentionBackward]: opts are those of the call of
	// Attend, and lse is Options.LSE of it, which it has written.
	Backward(g kernel.Gradients, dout, q, k, v, lse kernel.Tensor, opts *kernel.BackwardOptions) error
}

// Backward implements [Differentiable]. It is [kernel.AttentionBackward].
func (ScaledDot) Backward(g kernel.Gradients, dout, q, k, v, lse kernel.Tensor, opts *kernel.BackwardOptions) error {
	return kernel.AttentionBackward(g, dout, q, k, v, lse, opts)
}

// Backward implements [Differentiable].
func (Dot) Backward(g kernel.Gradients, dout, q, k, v, lse kernel.Tensor, opts *kernel.BackwardOptions) error {
	o := valueOf(opts)
	o.Scale = scoring.ScaleOr(o.Scale, 1)
	return kernel.AttentionBackward(g, dout, q, k, v, lse, &o)
}

// Backward implements [Differentiable]. With n = q/|q| and dn, the gradient of attention over the
// normalised queries and keys n and k/|k|, that of a query is
//
//	dq = (dn - q·(q·dn)/|q|²)/|q|
//
// and that of a key alike. It is zero for a query or a key of zeros, of which the cosine has no
// derivative, and where dn is zero. q·dn and |q|² are summed up in float64, in ascending order, and
// the result is rounded at the end; a NaN is 0x7FC00000.
//
// q, k and their gradients are float32 and neither ragged nor paged. They are copied to memory that
// is recycled: in the steady state a call allocates nothing.
func (Cosine) Backward(g kernel.Gradients, dout, q, k, v, lse kernel.Tensor, opts *kernel.BackwardOptions) error {
	o := valueOf(opts)
	if bad := checkCosineBackward(&g, &dout, &q, &k, &v, &lse, &o); bad != nil {
		return (*kernel.Error)(bad.In("layer.Cosine.Backward"))
	}
	shapeQ, shapeK := q.Shape(), k.Shape()
	n, m := product(shapeQ[:]...), product(shapeK[:]...)
	s := getScratch(n, m, n, m)
	if s == nil {
		return (*kernel.Error)(memoryFailure("q", &q, "fewer queries and keys: memory for copies of them").In("layer.Cosine.Backward"))
	}
	defer s.release()
	unitQ, unitK := s.units(&q, &k, &o.Scoring, true)
	units := g
	if viewOf(&g.Q).IsSet() {
		units.Q = s.gradientLike(&q, shapeQ[3], o.Accumulate)
	}
	if viewOf(&g.K).IsSet() {
		units.K = s.gradientLike(&k, shapeK[3], o.Accumulate)
	}
	if err := (Dot{}).Backward(units, dout, unitQ, unitK, v, lse, &o); err != nil {
		return err
	}
	if viewOf(&g.Q).IsSet() {
		normaliseBackward(&g.Q, &q, &units.Q, o.Accumulate)
	}
	if viewOf(&g.K).IsSet() {
		normaliseBackward(&g.K, &k, &units.K, o.Accumulate)
	}
	return nil
}

// checkCosineBackward reports what kernel.AttentionBackward, which gets copies, does not see.
func checkCosineBackward(g *kernel.Gradients, dout, q, k, v, lse *kernel.Tensor, o *kernel.BackwardOptions) *check.Failure {
	if bad := cmp.Or(viewOf(q).CheckPlainFloats("q"), viewOf(k).CheckPlainFloats("k")); bad != nil {
		return bad
	}
	if bad := cmp.Or(checkGradient("Gradients.Q", &g.Q, "q", q), checkGradient("Gradients.K", &g.K, "k", k), checkMask(&o.Mask, q, k)); bad != nil {
		return bad
	}
	var f footprint
	f.outputGradients(g)
	f.output("Gradients.Q", viewOf(&g.Q).Memory())
	f.output("Gradients.K", viewOf(&g.K).Memory())
	f.inputTensors(dout, q, k, v)
	f.add("lse", viewOf(lse).Memory())
	f.inputScoring(&o.Scoring)
	return f.check()
}

// outputGradients lists those of values, biases and sinks.
func (f *footprint) outputGradients(g *kernel.Gradients) {
	f.output("Gradients.V", viewOf(&g.V).Memory())
	f.output("Gradients.Bias", viewOf(&g.Bias).Memory())
	f.output("Gradients.Sinks", view.MemoryOf(g.Sinks))
}

func (f *footprint) inputTensors(dout, q, k, v *kernel.Tensor) {
	f.add("dout", viewOf(dout).Memory())
	f.add("q", viewOf(q).Memory())
	f.add("k", viewOf(k).Memory())
	f.add("v", viewOf(v).Memory())
}

// normaliseBackward sets dx to the gradients of the rows of x, of which those of x/|x| are dy, or adds them. A
// row without a gradient is not read: it may be a key that no query sees. dy is overwritten.
func normaliseBackward(dx, x, dy *kernel.Tensor, accumulate bool) {
	eachRow(x.Shape(), func(b, h, l int) {
		dx, dy := row(dx, b, h, l), row(dy, b, h, l)
		if isZero(dy) {
			clear(dy)
		} else {
			normaliseRowBackward(dy, row(x, b, h, l))
		}
		putRow(dx, dy, accumulate)
	})
}

// isZero tells whether all elements are 0 or -0.
func isZero(x []float32) bool {
	for _, e := range x {
		if e != 0 {
			return false
		}
	}
	return true
}

// normaliseRowBackward makes the gradient of x/|x| that of x.
func normaliseRowBackward(dy, x []float32) {
	dot, squares := 0.0, 0.0
	for i, e := range dy {
		dot += float64(x[i]) * float64(e) // a product is exact
		squares += float64(x[i]) * float64(x[i])
	}
	if squares == 0 {
		clear(dy)
		return
	}
	inv, along := 1/math.Sqrt(squares), dot/squares
	for i, e := range dy {
		if dy[i] = float32((float64(e) - float64(float64(x[i])*along)) * inv); dy[i] != dy[i] {
			dy[i] = scalar.NaN
		}
	}
}
