package gobytes

import (
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/loss"
)

// A pass is a forward pass over pieces of text, with all that its gradients need.
type pass struct {
	*trainer
	*Model
	tokens    []int32 // [texts, steps]
	positions []int   // of one text: 0, 1, 2, ...
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
	p, err := t.newPass(inputs)
	if err != nil {
		return 0, err
	}
	if err := p.forward(); err != nil {
		return 0, err
	}
	mean, err := loss.CrossEntropy(p.logits, p.logits, p.Vocab, targets, t.exec)
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
	p := &pass{trainer: t, Model: m, tokens: tokens, layers: make([]layerPass, m.Config.Layers)}
	for i := range t.Length {
		p.positions = append(p.positions, i)
	}
	return p, nil
}

// forward does the same as Batch's, without a cache and with the same bits.
func (p *pass) forward() (err error) {
	x := p.floats(p.Width)
	for i, token := range p.tokens {
		copy(x[i*p.Width:][:p.Width], p.Embed[int(token)*p.Width:])
	}
	for i := range p.layers {
		if x, err = p.layers[i].forward(p, &p.Blocks[i], x); err != nil {
			return err
		}
	}
	p.x, p.normed = x, p.floats(p.Width)
	rmsNorm(p.normed, x, p.Norm, p.Epsilon)
	return p.project(p.normed, product{p.Head, &p.logits})
}

// forward returns the outputs of a layer.
func (a *layerPass) forward(p *pass, l *Block, x []float32) ([]float32, error) {
	a.x, a.normed, a.attended = x, p.floats(p.Width), p.floats(p.Heads*p.HeadSize)
	rmsNorm(a.normed, x, l.AttnNorm, p.Epsilon)
	if err := p.project(a.normed, product{l.Q, &a.q}, product{l.K, &a.k}, product{l.V, &a.v}); err != nil {
		return nil, err
	}
	q, k, v := p.heads(a.q, p.Heads), p.heads(a.k, p.KVHeads), p.heads(a.v, p.KVHeads)
	for _, x := range [...]kernel.Tensor{q, k} {
		if err := p.Rope.Apply(x, p.positions, kernel.Exec{}); err != nil {
			return nil, err
		}
	}
	a.lse = kernel.BHLD(p.floats(p.Heads), p.texts(), p.Heads, len(p.positions), 1)
	o := kernel.Options{Exec: p.exec, Scoring: causal, Outputs: kernel.Outputs{LSE: a.lse}}
	if err := kernel.Attention(p.heads(a.attended, p.Heads), q, k, v, &o); err != nil {
		return nil, err
	}
	if err := p.project(a.attended, product{l.O, &a.middle}); err != nil {
		return nil, err
	}
	add(a.middle, x)
	a.ffnInput = p.floats(p.Width)
	rmsNorm(a.ffnInput, a.middle, l.FFNNorm, p.Epsilon)
	return a.feedForward(p, l)
}

// feedForward returns the outputs of the feed-forward network, with the residual.
func (a *layerPass) feedForward(p *pass, l *Block) (out []float32, err error) {
	if err := p.project(a.ffnInput, product{l.Gate, &a.gate}, product{l.Up, &a.up}); err != nil {
		return nil, err
	}
	a.hidden = slices.Clone(a.gate)
	if err := silu(a.hidden, a.up, p.floats(p.FFN)); err != nil {
		return nil, err
	}
	err = p.project(a.hidden, product{l.Down, &out})
	add(out, a.middle)
	return out, err
}

// causal is the scoring of all layers.
var causal = kernel.Scoring{Mask: kernel.Causal(0)}

func (p *pass) texts() int { return len(p.tokens) / len(p.positions) }

// floats returns rows of this width.
func (p *pass) floats(width int) []float32 { return make([]float32, len(p.tokens)*width) }

// heads returns the view of rows that are heads side by side.
func (p *pass) heads(x []float32, heads int) kernel.Tensor {
	return kernel.BLHD(x, p.texts(), len(p.positions), heads, p.HeadSize)
}

// A product is a linear layer and where its outputs belong.
type product struct {
	layer *linear.Linear
	out   *[]float32
}

// project makes the outputs of layers for all rows of x.
func (p *pass) project(x []float32, products ...product) error {
	for _, y := range products {
		n, k := y.layer.Shape()
		*y.out = p.floats(n)
		err := y.layer.Apply(linear.DenseMatrix(*y.out, len(p.tokens), n), linear.DenseMatrix(x, len(p.tokens), k), linear.Options{Exec: p.exec})
		if err != nil {
			return err
		}
	}
	return nil
}
