package network

import (
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
	"github.com/attn-go/attn/numeric"
)

// A Cache is where attention of a pass finds keys and values, and recurrent layers find
// their states.
type Cache interface {
	// keep takes the keys and values of a layer. It may change queries, keys and values.
	keep(p *Pass, layer int, a *Attention, qkv []float32) error
	// read returns all keys and values of each text, and the scoring of queries over
	// them, whose mask is causal.
	read(p *Pass, layer int, a *Attention, qkv []float32) (k, v kernel.Tensor, s kernel.Scoring)
	// restore undoes in what attention returns what keep has changed.
	restore(p *Pass, out []float32) error
	// carry returns the states of a text.
	carry(text int) Carry
}

// Whole is the cache of passes that have all tokens of their texts: keys and values stay
// where they are.
type Whole struct{}

func (Whole) keep(*Pass, int, *Attention, []float32) error { return nil }

func (Whole) read(p *Pass, _ int, a *Attention, qkv []float32) (k, v kernel.Tensor, s kernel.Scoring) {
	at := func(offset, size int) kernel.Tensor { return p.heads(qkv, offset, a.KVHeads, size, a.width()) }
	return at(a.keys(), a.Size), at(a.values(), a.valueSize()), kernel.Scoring{Mask: kernel.Causal(0)}
}

func (Whole) restore(*Pass, []float32) error { return nil }
func (Whole) carry(int) Carry                { return Carry{} }

// Paged is the cache of texts that grow, whose new tokens the pass has.
type Paged struct {
	Groups []*kvcache.Batch // of layers, with pages of their own
	Hadamard
	Carries []Carry // of each text
	Places  []Place // of the keys and values of each layer
}

// A Place is where a layer finds keys and values: a group, and the number of a layer there.
type Place struct{ Group, Layer int }

// Places numbers the layers that keep keys and values. Layers that share them have one number.
func (n *Network) Places() []int {
	places, next := make([]int, len(n.Layers)), 0
	for i, l := range n.Layers {
		if a, ok := l.Mix.(*Attention); ok && a.Source > 0 {
			places[i] = places[a.Source-1]
			continue
		}
		if places[i] = next; l.Mix.keepsKeys() {
			next++
		}
	}
	return places
}

// A Hadamard says what is rotated before it goes to the cache. H is the Hadamard matrix of a block,
// its own inverse: (q·H)·(k·H) is q·k, and the weighted sum of rows v·H, times H, is the sum of the
// rows v.
type Hadamard struct {
	Block        int // elements
	Keys, Values bool
}

func (c *Paged) keep(p *Pass, layer int, a *Attention, qkv []float32) error {
	if c.Keys || c.Values {
		if err := spread(p, len(p.Tokens), a.width(), turned{a, c.Hadamard, qkv}, turn); err != nil {
			return err
		}
	}
	if a.Source > 0 {
		return nil
	}
	at := func(offset int) kernel.Tensor { return p.heads(qkv, offset, a.KVHeads, a.Size, a.width()) }
	place := c.Places[layer]
	group := c.Groups[place.Group]
	if a.InKeys > 0 {
		return group.Store(place.Layer, at(a.keys()), kernel.Tensor{})
	}
	return group.Store(place.Layer, at(a.keys()), at(a.values()))
}

func (c *Paged) read(_ *Pass, layer int, _ *Attention, _ []float32) (k, v kernel.Tensor, s kernel.Scoring) {
	place := c.Places[layer]
	group := c.Groups[place.Group]
	k, v = group.View(place.Layer)
	return k, v, group.Scoring()
}

func (c *Paged) carry(text int) Carry { return c.Carries[text] }

func (c *Paged) restore(p *Pass, out []float32) error {
	if !c.Values {
		return nil
	}
	return numeric.Hadamard(out, c.Block, p.Exec)
}

// A turned is queries, keys and values that are rotated for the cache.
type turned struct {
	*Attention
	Hadamard
	qkv []float32
}

// turn rotates the queries and keys of some rows, and their values, as far as the cache
// wants that.
func turn(p *Pass, a turned, lo, hi int) error {
	first, end := 0, a.gates()
	if !a.Keys {
		first = a.values()
	}
	if !a.Values {
		end = a.values()
	}
	for row := lo; row < hi; row++ {
		if err := numeric.Hadamard(a.qkv[row*a.width():][first:end], a.Block, p.oneThread()); err != nil {
			return err
		}
	}
	return nil
}
