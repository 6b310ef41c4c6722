package layer

import (
	"cmp"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/scoring"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// General is q·W·k with a learned matrix W (Luong, Pham, Manning: "Effective Approaches
// to Attention-based Neural Machine Translation"). Queries and keys may differ in size.
// All heads share W. [NewGeneral] makes one.
type General struct {
	Query *linear.Linear // projects a query q to q·W
}

// NewGeneral returns the similarity q·w·k. The matrix w is [size of q, size of k]. exec and errors
// are as for [linear.New].
func NewGeneral(w linear.Matrix, exec kernel.Exec) (General, error) {
	l, err := linear.New(w.T(), nil, exec)
	return General{l}, err
}

// Attend implements [Similarity]. The projected queries take memory that is recycled.
func (g General) Attend(out, q, k, v kernel.Tensor, opts *kernel.Options) error {
	if g.Query == nil {
		return &kernel.Error{Where: "layer.General.Attend: General.Query", Got: "nil", Want: "a linear layer, as NewGeneral makes it"}
	}
	n, bad := checkProjection("q", &q, "General.Query", g.Query)
	o := valueOf(opts)
	if bad == nil {
		bad = checkMemory(&out, &o, qkv[:], &q, &k, &v)
	}
	if bad != nil {
		return (*kernel.Error)(bad.In("layer.General.Attend"))
	}
	s := getScratch(n)
	if s == nil {
		return (*kernel.Error)(projectionMemoryFailure("q", &q).In("layer.General.Attend"))
	}
	defer s.release()
	projected, err := s.project(&q, g.Query, o.Exec)
	if err != nil {
		return err
	}
	o.Scale = scoring.ScaleOr(o.Scale, 1)
	return kernel.Attention(out, projected, k, v, &o)
}

// GeneralGradients are the outputs of [General.Backward]. A gradient that is not set is not
// computed.
type GeneralGradients struct {
	kernel.Gradients           // Q, K, V, Bias and Sinks
	W                []float32 // [size of q, size of k], contiguous: with respect to the matrix
}

// Backward computes the gradients of [General.Attend] from dout, the gradient of its out. With
// p = q·W, and dp, the gradient of attention over the queries p:
//
//	Q = dp·Wᵀ
//	W = the sum of qᵀ·dp over all queries
//
// The other gradients are the gradients of attention over p. w is the matrix that [NewGeneral] has
// packed, [size of q, size of k], contiguous; Q alone needs it. Q is summed up in segments of 128
// columns, W in segments of 128 queries, which are numbered as in [B, H, Lq], see [linear.Product].
//
// Shapes, options and errors are as for [kernel.AttentionBackward]: opts are the options of the
// call of Attend, and lse is a result of it. q and its gradient are float32 and neither ragged nor
// paged. The queries are projected again, to memory that is recycled: in the steady state a call
// allocates nothing. With Accumulate, W is added to as by linear.Product: its sums start from what
// it holds.
func (g General) Backward(out GeneralGradients, dout, q, k, v, lse kernel.Tensor, w []float32, opts *kernel.BackwardOptions) error {
	o := valueOf(opts)
	if bad := g.checkBackward(&out, &dout, &q, &k, &v, &lse, w, &o); bad != nil {
		return (*kernel.Error)(bad.In("layer.General.Backward"))
	}
	outputs, inputs := g.Query.Shape()
	c := side{x: q, dx: out.Q, layer: g.Query, parameters: Parameters{Weight: out.W}}
	sizes := c.sizes(outputs)
	s := getScratch(sizes[:]...)
	if s == nil {
		return (*kernel.Error)(memoryFailure("q", &q, "fewer queries: memory for copies of them and for their projections").In("layer.General.Backward"))
	}
	defer s.release()
	if err := c.project(s, o.Accumulate, o.Exec); err != nil {
		return err
	}
	inner := out.Gradients
	inner.Q = c.dProjected
	if err := (Dot{}).Backward(inner, dout, c.projected, k, v, lse, &o); err != nil {
		return err
	}
	if out.W != nil {
		if err := linear.Product(linear.DenseMatrix(out.W, inputs, outputs), denseMatrix(&c.dense).T(), denseMatrix(&c.dProjected).T(), linear.ProductOptions{Exec: o.Exec, Accumulate: o.Accumulate}); err != nil {
			return err
		}
	}
	c.parameters = Parameters{} // W lies the other way round
	return c.backward(s, linear.DenseMatrix(w, inputs, outputs).T(), o.Accumulate, o.Exec)
}

// checkBackward reports what kernel.AttentionBackward, which gets the projected queries, does not
// see.
func (g General) checkBackward(out *GeneralGradients, dout, q, k, v, lse *kernel.Tensor, w []float32, o *kernel.BackwardOptions) *check.Failure {
	if g.Query == nil {
		return &check.Failure{Where: "General.Query", Got: "nil", Want: "a linear layer, as NewGeneral makes it"}
	}
	if bad := viewOf(q).CheckPlainFloats("q"); bad != nil {
		return bad
	}
	if _, bad := checkProjection("q", q, "General.Query", g.Query); bad != nil {
		return bad
	}
	outputs, inputs := g.Query.Shape()
	const what = "as [size of q, size of k]"
	if bad := cmp.Or(checkGradient("Gradients.Q", &out.Q, "q", q), check.LengthOrNil("Gradients.W", out.W, inputs*outputs, what)); bad != nil {
		return bad
	}
	if viewOf(&out.Q).IsSet() {
		if bad := check.Length("w", len(w), inputs*outputs, what); bad != nil {
			return bad
		}
	}
	var f footprint
	f.outputGradients(&out.Gradients)
	f.output("Gradients.Q", viewOf(&out.Q).Memory())
	f.output("Gradients.K", viewOf(&out.K).Memory())
	f.output("Gradients.W", view.MemoryOf(out.W))
	f.inputTensors(dout, q, k, v)
	f.add("lse", viewOf(lse).Memory())
	f.inputScoring(&o.Scoring)
	f.add("w", view.MemoryOf(w))
	return f.check()
}
