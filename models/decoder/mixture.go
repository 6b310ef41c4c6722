package decoder

import (
	"math"

	"github.com/attn-go/attn/numeric"
)

// A mix is the memory of a mixture of experts.
type mix struct {
	scores []float32 // [rows, Experts] of each expert; then its share, 0 if it is not chosen
	top    []int     // the experts of a row
	picked []int     // the rows of an expert
	in     []float32 // [picked rows, Width]
	out    []float32 // [picked rows, Width]
}

// fit makes room for some rows.
func (m *mix) fit(c *Config, rows int) {
	if c.Experts == 0 {
		return
	}
	m.scores, m.top = resized(m.scores, rows*c.Experts), resized(m.top, c.ExpertsUsed)
	m.in, m.out = resized(m.in, rows*c.Width), resized(m.out, rows*c.Width)
}

// mixture computes the outputs of a layer with experts: of each row the sum of those of its
// experts, each times its share, in the order of the experts, so that the bits do not depend on the
// other rows.
func (s *Session) mixture(b *block, rows int) error {
	c := &s.model.config
	if err := s.apply(b.router, s.scores, s.normed, rows, c.Width); err != nil {
		return err
	}
	for i := range rows {
		if err := s.share(s.scores[i*c.Experts:][:c.Experts]); err != nil {
			return err
		}
	}
	clear(s.delta[:rows*c.Width])
	for e := range b.experts {
		if s.pick(e, rows); len(s.picked) == 0 {
			continue
		}
		if err := s.gated(&b.experts[e], s.out, s.in, len(s.picked)); err != nil {
			return err
		}
		for i, row := range s.picked {
			sum, share := s.delta[row*c.Width:][:c.Width], s.scores[row*c.Experts+e]
			for j, y := range s.out[i*c.Width:][:c.Width] {
				sum[j] += float32(share * y)
			}
		}
	}
	return nil
}

// share turns the scores of a row into shares: the softmax of all scores, of which those of the
// largest ones are left, the first of several equal ones. Sums are float64.
func (s *Session) share(scores []float32) error {
	c := &s.model.config
	if err := numeric.TopK(s.top, scores); err != nil {
		return err
	}
	largest := scores[s.top[0]]
	for i, x := range scores {
		scores[i] = float32((x - largest) * float32(math.Log2E))
	}
	if err := numeric.Exp2Slice(scores, scores, s.model.options.Exec); err != nil {
		return err
	}
	total := 0.0
	if c.ExpertShares {
		for _, e := range s.top {
			total += float64(scores[e])
		}
	} else {
		total = sum(scores)
	}
	for _, e := range s.top {
		scores[e] = -float32(float64(scores[e]) / total) // negative: chosen
	}
	for e, x := range scores {
		scores[e] = max(-x, 0)
		if x != x {
			scores[e] = x
		}
	}
	return nil
}

// pick gathers the rows of an expert.
func (s *Session) pick(expert, rows int) {
	c := &s.model.config
	s.picked = s.picked[:0]
	for row := range rows {
		if s.scores[row*c.Experts+expert] != 0 {
			copy(s.in[len(s.picked)*c.Width:][:c.Width], s.normed[row*c.Width:])
			s.picked = append(s.picked, row)
		}
	}
}
