package layer

import (
	"math"

	"github.com/attn-go/attn/kernel"
)

// A scorer is a call whose scores are computed by its hook, Options.Score, which is
// made once: a func value per call would allocate.
type scorer struct {
	q, k  kernel.Tensor
	group int // query heads per key head

	// rescore computes the scores of a tile, which holds products of q and k.
	rescore func(s *scorer, t *kernel.ScoreTile)
	pair    Func    // for Func
	factor  float32 // and what it is multiplied by

	next func(*kernel.ScoreTile) // the caller's own hook
	hook func(*kernel.ScoreTile)
}

// attend calls kernel.Attention with the hook.
func (s *scorer) attend(out, q, k, v kernel.Tensor, opts kernel.Options) error {
	for i, t := range [...]*kernel.Tensor{&q, &k} {
		if err := checkFloats("qk"[i:i+1], t); err != nil {
			return err
		}
	}
	s.q, s.k, s.next = q, k, opts.Score
	s.group = q.Shape()[1] / max(1, k.Shape()[1])
	opts.Score = s.hook
	return kernel.Attention(out, q, k, v, opts)
}

// score is the hook.
func (s *scorer) score(t *kernel.ScoreTile) {
	s.rescore(s, t)
	if s.next != nil {
		s.next(t)
	}
}

// key returns key x of a tile.
func (s *scorer) key(t *kernel.ScoreTile, x int) []float32 {
	return row(&s.k, t.Batch, t.Rows[0].Head/s.group, t.Key+x)
}

// forget drops what belongs to the caller.
func (s *scorer) forget() { *s = scorer{hook: s.hook} }

// log2Units is x·log2 e: natural exponents in the unit of kernel's scores.
func log2Units(x float32) float32 { return float32(float64(x) * math.Log2E) }
