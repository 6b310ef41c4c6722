package main

import (
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/loss"
	"github.com/attn-go/attn/models/gobytes"
)

// A pass is a forward pass over pieces of text, with all that its gradients need.
type pass struct {
	*trainer
	*gobytes.Model
	tokens    []int32 // [texts, steps]
	positions []int   // of one text: 0, 1, 2, ...
	rows      int
	layers    []layerPass
	x, normed []float32 // [rows, Width]: after the last layer
	logits    []float32 // [rows, Vocab], then their gradients
}

// A layerPass is what the gradients of a layer need.
type layerPass struct {
	x, normed        []float32     // [rows, Width]: the inputs
	q, k, v          []float32     // [rows, heads·HeadSize], rotated
	attended         []float32     // [rows, Heads·HeadSize]
	lse              kernel.Tensor // [texts, Heads, steps, 1]
	middle, ffnInput []float32     // [rows, Width]: after the attention
	gate, up, hidden []float32     // [rows, FFN]
}

// differentiate computes the mean loss of the targets and sets the gradients of the weights.
func (t *trainer) differentiate(inputs, targets []int32) (float32, error) {
	t.memory.Reset()
	p, err := t.newPass(inputs)
	if err != nil {
		return 0, err
	}
	if err := p.forward(); err != nil {
		return 0, err
	}
	mean, err := loss.CrossEntropy(p.logits, p.logits, p.Vocab, targets, t.exec())
	if err != nil {
		return 0, err
	}
	return mean, p.backward()
}

// newPass packs the weights.
func (t *trainer) newPass(tokens []int32) (*pass, error) {
	m, err := t.model()
	if err != nil {
		return nil, err
	}
	p := &pass{trainer: t, Model: m, tokens: tokens, rows: len(tokens), layers: make([]layerPass, m.Config.Layers)}
	for i := range t.schedule.Length {
		p.positions = append(p.positions, i)
	}
	return p, nil
}

// forward is that of Batch, without a cache: with the same bits.
func (p *pass) forward() error {
	width := p.Width
	x := p.memory.Floats(p.rows * width)
	for i, token := range p.tokens {
		copy(x[i*width:][:width], p.Embed[int(token)*width:])
	}
	for i := range p.layers {
		var err error
		if x, err = p.layers[i].forward(p, &p.Blocks[i], x); err != nil {
			return err
		}
	}
	p.x, p.normed, p.logits = x, p.memory.Floats(len(x)), p.memory.Floats(p.rows*p.Vocab)
	gobytes.RMSNorm(p.normed, x, p.Norm, p.Epsilon)
	return p.apply(p.Head, p.logits, p.normed)
}

// forward returns the outputs of a layer.
func (a *layerPass) forward(p *pass, l *gobytes.Block, x []float32) ([]float32, error) {
	floats := func(width int) []float32 { return p.memory.Floats(p.rows * width) }
	queries, keys := p.Heads*p.HeadSize, p.KVHeads*p.HeadSize
	a.x, a.normed, a.q, a.k, a.v, a.attended = x, floats(p.Width), floats(queries), floats(keys), floats(keys), floats(queries)
	gobytes.RMSNorm(a.normed, x, l.AttnNorm, p.Epsilon)
	for _, y := range [...]struct {
		linear *linear.Linear
		out    []float32
	}{{l.Q, a.q}, {l.K, a.k}, {l.V, a.v}} {
		if err := p.apply(y.linear, y.out, a.normed); err != nil {
			return nil, err
		}
	}
	if err := p.Rope.Apply(p.heads(a.q, p.Heads), p.positions, kernel.Exec{}); err != nil {
		return nil, err
	}
	if err := p.Rope.Apply(p.heads(a.k, p.KVHeads), p.positions, kernel.Exec{}); err != nil {
		return nil, err
	}
	a.lse = kernel.BHLD(floats(p.Heads), p.texts(), p.Heads, len(p.positions), 1)
	o := kernel.Options{Exec: p.exec(), Scoring: p.scoring(), Outputs: kernel.Outputs{LSE: a.lse}}
	if err := kernel.Attention(p.heads(a.attended, p.Heads), p.heads(a.q, p.Heads), p.heads(a.k, p.KVHeads), p.heads(a.v, p.KVHeads), &o); err != nil {
		return nil, err
	}
	a.middle, a.ffnInput = floats(p.Width), floats(p.Width)
	if err := p.apply(l.O, a.middle, a.attended); err != nil {
		return nil, err
	}
	sum(a.middle, x, a.middle)
	gobytes.RMSNorm(a.ffnInput, a.middle, l.FFNNorm, p.Epsilon)
	return a.feedForward(p, l)
}

// feedForward returns the outputs of the feed-forward network, with the residual.
func (a *layerPass) feedForward(p *pass, l *gobytes.Block) ([]float32, error) {
	n := p.rows * p.FFN
	a.gate, a.up, a.hidden = p.memory.Floats(n), p.memory.Floats(n), p.memory.Floats(n)
	if err := p.apply(l.Gate, a.gate, a.ffnInput); err != nil {
		return nil, err
	}
	if err := p.apply(l.Up, a.up, a.ffnInput); err != nil {
		return nil, err
	}
	copy(a.hidden, a.gate)
	if err := gobytes.SiLU(a.hidden, a.up, p.memory.Floats(n)); err != nil {
		return nil, err
	}
	out := p.memory.Floats(p.rows * p.Width)
	if err := p.apply(l.Down, out, a.hidden); err != nil {
		return nil, err
	}
	sum(out, a.middle, out)
	return out, nil
}

// scoring returns that of the attention of all layers.
func (p *pass) scoring() kernel.Scoring { return kernel.Scoring{Mask: kernel.Causal(0)} }

func (p *pass) texts() int { return p.rows / len(p.positions) }

// heads returns the view of rows that are heads side by side.
func (p *pass) heads(x []float32, heads int) kernel.Tensor {
	return kernel.BLHD(x, p.texts(), len(p.positions), heads, p.HeadSize)
}

// apply runs a linear layer on all rows.
func (p *pass) apply(l *linear.Linear, out, x []float32) error {
	n, k := l.Shape()
	return l.Apply(linear.DenseMatrix(out, p.rows, n), linear.DenseMatrix(x, p.rows, k), linear.Options{Exec: p.exec()})
}

// sum sets out to x+y.
func sum(out, x, y []float32) {
	for i := range out {
		out[i] = x[i] + y[i]
	}
}
