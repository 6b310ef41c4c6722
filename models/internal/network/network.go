// Package network runs the layers of models: of encoders, cross-encoders and decoders alike. A
// [Network] is what a model has been read to, weights and constants, and never changes. A [Pass] is
// the tokens that go through it together, one text after the other, with the memory that they are
// computed in. A [Cache] is where attention finds keys and values: as they lie in the pass, or in
// pages with keys and values of earlier passes.
//
// The bits of a token depend on its text alone, see package contract.
package network

import (
	"context"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/norm"
)

// A Network is the weights of a model and the order in which they are applied.
type Network struct {
	Width   int // of the states of tokens
	Embed   Embedding
	Inputs  *Inputs  // or nil
	Streams *Streams // or nil
	Layers  []Layer
	Final   *Norm          // of the states after the last layer, or nil
	Project tensors.Linear // of these; without outputs there is none
	Ropes   []arch.Rope
}

// A Layer has two parts: the first mixes tokens, the second computes each alone.
type Layer struct {
	Mix   Mixer
	Mixed Norms
	Feed  Feed
	Fed   Norms
	Own   Feed // a third part, or nil
	Owned Norms

	AltUp  *AltUp  // or nil
	Laurel *Laurel // or nil
}

// Norms are those around a part of a layer, which reads the states h and whose outputs y
// are added to the states x.
type Norms struct {
	Before *Norm // h is Before(x); without it, with Post or in the first layer, h is x
	After  *Norm // y becomes After(y), or, with Post, x becomes After(y + x)
	Post   bool
	Share  float32 // y is multiplied by it before it is added, if it is not 0
	Beside bool    // the next part reads the same h, not a norm of x
	Scale  float32 // x + y is multiplied by it, if it is not 0
}

// A Mixer computes outputs y of states h, [tokens, Width], from the states of all tokens of a text,
// as a layer of the pass. It writes the rows of y that the layer wants.
type Mixer interface {
	mix(p *Pass, layer int, y, h []float32) error
	layers() []tensors.Linear
	keepsKeys() bool                     // in the cache
	carries(after int) (taps, state int) // numbers from so many tokens of a text to the next one, see State
}

// A Feed computes outputs y, [rows, Width], of states h, each of one token.
type Feed interface {
	feed(p *Pass, y, h []float32, rows int) error
	layers() []tensors.Linear
}

// nothing is a part that a layer does not have.
type nothing struct{}

func (nothing) mix(_ *Pass, _ int, y, _ []float32) error  { clear(y); return nil }
func (nothing) feed(_ *Pass, y, _ []float32, _ int) error { clear(y); return nil }
func (nothing) layers() []tensors.Linear                  { return nil }
func (nothing) keepsKeys() bool                           { return false }
func (nothing) carries(int) (taps, state int)             { return 0, 0 }

// A Norm divides rows by their root mean square, RMSNorm, or with Centred takes off their mean,
// too, LayerNorm.
type Norm struct {
	Weight, Bias []float32 // Bias may be nil
	Epsilon      float32
	Centred      bool
}

// apply writes the norm of the rows of in, or of in + x if x is not nil, to out. With
// sum, x becomes that sum.
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

// between is for how long workers spin on for the next layer, or for the next step after the last
// one: the calls of a layer follow each other, but not all use several threads.
const between = time.Millisecond

// Run computes the states of the wanted tokens after the last layer, [wanted tokens, Width], or
// what Project makes of them, in the order of the tokens. They are valid until the next call with
// the pass. ctx is checked before each layer.
func (n *Network) Run(ctx context.Context, p *Pass) ([]float32, error) {
	s, err := n.begin(p)
	if err != nil {
		return nil, err
	}
	for i := range n.Layers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if p.Exec.Threads != 1 {
			kernel.KeepSpinning(between)
		}
		if err := n.layer(p, i, s); err != nil || s.rows == 0 {
			return nil, err
		}
	}
	if n.Streams != nil {
		if err := n.Streams.end(p, s, n.Final); err != nil {
			return nil, err
		}
	}
	out := s.h
	if n.Project.N > 0 {
		out = p.floats.take(s.rows * n.Project.N)
		if err := p.apply(&n.Project, out, s.h, s.rows, n.Width, 0); err != nil {
			return nil, err
		}
	}
	p.see("norm", 0, out)
	return out, nil
}

// A stream is rows of Width numbers, in memory of the pass.
type stream struct {
	rows int
	x    []float32 // the states
	h    []float32 // what the next part of a layer reads; x itself if no norm stands before any
	y    []float32 // what the last part has made of it

	others [][]float32 // states beside x, of models with Streams
	before []float32   // the prediction of x, likewise
}

