package gobytes

import (
	"cmp"

	"github.com/attn-go/attn/activation"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/norm"
)

// backward sets the gradients of the weights. p.logits has the gradients of the logits.
func (p *pass) backward() error {
	g := p.gradients
	clear(g.all)
	dx := p.floats(p.Width)
	// The embedding is also the head.
	if err := p.backProject(dx, g.Embed, p.logits, p.normed, p.weights.Embed, false); err != nil {
		return err
	}
	if err := p.backNorm(dx, g.Norm, p.x, p.Norm, nil); err != nil {
		return err
	}
	for i := len(p.layers) - 1; i >= 0; i-- {
		if err := p.layers[i].backward(p, &p.weights.Blocks[i], &g.Blocks[i], dx); err != nil {
			return err
		}
	}
	return linear.AddRows(linear.DenseMatrix(g.Embed, p.Vocab, p.Width), p.rows(dx), p.tokens, kernel.Exec{})
}

// backward replaces dx, the gradient of the outputs of a layer, by the gradient of its inputs, and
// sets g to the gradients of the weights w.
func (a *layerPass) backward(p *pass, w, g *blockWeights, dx []float32) error {
	if err := a.backFeedForward(p, w, g, dx); err != nil {
		return err
	}
	dAttended := make([]float32, len(a.attended))
	if err := p.backProject(dAttended, g.O, dx, a.attended, w.O, false); err != nil {
		return err
	}
	dq, dk, dv := make([]float32, len(a.q)), make([]float32, len(a.k)), make([]float32, len(a.v))
	gradients := kernel.Gradients{Q: p.heads(dq, p.Heads), K: p.heads(dk, p.KVHeads), V: p.heads(dv, p.KVHeads)}
	if err := kernel.AttentionBackward(gradients, p.heads(dAttended, p.Heads), p.heads(a.q, p.Heads), p.heads(a.k, p.KVHeads), p.heads(a.v, p.KVHeads), a.lse, &kernel.BackwardOptions{Exec: p.exec, Scoring: causal}); err != nil {
		return err
	}
	// The gradient of a rotation is the rotation back.
	back := make([]int, len(p.positions))
	for i, position := range p.positions {
		back[i] = -position
	}
	if err := cmp.Or(p.Rope.Apply(gradients.Q, back, kernel.Exec{}), p.Rope.Apply(gradients.K, back, kernel.Exec{})); err != nil {
		return err
	}
	dNormed := make([]float32, len(a.normed))
	for i, x := range [...]struct{ dy, dw, w []float32 }{{dq, g.Q, w.Q}, {dk, g.K, w.K}, {dv, g.V, w.V}} {
		if err := p.backProject(dNormed, x.dw, x.dy, a.normed, x.w, i > 0); err != nil {
			return err
		}
	}
	return p.backNorm(dNormed, g.AttnNorm, a.x, w.AttnNorm, dx)
}

// backFeedForward is the part of the feed-forward network.
func (a *layerPass) backFeedForward(p *pass, w, g *blockWeights, dx []float32) error {
	dHidden, dGate, dInput := make([]float32, len(a.hidden)), make([]float32, len(a.hidden)), make([]float32, len(a.ffnInput))
	if err := p.backProject(dHidden, g.Down, dx, a.hidden, w.Down, false); err != nil {
		return err
	}
	if err := activation.SwiGLUBackward(dGate, dHidden, dHidden, a.gate, a.up, kernel.Exec{}); err != nil {
		return err
	}
	if err := p.backProject(dInput, g.Gate, dGate, a.ffnInput, w.Gate, false); err != nil {
		return err
	}
	if err := p.backProject(dInput, g.Up, dHidden, a.ffnInput, w.Up, true); err != nil {
		return err
	}
	return p.backNorm(dInput, g.FFNNorm, a.middle, w.FFNNorm, dx)
}

// rows returns rows of all tokens as a matrix.
func (p *pass) rows(x []float32) linear.Matrix {
	return linear.DenseMatrix(x, len(p.tokens), len(x)/len(p.tokens))
}

// backProject sets dw to the gradient of the weights w of a linear layer with the inputs x, and dx
// to the gradient of x, or adds it to dx. dy is the gradient of the outputs.
func (p *pass) backProject(dx, dw, dy, x, w []float32, accumulate bool) error {
	outputs, inputs := len(dy)/len(p.tokens), len(x)/len(p.tokens)
	weights, o := linear.DenseMatrix(w, outputs, inputs), linear.ProductOptions{Exec: p.exec}
	if err := linear.Backward(linear.Gradients{W: linear.DenseMatrix(dw, outputs, inputs)}, p.rows(dy), p.rows(x), weights, o); err != nil {
		return err
	}
	o.Accumulate = accumulate
	return linear.Backward(linear.Gradients{X: p.rows(dx)}, p.rows(dy), p.rows(x), weights, o)
}

// backNorm goes back through a norm of x with a weight, of whose outputs the gradient is dy. dx
// gets the gradient of x, plus the residual connection's, which dx holds. If dx is
// nil, there is none, and dy gets it.
func (p *pass) backNorm(dy, dWeight, x, weight, dx []float32) error {
	rows := func(x []float32) kernel.Tensor { return kernel.BHLD(x, 1, 1, len(p.tokens), p.Width) }
	o, out := norm.BackwardOptions{Exec: p.exec}, dy
	if dx != nil {
		o.Direct, out = rows(dx), dx
	}
	return norm.RMSNormBackward(norm.Gradients{X: rows(out), Weight: dWeight}, rows(dy), rows(x), weight, p.Epsilon, o)
}
