package network

import (
	"math"
	"slices"

	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/numeric"
	"github.com/attn-go/attn/recurrent"
)

// convolution reads a gated short convolution.
func (b *builder) convolution(i int, t *arch.Convolution) *Convolution {
	w := b.model.Width
	f := &Convolution{
		In:  b.Linear(tensors.Reads, part(i, "shortconv.in_proj", t.Bias, 3*w, w)),
		Out: b.Linear(tensors.Writes, part(i, "shortconv.out_proj", t.Bias, w, w)),
	}
	f.N, f.Channels = t.Taps, w
	f.Weights, f.Bias = b.taps(i, "shortconv.conv", t.Taps, w, t.Bias)
	return f
}

// rowsOf returns n rows from a row on, so many times, of a matrix in which these are step rows apart.
func rowsOf(p tensors.Part, first, times, n, step int) (all []tensors.Part) {
	for i := range times {
		p.First, p.Rows = first+i*step, n
		all = append(all, p)
	}
	return all
}

// delta reads a gated delta net.
func (b *builder) delta(i int, t *arch.Delta) *Delta {
	w, keys, values, group := b.model.Width, t.KeyHeads*t.KeySize, t.Heads*t.ValueSize, t.Heads/t.KeyHeads
	matrix := func(name string, n int) tensors.Part { return part(i, name, arch.Absent, n, w) }
	in := []tensors.Part{matrix("attn_qkv", 2*keys+values), matrix("attn_gate", values), matrix("ssm_beta", t.Heads), matrix("ssm_alpha", t.Heads)}
	if t.Grouped {
		in = nil
		all, ba := matrix("ssm_in", 2*(keys+values)), matrix("ssm_ba", 2*t.Heads)
		first, step := 0, 2*(t.KeySize+group*t.ValueSize)
		for _, n := range [...]int{t.KeySize, t.KeySize, group * t.ValueSize, group * t.ValueSize} {
			in = append(in, rowsOf(all, first, t.KeyHeads, n, step)...)
			first += n
		}
		in = slices.Concat(in, rowsOf(ba, 0, t.KeyHeads, group, 2*group), rowsOf(ba, group, t.KeyHeads, group, 2*group))
	}
	f := &Delta{
		Layer: recurrent.Layer{Heads: t.Heads, KeyHeads: t.KeyHeads, KeySize: t.KeySize, ValueSize: t.ValueSize},
		In:    b.Linear(tensors.Reads, in...), Out: b.Linear(tensors.Writes, part(i, "ssm_out", arch.Absent, w, values)),
		Rate: b.Floats(at(i, "ssm_a"), t.Heads), Shift: b.Floats(at(i, "ssm_dt.bias"), t.Heads),
	}
	for h, a := range f.Rate {
		f.Rate[h] = -numeric.Exp2(float32(a * float32(math.Log2E)))
	}
	f.Weights, f.Bias = b.taps(i, "ssm_conv1d", t.Taps, 2*keys+values, arch.Absent)
	f.Taps.N, f.Channels = t.Taps, 2*keys+values
	f.Norm = ReadNorm(&arch.Norm{Kind: arch.RMSNorm, Epsilon: b.model.Layers[0].Norm.Epsilon}, b.Reader, at(i, "ssm_norm"), t.ValueSize)
	f.unit(t.KeySize)
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