// begin computes the first states, and what the first layer reads of them.
func (n *Network) begin(p *Pass) (*stream, error) {
	p.release(mark{})
	s := &p.stream
	s.rows = len(p.Tokens)
	s.x, s.y = p.floats.take(s.rows*n.Width), p.floats.take(s.rows*n.Width)
	s.h = s.x
	if err := n.Embed.look(p, s.x); err != nil {
		return nil, err
	}
	p.see("embd", 0, s.x)
	if n.Inputs != nil {
		if err := n.Inputs.compute(p, n.Embed.Placeholders.Known(p.Tokens), s.x, s.rows); err != nil {
			return nil, err
		}
	}
	if n.Streams != nil {
		if err := n.Streams.begin(p, s); err != nil {
			return nil, err
		}
	}
	if n.Final == nil {
		return s, nil
	}
	s.h = p.floats.take(s.rows * n.Width)
	if first := n.Layers[0].Mixed.Before; first != nil {
		return s, first.apply(p.Exec, s.h, s.x, nil, false)
	}
	copy(s.h, s.x)
	return s, nil
}

// layer computes a layer, the last one for the wanted rows alone once its keys and values
// are kept.
func (n *Network) layer(p *Pass, i int, s *stream) error {
	l, next := &n.Layers[i], n.Final
	if i+1 < len(n.Layers) {
		next = n.Layers[i+1].Mixed.Before
	}
	p.only = !p.All && i == len(n.Layers)-1
	if l.AltUp != nil {
		next = nil
		defer p.release(p.mark())
		if err := l.AltUp.predict(p, s, l.Mixed.Before); err != nil {
			return err
		}
	}
	p.see("layer.norm", i, s.h)
	if err := l.Mix.mix(p, i, s.y, s.h); err != nil {
		return err
	}
	if p.only {
		gather(s.x, p.Wanted, n.Width)
		s.gatherOthers(p.Wanted, n.Width)
		if l.Mixed.Beside || l.Laurel != nil {
			gather(s.h, p.Wanted, n.Width)
		}
		s.rows = len(p.Wanted)
		s.x, s.h, s.y = s.x[:s.rows*n.Width], s.h[:s.rows*n.Width], s.y[:s.rows*n.Width]
	}
	if s.rows == 0 {
		return nil
	}
	if err := l.mixed(p, s); err != nil {
		return err
	}
	p.see("layer.ffn_norm", i, s.h)
	if err := l.Feed.feed(p, s.y, s.h, s.rows); err != nil {
		return err
	}
	p.see("layer.ffn", i, s.y)
	last := &l.Fed
	switch {
	case l.AltUp != nil:
		if err := l.Fed.join(p, s, nil); err != nil {
			return err
		}
		err := l.alternate(p, s)
		p.see("hidden", i, s.x)
		return err
	case l.Own != nil:
		if err := l.Fed.join(p, s, nil); err != nil {
			return err
		}
		if err := l.Own.feed(p, s.y, s.h, s.rows); err != nil {
			return err
		}
		last = &l.Owned
	}
	err := last.join(p, s, next)
	p.see("hidden", i, s.x)
	return err
}

// mixed adds the outputs of the mixer to the states, and what the next part reads.
func (l *Layer) mixed(p *Pass, s *stream) error {
	how := l.Mixed
	if l.Laurel != nil {
		if err := how.After.apply(p.Exec, s.y, s.y, nil, false); err != nil {
			return err
		}
		if err := l.Laurel.join(p, s.y, s.h, s.rows); err != nil {
			return err
		}
		how.After = nil
	}
	return how.join(p, s, l.Fed.Before)
}

// join adds the outputs of a part to the states and computes what the next one reads.
func (a *Norms) join(p *Pass, s *stream, next *Norm) error {
	if a.Post {
		return a.After.apply(p.Exec, s.x, s.y, s.x, false)
	}
	if a.After != nil {
		if err := a.After.apply(p.Exec, s.y, s.y, nil, false); err != nil {
			return err
		}
	}
	if a.Share != 0 {
		scale(s.y, a.Share)
	}
	if next != nil && a.Scale == 0 {
		return next.apply(p.Exec, s.h, s.y, s.x, true)
	}
	if add(s.x, s.y, 0); a.Scale != 0 {
		scale(s.x, a.Scale)
	}
	switch {
	case next != nil:
		return next.apply(p.Exec, s.h, s.x, nil, false)
	case !a.Beside:
		copy(s.h, s.x)
	}
	return nil
}

// gatherOthers is gather for the states beside the first ones, and their prediction.
func (s *stream) gatherOthers(rows []int, width int) {
	for i, x := range s.others {
		gather(x, rows, width)
		s.others[i] = x[:len(rows)*width]
	}
	if len(s.others) > 0 {
		gather(s.before, rows, width)
		s.before = s.before[:len(rows)*width]
	}
}

// gather moves rows to the front. They are in ascending order.
func gather(x []float32, rows []int, width int) {
	for i, row := range rows {
		copy(x[i*width:][:width], x[row*width:])
	}
}
