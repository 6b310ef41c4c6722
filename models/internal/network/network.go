// Package network runs the layers of models: of encoders, cross-encoders and decoders alike. A [Network] is what a
// model has been read to, weights and constants, and never changes. A [Pass] is the tokens that go through it
// together, one text after the other, with the memory that they are computed in. A [Cache] is where attention
// finds keys and values: as they lie in the pass, or in pages with those of earlier passes.
//
// The bits of a token depend on those of its text alone, see package contract.
package network

import (
	"context"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/norm"
)

// A Network is the weights of a model and the order in which they are applied.
type Network struct {
	Width  int // of the states of tokens
	Embed  Embedding
	Layers []Layer
	Final  *Norm // of the states after the last layer, or nil
	Ropes  []arch.Rope
}

// A Layer has two parts: the first mixes tokens, the second computes each alone.
type Layer struct {
	Mix   Mixer
	Mixed Norms
	Feed  Feed
	Fed   Norms
}

// Norms are those around a part of a layer, which reads the states h and whose outputs y are added to the states x.
type Norms struct {
	Before *Norm // h is Before(x); without it h is x
	After  *Norm // y becomes After(y), or, with Post, x becomes After(y + x)
	Post   bool
}

// A Mixer computes outputs y of states h, [tokens, Width], from those of all tokens of a text, as a layer of the pass. It
// writes the rows of y that the layer wants.
type Mixer interface {
	mix(p *Pass, layer int, y, h []float32) error
	layers() []tensors.Linear
}

// A Feed computes outputs y, [rows, Width], of states h, each of one token.
type Feed interface {
	feed(p *Pass, y, h []float32, rows int) error
	layers() []tensors.Linear
}

// A Norm is one of the sums of squares of rows, RMSNorm, or with Centred one that takes off their mean, too, LayerNorm.
type Norm struct {
	Weight, Bias []float32 // Bias may be nil
	Epsilon      float32
	Centred      bool
}

// apply writes the norm of the rows of in, or of in + x if x is not nil, to out. With sum, x becomes that sum.
func (a *Norm) apply(exec kernel.Exec, out, in, x []float32, sum bool) error {
	w := len(a.Weight)
	rows := func(x []float32) kernel.Tensor { return kernel.BHLD(x, 1, 1, len(x)/w, w) }
	o := norm.Options{Exec: exec}
	if x != nil {
		o.Residual = rows(x)
	}
	if sum {
		o.Sum = o.Residual
	}
	return a.of(rows(out), rows(in), o)
}

func (a *Norm) of(out, in kernel.Tensor, o norm.Options) error {
	if a.Centred {
		return norm.LayerNorm(out, in, a.Weight, a.Bias, a.Epsilon, o)
	}
	return norm.RMSNorm(out, in, a.Weight, a.Epsilon, o)
}

// Run computes the states of the wanted tokens after the last layer, [wanted tokens, Width], in the order of the tokens. They
// are valid until the next call with the pass. ctx is checked before each layer.
func (n *Network) Run(ctx context.Context, p *Pass) ([]float32, error) {
	p.release(mark{})
	rows := len(p.Tokens)
	x := p.floats.take(rows * n.Width) // the states
	h := x                             // what the parts of a layer read
	if n.Final != nil {
		h = p.floats.take(rows * n.Width)
	}
	y := p.floats.take(rows * n.Width) // what a part makes of it
	if err := n.Embed.look(p, x, n.Width); err != nil {
		return nil, err
	}
	p.see("embd", 0, x)
	if err := n.begin(p, x, h); err != nil {
		return nil, err
	}
	for i := range n.Layers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		l := &n.Layers[i]
		p.only = !p.All && i == len(n.Layers)-1
		p.see("layer.norm", i, h)
		if err := l.Mix.mix(p, i, y, h); err != nil {
			return nil, err
		}
		if p.only {
			if rows = len(p.Wanted); rows == 0 {
				return nil, nil
			}
			gather(x, p.Wanted, n.Width)
			x, h, y = x[:rows*n.Width], h[:rows*n.Width], y[:rows*n.Width]
		}
		if err := l.Mixed.join(p, x, h, y, l.Fed.Before); err != nil {
			return nil, err
		}
		p.see("layer.ffn_norm", i, h)
		if err := l.Feed.feed(p, y, h, rows); err != nil {
			return nil, err
		}
		p.see("layer.ffn", i, y)
		next := n.Final
		if i+1 < len(n.Layers) {
			next = n.Layers[i+1].Mixed.Before
		}
		if err := l.Fed.join(p, x, h, y, next); err != nil {
			return nil, err
		}
		p.see("hidden", i, x)
	}
	p.see("norm", 0, h)
	return h, nil
}

// begin computes what the first layer reads of the states.
func (n *Network) begin(p *Pass, x, h []float32) error {
	next := n.Final
	if len(n.Layers) > 0 {
		next = n.Layers[0].Mixed.Before
	}
	if next != nil {
		return next.apply(p.Exec, h, x, nil, false)
	}
	copy(h, x)
	return nil
}

// join adds the outputs of a part to the states and computes what the next one reads.
func (a *Norms) join(p *Pass, x, h, y []float32, next *Norm) error {
	if a.Post {
		return a.After.apply(p.Exec, x, y, x, false)
	}
	if a.After != nil {
		if err := a.After.apply(p.Exec, y, y, nil, false); err != nil {
			return err
		}
	}
	if next != nil {
		return next.apply(p.Exec, h, y, x, true)
	}
	for i, z := range y {
		x[i] += z
	}
	copy(h, x)
	return nil
}

// gather moves rows to the front. They are in ascending order.
func gather(x []float32, rows []int, width int) {
	for i, row := range rows {
		copy(x[i*width:][:width], x[row*width:])
	}
}
