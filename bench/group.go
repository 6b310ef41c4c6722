package main

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
)

// array is a contiguous [B, H, L, D] tensor.
type array struct {
	data  []float32
	shape [4]int
}

func newArray(b, h, l, d int) array {
	return array{make([]float32, b*h*l*d), [4]int{b, h, l, d}}
}

func (a *array) tensor() kernel.Tensor {
	return kernel.BHLD(a.data, a.shape[0], a.shape[1], a.shape[2], a.shape[3])
}

// head returns the rows of head h of batch row b.
func (a *array) head(b, h int) []float32 {
	n := a.shape[2] * a.shape[3]
	at := (b*a.shape[1] + h) * n
	return a.data[at : at+n]
}

// group is the input of one attention call.
type group struct {
	name    string
	q, k, v array
	causal  bool
	offset  int   // query i sees keys up to offset+i
	lengths []int // of the keys, per batch row; nil: all

	theirs array  // PyTorch's result, if known
	sha    string // of the result by the contract, if known
}

func (g *group) batch() int { return g.q.shape[0] }
func (g *group) heads() int { return g.q.shape[1] }
func (g *group) lq() int    { return g.q.shape[2] }
func (g *group) lk() int    { return g.k.shape[2] }

// kvHead is the key and value head that query head h uses.
func (g *group) kvHead(h int) int { return h / (g.heads() / g.k.shape[1]) }

func (g *group) newOut() array {
	return newArray(g.batch(), g.heads(), g.lq(), g.v.shape[3])
}

func (g *group) mask() kernel.Mask {
	var m kernel.Mask
	if g.causal {
		m = m.And(kernel.Causal(g.offset))
	}
	if g.lengths != nil {
		m = m.And(kernel.KeyLengths(g.lengths))
	}
	return m
}

// visible is the number of keys that query i of batch row b sees: the first.
func (g *group) visible(b, i int) int {
	n := g.lk()
	if g.lengths != nil {
		n = g.lengths[b]
	}
	if g.causal && g.offset < n {
		n = max(0, min(n, g.offset+i+1))
	}
	return n
}

// flops counts a product and a sum for every visible pair of query and key and
// each of their elements. A whole causal square counts as half of the square.
func (g *group) flops() float64 {
	perPair := 2 * float64(g.heads()) * float64(g.q.shape[3]+g.v.shape[3])
	if g.causal && g.offset == 0 && g.lengths == nil && g.lq() == g.lk() {
		return perPair * float64(g.batch()) * float64(g.lq()) * float64(g.lk()) / 2
	}
	pairs := 0.0
	for b := range g.batch() {
		for i := range g.lq() {
			pairs += float64(g.visible(b, i))
		}
	}
	return perPair * pairs
}

// describe tells the shape in a few words.
func (g *group) describe() string {
	s := fmt.Sprintf("%d heads %d×%d D%d", g.heads(), g.lq(), g.lk(), g.q.shape[3])
	if kv := g.k.shape[1]; kv != g.heads() {
		s = fmt.Sprintf("%d heads on %d, %d×%d D%d", g.heads(), kv, g.lq(), g.lk(), g.q.shape[3])
	}
	if dv := g.v.shape[3]; dv != g.q.shape[3] {
		s += fmt.Sprintf(" Dv%d", dv)
	}
	if g.batch() != 1 {
		s = fmt.Sprintf("batch %d, ", g.batch()) + s
	}
	if g.causal {
		s += " causal"
	}
	if g.offset != 0 {
		s += fmt.Sprintf(" offset %d", g.offset)
	}
	if g.lengths != nil {
		s += " key lengths"
	}
	return s
}

// attention is the call that is checked and timed; tests damage it.
var attention = kernel.Attention

// attend computes the group on one tier into out.
func (g *group) attend(out *array, tier string, threads int) error {
	opts := kernel.Options{Mask: g.mask(), Exec: kernel.Exec{Tier: tier, Threads: threads}}
	return attention(out.tensor(), g.q.tensor(), g.k.tensor(), g.v.tensor(), opts)
}
