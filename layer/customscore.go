package layer

import (
	"math"

	"github.com/attn-go/attn/kernel"
)

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
