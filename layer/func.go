package layer

import (
	"math"

	"github.com/attn-go/attn/internal/scoring"
	"github.com/attn-go/attn/kernel"
)

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
