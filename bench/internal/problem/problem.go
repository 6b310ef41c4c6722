// Package problem holds the inputs of attention that are checked and timed: activations
// of trained models, and shapes with random numbers.
package problem

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
)

// A Problem is the input of one call of attention.
type Problem struct {
	Name    string
	Q, K, V Array
	Causal  bool
	Lengths []int // how many keys are valid, for each batch row; nil: all

	PyTorch Array  // PyTorch's result, if it is known
	SHA256  string // of the result by the numeric contract, if it is known
}

// Batch returns the number of batch rows.
func (p *Problem) Batch() int { return p.Q.Shape[0] }

// Heads returns the number of query heads.
func (p *Problem) Heads() int { return p.Q.Shape[1] }

// KVHeads returns the number of key and value heads.
func (p *Problem) KVHeads() int { return p.K.Shape[1] }

// Lq returns the number of queries of each head.
func (p *Problem) Lq() int { return p.Q.Shape[2] }

// Lk returns the number of keys of each head.
func (p *Problem) Lk() int { return p.K.Shape[2] }

// D returns the head size of queries and keys.
func (p *Problem) D() int { return p.Q.Shape[3] }

// Dv returns the head size of values.
func (p *Problem) Dv() int { return p.V.Shape[3] }

// KVHead returns the key and value head that query head h uses.
func (p *Problem) KVHead(h int) int { return h / (p.Heads() / p.KVHeads()) }

// NewOut returns an array for the result.
func (p *Problem) NewOut() Array {
	return NewArray([4]int{p.Batch(), p.Heads(), p.Lq(), p.Dv()})
}

func (p *Problem) mask() kernel.Mask {
	var m kernel.Mask
	if p.Causal {
		m = m.And(kernel.Causal(0))
	}
	if p.Lengths != nil {
		m = m.And(kernel.KeyLengths(p.Lengths))
	}
	return m
}

// Visible returns n: query i of batch row b sees the first n keys.
func (p *Problem) Visible(b, i int) int {
	n := p.Lk()
	if p.Lengths != nil {
		n = p.Lengths[b]
	}
	if p.Causal {
		n = min(n, i+1)
	}
	return n
}

// Flops counts 2·(D+Dv) operations, half multiplications and half additions, for each
// head and each pair of a query and a key that it sees. A causal square counts as half of
// the full square, as is usual.
func (p *Problem) Flops() float64 {
	perPair := 2 * float64(p.Heads()) * float64(p.D()+p.Dv())
	if p.Causal && p.Lengths == nil && p.Lq() == p.Lk() {
		return perPair * float64(p.Batch()) * float64(p.Lq()) * float64(p.Lk()) / 2
	}
	pairs := 0.0
	for b := range p.Batch() {
		for i := range p.Lq() {
			pairs += float64(p.Visible(b, i))
		}
	}
	return perPair * pairs
}

// Bytes returns the size of queries, keys, values and output.
func (p *Problem) Bytes() float64 {
	n := float64(p.Batch()*p.Heads()) * float64(p.Lq()*p.Dv())
	for _, a := range []*Array{&p.Q, &p.K, &p.V} {
		n += float64(a.Shape[0]*a.Shape[1]) * float64(a.Shape[2]*a.Shape[3])
	}
	return 4 * n
}

// Describe returns the shape in a few words.
func (p *Problem) Describe() string {
	s := fmt.Sprintf("%d heads %d×%d D%d", p.Heads(), p.Lq(), p.Lk(), p.D())
	if p.KVHeads() != p.Heads() {
		s = fmt.Sprintf("%d heads on %d, %d×%d D%d", p.Heads(), p.KVHeads(), p.Lq(), p.Lk(), p.D())
	}
	if p.Dv() != p.D() {
		s += fmt.Sprintf(" Dv%d", p.Dv())
	}
	if p.Batch() != 1 {
		s = fmt.Sprintf("batch %d, ", p.Batch()) + s
	}
	if p.Causal {
		s += " causal"
	}
	if p.Lengths != nil {
		s += " key lengths"
	}
	return s
}

// Fault, if not nil, is called after each call of Attend, with its result and options. Tests spoil
// results with it, to see that wrong ones are noticed. (A function in place of kernel.Attention
// would move the options of each call to the heap, which takes a third of the time of short calls.)
var Fault func(p *Problem, out *Array, exec kernel.Exec)

// Attend computes the problem on a tier.
func (p *Problem) Attend(out *Array, tier kernel.Tier, threads int) error {
	opts := kernel.Options{Scoring: kernel.Scoring{Mask: p.mask()}, Exec: kernel.Exec{Tier: tier, Threads: threads}}
	err := kernel.Attention(out.Tensor(), p.Q.Tensor(), p.K.Tensor(), p.V.Tensor(), &opts)
	if err == nil && Fault != nil {
		Fault(p, out, opts.Exec)
	}
	return err
}
