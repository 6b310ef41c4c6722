package network

import (
	"math"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/numeric"
)

// Experts are feed-forward networks of which a router gives each token some. Outputs are
// the sums of the outputs of the token's experts, each times its share, in the order of
// the experts, so that the bits do not depend on the other rows.
type Experts struct {
	Router tensors.Linear
	All    []Gated
	Used   int  // of a token
	Shares bool // the shares of those add up to 1
}

func (f *Experts) feed(p *Pass, y, h []float32, rows int) error {
	defer p.release(p.mark())
	n, w := len(f.All), len(h)/rows
	shares, in, out := p.floats.take(rows*n), p.floats.take(rows*w), p.floats.take(rows*w)
	top, picked := p.ints.take(f.Used), p.ints.take(rows)
	if err := p.apply(&f.Router, shares, h, rows, w, 0); err != nil {
		return err
	}
	for i := range rows {
		if err := f.share(shares[i*n:][:n], top, p.Exec); err != nil {
			return err
		}
	}
	clear(y)
	for e := range f.All {
		picked = picked[:0]
		for row := range rows {
			if shares[row*n+e] != 0 {
				copy(in[len(picked)*w:][:w], h[row*w:])
				picked = append(picked, row)
			}
		}
		if len(picked) == 0 {
			continue
		}
		if err := f.All[e].feed(p, out, in[:len(picked)*w], len(picked)); err != nil {
			return err
		}
		for i, row := range picked {
			sum, share := y[row*w:][:w], shares[row*n+e]
			for j, z := range out[i*w:][:w] {
				sum[j] += float32(share * z)
			}
		}
	}
	return nil
}

// share turns the scores of a row into shares: the softmax of all scores, of which those
// of the largest ones are left, the first of several equal ones. Sums are float64.
func (f *Experts) share(scores []float32, top []int, exec kernel.Exec) error {
	if err := numeric.TopK(top, scores); err != nil {
		return err
	}
	largest := scores[top[0]]
	for i, x := range scores {
		scores[i] = float32((x - largest) * float32(math.Log2E))
	}
	if err := numeric.Exp2Slice(scores, scores, exec); err != nil {
		return err
	}
	total := 0.0
	if f.Shares {
		for _, e := range top {
			total += float64(scores[e])
		}
	} else {
		for _, x := range scores {
			total += float64(x)
		}
	}
	for _, e := range top {
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
