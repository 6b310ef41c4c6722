package network

import (
	"math"
	"slices"

	"github.com/attn-go/attn/activation"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/numeric"
)

// Experts are feed-forward networks; a router chooses some for each token. Outputs are the sums of
// the outputs of the token's experts, each times its share, in the order of the experts, so that
// the bits do not depend on the other rows. Shared's output is added last.
type Experts struct {
	Router     tensors.Linear
	Sigmoid    bool       // shares are logistic functions of scores, not their softmax
	Correction []float32  // is added to shares for the choice, or nil
	Groups     arch.Group // of which some are chosen first, if Count is not 0
	Used       int        // of a token
	Shares     bool       // the shares of those are divided by their sum and Least
	Least      float64
	Scale      float64        // multiplies shares
	Added      []float32      // is added to the sum, or nil
	In, Out    tensors.Linear // project what experts read, and the sum of what they write; without outputs they read and write states

	All        []Feed
	Shared     Feed           // of all tokens, or nil
	SharedGate tensors.Linear // of one output, whose logistic function multiplies Shared's; no parts: 1
}

func (f *Experts) feed(p *Pass, y, h []float32, rows int) error {
	defer p.release(p.mark())
	shares := p.floats.take(rows * len(f.All))
	if err := f.route(p, shares, h, rows); err != nil {
		return err
	}
	if f.In.N == 0 {
		return f.sum(p, y, h, shares, rows)
	}
	x, sum := p.floats.take(rows*f.In.N), p.floats.take(rows*f.In.N)
	if err := p.apply(&f.In, x, h, rows, len(h)/rows, 0); err != nil {
		return err
	}
	if err := f.routed(p, sum, x, shares, rows); err != nil {
		return err
	}
	if err := p.apply(&f.Out, y, sum, rows, f.In.N, 0); err != nil || f.Shared == nil {
		return err
	}
	return f.addShared(p, y, h, rows)
}

// route computes the shares of the experts of each row, 0 of those that are not chosen.
func (f *Experts) route(p *Pass, shares, h []float32, rows int) error {
	if err := p.apply(&f.Router, shares, h, rows, len(h)/rows, 0); err != nil {
		return err
	}
	return f.choose(p, shares, rows)
}

// sum adds what the chosen experts and Shared make of rows.
func (f *Experts) sum(p *Pass, y, h, shares []float32, rows int) error {
	if err := f.routed(p, y, h, shares, rows); err != nil || f.Shared == nil {
		return err
	}
	return f.addShared(p, y, h, rows)
}

// routed adds what the chosen experts make of rows.
func (f *Experts) routed(p *Pass, y, h, shares []float32, rows int) error {
	defer p.release(p.mark())
	n, w := len(f.All), len(h)/rows
	in, out, picked := p.floats.take(rows*w), p.floats.take(rows*w), p.ints.take(rows)
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
			addTimes(y[row*w:][:w], out[i*w:][:w], shares[row*n+e])
		}
	}
	for row := 0; row < rows && f.Added != nil; row++ {
		add(y[row*w:][:w], f.Added, 0)
	}
	return nil
}

// addTimes adds x times a factor to y.
func addTimes(y, x []float32, factor float32) {
	for j, z := range x {
		y[j] += float32(factor * z)
	}
}

// addShared adds what the network of all tokens makes of h to y.
func (f *Experts) addShared(p *Pass, y, h []float32, rows int) error {
	defer p.release(p.mark())
	out := p.floats.take(len(h))
	if err := f.Shared.feed(p, out, h, rows); err != nil {
		return err
	}
	w, gates := len(h)/rows, p.floats.take(rows)
	for i := range gates {
		gates[i] = 1
	}
	if f.SharedGate.N > 0 {
		if err := p.apply(&f.SharedGate, gates, h, rows, w, 0); err != nil {
			return err
		}
		if err := logistic(gates, p.Exec); err != nil {
			return err
		}
	}
	for row, gate := range gates {
		addTimes(y[row*w:][:w], out[row*w:][:w], gate)
	}
	return nil
}

