package layer

import (
	"math"

	"github.com/attn-go/attn/internal/scoring"
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
	// Attend computes out = softmax(similarity(q, k), masked)·v. Shapes, options and
	// errors are those of [kernel.Attention]. Options.Scale multiplies the similarity.
	// Its default, 0, stands for the formula of the similarity as it is: 1, but 1/√D for ScaledDot. -0 is 0.
	// nil stands for the zero Options. What opts points to moves to the heap when Attend is called by an interface:
	// a program that must not allocate keeps its Options.
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
