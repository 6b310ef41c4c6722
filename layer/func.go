package layer

import "github.com/attn-go/attn/kernel"

// Func makes a [Similarity] of a function of one query and one key, of the same
// size, which it must not change or keep. It is called from several goroutines
// at once, more than once for a pair, and for pairs that a mask hides. Queries and
// keys are float32.
//
// The engine does the rest as ever: written as the scaled dot product, a Func gives
// the result of [ScaledDot] to within some 10^-6 of the largest value, which is what
// another order of rounding makes of the scores. It is as fast as the function.
type Func func(q, k []float32) float32

// Attend implements [Similarity].
func (f Func) Attend(out, q, k, v kernel.Tensor, opts kernel.Options) error {
	if f == nil {
		return &kernel.ArgumentError{Arg: "Func", Got: "nil", Want: "a function"}
	}
	s := borrow()
	defer s.giveBack()
	c := &s.scorer
	c.rescore, c.pair, c.factor = (*scorer).callPairs, f, log2Units(1)
	if opts.Scale != 0 {
		c.factor = log2Units(opts.Scale)
	}
	return c.attend(out, q, k, v, opts)
}

func (s *scorer) callPairs(t *kernel.ScoreTile) {
	for x := range t.Keys {
		k := s.key(t, x)
		for r, to := range t.Rows {
			q := row(&s.q, t.Batch, to.Head, to.Query)
			t.Scores[x*t.Stride+r] = s.pair(q, k) * s.factor
		}
	}
}