// choose turns the scores of rows into shares, 0 of experts that are not chosen.
func (f *Experts) choose(p *Pass, scores []float32, rows int) error {
	n := len(f.All)
	top, groups := p.ints.take(f.Used), p.ints.take(f.Groups.Used)
	if !f.Sigmoid {
		for i := range rows {
			if err := f.softmax(scores[i*n:][:n], top, p.Exec); err != nil {
				return err
			}
		}
		return nil
	}
	if err := logistic(scores, p.Exec); err != nil {
		return err
	}
	corrected, sums := p.floats.take(n), p.floats.take(f.Groups.Count)
	for i := range rows {
		shares := scores[i*n:][:n]
		copy(corrected, shares)
		for e, x := range f.Correction {
			corrected[e] += x
		}
		if err := limit(corrected, sums, groups); err != nil {
			return err
		}
		if err := numeric.TopK(top, corrected); err != nil {
			return err
		}
		f.keep(shares, top, 1)
	}
	return nil
}

// limit hides the scores of all groups of neighbours but len(best): those with the largest sums
// of their two largest scores are left. Without sums there are no groups.
func limit(scores, sums []float32, best []int) error {
	if len(sums) == 0 {
		return nil
	}
	size := len(scores) / len(sums)
	for g := range sums {
		first, second := float32(math.Inf(-1)), float32(math.Inf(-1))
		for _, x := range scores[g*size:][:size] {
			if x > first {
				first, second = x, first
			} else if x > second {
				second = x
			}
		}
		sums[g] = first + second
	}
	if err := numeric.TopK(best, sums); err != nil {
		return err
	}
	for e := range scores {
		if !slices.Contains(best, e/size) {
			scores[e] = float32(math.Inf(-1))
		}
	}
	return nil
}

// softmax turns the scores of a row into shares: the softmax of all scores, of which those
// of the largest ones are left, the first of several equal ones.
func (f *Experts) softmax(scores []float32, top []int, exec kernel.Exec) error {
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
	for _, x := range scores {
		total += float64(x)
	}
	f.keep(scores, top, total)
	return nil
}

// keep leaves the shares of the chosen experts, divided by their sum, or by total if they need
// not add up to 1. Sums are float64. A share that is NaN stays, whoever is chosen.
func (f *Experts) keep(shares []float32, top []int, total float64) {
	if f.Shares {
		total = 0
		for _, e := range top {
			total += float64(shares[e])
		}
		total += f.Least
	}
	for _, e := range top {
		shares[e] = -float32(float64(float64(shares[e])/total) * f.Scale) // negative: chosen
	}
	for e, x := range shares {
		shares[e] = max(-x, 0)
		if x != x {
			shares[e] = x
		}
	}
}

// logistic turns x into 1/(1 + 2^(-x·log2 e)).
func logistic(x []float32, exec kernel.Exec) error {
	for i := range x {
		x[i] = float32(x[i] * -float32(math.Log2E))
	}
	err := numeric.Exp2Slice(x, x, exec)
	for i, e := range x {
		x[i] = 1 / (1 + e)
	}
	return err
}

// clamped returns the activation (clamp(up) + 1)·g·logistic(alpha·g), with g = min(gate, most) and
// clamp to ±most. g·logistic(alpha·g) is SiLU(alpha·g)/alpha.
func clamped(most, alpha float32) func(dst, gate, up []float32, exec kernel.Exec) error {
	return func(dst, gate, up []float32, exec kernel.Exec) error {
		for i, g := range gate {
			dst[i] = float32(min(g, most) * alpha)
		}
		err := activation.SiLU(dst, dst, exec)
		for i, u := range up {
			dst[i] = float32(float32(dst[i]/alpha) * (min(max(u, -most), most) + 1))
		}
		return err
	}
}
