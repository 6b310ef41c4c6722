package network

import (
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/tensors"
)

// convolution reads a gated short convolution.
func (b *builder) convolution(i int, t *arch.Convolution) *Convolution {
	w := b.model.Width
	f := &Convolution{
		In:   b.Linear(tensors.Reads, part(i, "shortconv.in_proj", t.Bias, 3*w, w)),
		Out:  b.Linear(tensors.Writes, part(i, "shortconv.out_proj", t.Bias, w, w)),
		Taps: t.Taps,
	}
	f.Weights, f.Bias = b.taps(i, "shortconv.conv", t.Taps, w, t.Bias)
	return f
}

// taps reads the weights of a convolution of single channels, [taps, channels], and its bias,
// which is 0 without one. Folders have the weights as [channels, 1, taps], GGUF files
// without the 1.
func (b *builder) taps(i int, name string, taps, channels int, bias arch.Bias) (weights, biases []float32) {
	name = at(i, name)
	shape := []int{channels, 1, taps}
	if b.Rename == nil {
		shape = []int{channels, taps}
	}
	x := b.Floats(name+".weight", shape...)
	weights, biases = make([]float32, len(x)), make([]float32, channels)
	for j, y := range x {
		weights[j%taps*channels+j/taps] = y
	}
	if bias == arch.Present || bias == arch.AsFiles && b.Has(name+".bias") {
		biases = b.Floats(name+".bias", channels)
	}
	return weights, biases
}
