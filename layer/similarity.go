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

// A Similarity scores how well a key matches a query. It is the part of attention in
// which papers differ. Masks, softmax and weighted sum are the same for all:
//
//   - [Dot]: q·k
//   - [ScaledDot]: q·k/√D
//   - [General]: q·W·k, with a learned matrix W
//   - [Additive]: V·tanh(Query(q) + Key(k)), a small network
//   - [Cosine]: q·k/(|q|·|k|)
//   - [Func]: any function of a query and a key
type Similarity interface {
	// Attend computes out = softmax(similarity(q, k), masked)·v. Shapes, options and errors are as
	// for [kernel.Attention]. Options.Scale multiplies the similarity. Its default, 0, stands for
	// the formula of the similarity as it is: 1, but 1/√D for ScaledDot. -0 is 0. nil stands for
	// the zero Options. A call through the interface moves the Options to the heap: a program that
	// must not allocate uses them again.
	Attend(out, q, k, v kernel.Tensor, opts *kernel.Options) error
}

// valueOf returns what p points to, or the zero value for nil.
func valueOf[T any](p *T) (x T) {
	if p != nil {
		x = *p
	}
	return x
}

// qkv are the names of the inputs of the method Attend.
var qkv = [...]string{"q", "k", "v"}

// Dot is the dot product q·k (Luong, Pham, Manning: "Effective Approaches to
// Attention-based Neural Machine Translation").
type Dot struct{}

// Attend implements [Similarity].
func (Dot) Attend(out, q, k, v kernel.Tensor, opts *kernel.Options) error {
	o := valueOf(opts)
	o.Scale = scoring.ScaleOr(o.Scale, 1)
	return kernel.Attention(out, q, k, v, &o)
}

// ScaledDot is the scaled dot product q·k/√D, or q·k·Options.Scale (Vaswani et al.:
// "Attention Is All You Need"). Its Attend is [kernel.Attention].
//
// If the numbers of q and k are independent, with mean 0 and variance 1, then q·k has
// variance D and q·k/√D has variance 1. So the softmax does not saturate for large D.
type ScaledDot struct{}

// Attend implements [Similarity].
func (ScaledDot) Attend(out, q, k, v kernel.Tensor, opts *kernel.Options) error {
	return kernel.Attention(out, q, k, v, opts)
}

// Func makes a [Similarity] of a function of one query and one key, both float32 and of the
// same size. The function must neither change nor keep them. It is called from several
// goroutines at once, more than once for some pairs, and for pairs that a mask hides, too.
// A result of -Inf hides the key, and a finite one does not, however low it is. If it
// panics, so does the call, as with kernel.Options.Score. The call is as fast as the
// function.
//
// A Func that returns q·k/√D gives the result of [ScaledDot], except for rounding: they
// differ by about 10^-6 of the largest value.
type Func func(q, k []float32) float32

// Attend implements [Similarity].
func (f Func) Attend(out, q, k, v kernel.Tensor, opts *kernel.Options) error {
	if f == nil {
		return &kernel.Error{Where: "layer.Func.Attend: Func", Got: "nil", Want: "a function"}
	}
	s := getScratch()
	defer s.release()
	c := &s.custom
	o := valueOf(opts)
	c.pair, c.factor = f, log2Units(scoring.ScaleOr(o.Scale, 1))
	return c.attend(out, q, k, v, &o)
}

// callPairs calls the user's function for every pair of a tile.
func (c *customScore) callPairs(t *kernel.ScoreTile) {
	for x := range t.Keys {
		k := c.key(t, x)
		for r, to := range t.Rows {
			q := row(&c.q, t.Batch, to.Head, to.Query)
			t.Scores[x*t.Stride+r] = c.inLog2Units(c.pair(q, k))
		}
	}
}

// inLog2Units converts a result of the user's function. A finite one stays finite: as -Inf it
// would hide the key.
func (c *customScore) inLog2Units(s float32) float32 {
	x := s * c.factor
	if s-s == 0 {
		return max(-math.MaxFloat32, min(x, math.MaxFloat32))
	}
	return x
}

// A customScore is a call of kernel.Attention whose scores a Func computes: its method
// modify is the call's Options.Score.
type customScore struct {
	q, k  kernel.Tensor
	group int // query heads per key head

	pair   Func    // the user's function,
	factor float32 // and what its results are multiplied by

	userScore func(*kernel.ScoreTile) // the caller's own Options.Score, or nil

	// modifyFunc is the method modify. It is made once, as making it allocates.
	modifyFunc func(*kernel.ScoreTile)
}

// attend calls kernel.Attention with the scores that c computes. It changes opts.
func (c *customScore) attend(out, q, k, v kernel.Tensor, opts *kernel.Options) error {
	for i, t := range [...]*kernel.Tensor{&q, &k} {
		if bad := viewOf(t).CheckPlainFloats("qk"[i : i+1]); bad != nil {
			return (*kernel.Error)(bad.In("layer.Func.Attend"))
		}
	}
	c.q, c.k, c.userScore = q, k, opts.Score
	c.group = q.Shape()[1] / max(1, k.Shape()[1])
	opts.Score = c.modifyFunc
	return kernel.Attention(out, q, k, v, opts)
}

// modify sets the scores of a tile, and then calls the caller's own Options.Score.
func (c *customScore) modify(t *kernel.ScoreTile) {
	c.callPairs(t)
	if c.userScore != nil {
		c.userScore(t)
	}
}

// key returns key x of a tile.
func (c *customScore) key(t *kernel.ScoreTile, x int) []float32 {
	return row(&c.k, t.Batch, t.Rows[0].Head/c.group, t.Key+x)
}

// reset drops everything that belongs to the caller.
func (c *customScore) reset() { *c = customScore{modifyFunc: c.modifyFunc} }

// log2Units converts a factor of natural scores to the unit of kernel.ScoreTile, x·log2
// e.
func log2Units(x float32) float32 { return float32(float64(x) * math.Log2E) }

// A Differentiable is a [Similarity] without weights of its own whose gradients are known:
// [ScaledDot], [Dot] and [Cosine]. [General] and [Additive] have weights: their methods Backward
// have further arguments.
type Differentiable interface {
	Similarity

	// Backward computes the gradients of Attend from dout, the gradient of its out. Shapes, options
	// and errors are as for [kernel.AttentionBackward]: opts are the options of the call of Attend,
	// and lse is the Options.LSE that it wrote.
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

// Backward implements [Differentiable]. With n = q/|q|, and dn the gradient of attention over the
// normalised queries n and keys k/|k|, a query has the gradient
//
//	dq = (dn - q·(q·dn)/|q|²)/|q|
//
// and a key likewise. It is zero for a query or a key of zeros, where the cosine has no derivative,
// and where dn is zero. q·dn and |q|² are summed up in float64, in ascending order, and the result
// is rounded at the end; a NaN is 0x7FC00000.
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
	if bad := cmp.Or(checkGradient("Gradients.Q", &g.Q, "q", q), checkGradient("Gradients.K", &g.K, "k", k), checkMask(&o.Scoring, q, k)); bad != nil {
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

// outputGradients lists the gradients of values, biases and sinks.
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

// normaliseBackward sets dx to the gradients of the rows of x, or adds them; dy has the gradients
// of x/|x|. A row without a gradient is not read: it may be a key that no query sees. dy is
// overwritten.
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

// normaliseRowBackward turns the gradient of x/|x| into the gradient of x.
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
