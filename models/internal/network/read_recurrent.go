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

// rowsOf returns n rows from a row on, so many times, of a matrix in which these are step rows
// apart.
func rowsOf(p tensors.Part, first, times, n, step int) (all []tensors.Part) {
	for i := range times {
		p.First, p.Rows = first+i*step, n
		all = append(all, p)
	}
	return all
}

// delta reads a gated delta net.
func (b *builder) delta(i int, t *arch.Delta) *Recurrent {
	w, keys, values, group := b.model.Width, t.KeyHeads*t.KeySize, t.Heads*t.ValueSize, t.Heads/t.KeyHeads
	matrix := func(name string, n int) tensors.Part { return part(i, name, arch.Absent, n, w) }
	qkv, ba := matrix("attn_qkv", 2*keys+values), matrix("ssm_ba", 2*t.Heads)
	in := []tensors.Part{qkv, matrix("attn_gate", values)}
	if t.Grouped && !b.has(i, "attn_qkv") {
		in = nil
		all := matrix("ssm_in", 2*(keys+values))
		first, step := 0, 2*(t.KeySize+group*t.ValueSize)
		for _, n := range [...]int{t.KeySize, t.KeySize, group * t.ValueSize, group * t.ValueSize} {
			in = append(in, rowsOf(all, first, t.KeyHeads, n, step)...)
			first += n
		}
	}
	switch {
	case t.Grouped:
		in = slices.Concat(in, rowsOf(ba, 0, t.KeyHeads, group, 2*group), rowsOf(ba, group, t.KeyHeads, group, 2*group))
	case t.Apart:
		in = slices.Concat(rowsOf(qkv, 0, 1, 2*keys, 0), together(qkv, 2*keys, t, t.ValueSize), together(in[1], 0, t, t.ValueSize), together(matrix("ssm_beta", t.Heads), 0, t, 1), together(matrix("ssm_alpha", t.Heads), 0, t, 1))
	default:
		in = append(in, matrix("ssm_beta", t.Heads), matrix("ssm_alpha", t.Heads))
	}
	f := &Recurrent{
		Layer: recurrent.Layer{Heads: t.Heads, KeyHeads: t.KeyHeads, KeySize: t.KeySize, ValueSize: t.ValueSize},
		In:    b.Linear(tensors.Reads, in...), Out: b.Linear(tensors.Writes, part(i, "ssm_out", arch.Absent, w, values)),
		Rate: b.Floats(at(i, "ssm_a"), t.Heads), Shift: b.Floats(at(i, "ssm_dt.bias"), t.Heads),
	}
	if b.Rename != nil { // GGUF files have -e^x already
		f.Rate = rates(f.Rate)
	}
	f.Weights, f.Bias = b.taps(i, "ssm_conv1d", t.Taps, 2*keys+values, arch.Absent)
	if t.Apart && b.Err() == nil && b.Dry == nil {
		f.Order = t.Order()
		reorder(f.Rate, f.Order, 1)
		reorder(f.Shift, f.Order, 1)
		for at := 2 * keys; at < len(f.Weights); at += 2*keys + values {
			reorder(f.Weights[at:][:values], f.Order, t.ValueSize)
		}
	}
	f.Taps.N, f.Channels = t.Taps, 2*keys+values
	f.Norms = []*Norm{ReadNorm(&arch.Norm{Kind: arch.RMSNorm, Epsilon: b.model.Layers[0].Norm.Epsilon}, b.Reader, at(i, "ssm_norm"), t.ValueSize)}
	f.unit(t.KeySize)
	return f
}

// together returns the rows of heads of values, n of each, with rows of the same keys side by side,
// from a matrix in which they are apart.
func together(p tensors.Part, first int, t *arch.Delta, n int) (all []tensors.Part) {
	for _, h := range t.Order() {
		all = append(all, rowsOf(p, first+h*n, 1, n, 0)...)
	}
	return all
}

// reorder puts group order[i] of n numbers each at place i.
func reorder(x []float32, order []int, n int) {
	y := slices.Clone(x)
	for i, from := range order {
		copy(x[i*n:][:n], y[from*n:])
	}
}

// rates are -e^x.
func rates(all []float32) []float32 {
	for h, a := range all {
		all[h] = -numeric.Exp2(float32(a * float32(math.Log2E)))
	}
	return all
}

// stateSpace reads a layer of Mamba-2, whose tensors have z, values, keys and queries in this
// order.
func (b *builder) stateSpace(i int, t *arch.StateSpace) *Recurrent {
	w, keys, values := b.model.Width, t.KeyHeads*t.KeySize, t.Heads*t.ValueSize
	all := part(i, "ssm_in", t.Bias, 2*values+2*keys+t.Heads, w)
	rows := func(first, n int) tensors.Part { return rowsOf(all, first, 1, n, 0)[0] }
	f := &Recurrent{
		Layer: recurrent.Layer{Heads: t.Heads, KeyHeads: t.KeyHeads, KeySize: t.KeySize, ValueSize: t.ValueSize, Rule: recurrent.StateSpace},
		In:    b.Linear(tensors.Reads, rows(2*values+keys, keys), rows(2*values, keys), rows(values, values), rows(0, values), rows(2*values+2*keys, t.Heads)),
		Out:   b.Linear(tensors.Writes, part(i, "ssm_out", t.Bias, w, values)), Shift: b.Floats(at(i, "ssm_dt.bias"), t.Heads), Limits: t.Limits,
	}
	if shape := []int{t.Heads, 1}; b.Rename == nil { // files have -e^x already
		f.Rate, f.Skip = b.Floats(at(i, "ssm_a"), shape...), b.Floats(at(i, "ssm_d"), shape...)
	} else {
		f.Rate, f.Skip = rates(b.Floats(at(i, "ssm_a"), t.Heads)), b.Floats(at(i, "ssm_d"), t.Heads)
	}
	f.Taps.N, f.Channels = t.Taps, values+2*keys
	f.Weights, f.Bias = b.taps(i, "ssm_conv1d", t.Taps, f.Channels, t.TapsBias)
	if f.Norms = b.partNorms(i, t, values); b.Err() != nil || b.Dry != nil {
		return f
	}
	for at := 0; at < len(f.Weights); at += f.Channels {
		queriesFirst(f.Weights[at:][:f.Channels], keys)
	}
	queriesFirst(f.Bias, keys)
	return f
}

// queriesFirst reorders numbers of channels from values, keys, queries to queries, keys, values.
func queriesFirst(x []float32, keys int) {
	values := len(x) - 2*keys
	copy(x, slices.Concat(x[values+keys:], x[values:][:keys], x[:values]))
}

// partNorms reads the norms of as many parts of outputs.
func (b *builder) partNorms(i int, t *arch.StateSpace, n int) (all []*Norm) {
	if t.NormParts == 0 {
		return nil
	}
	size := n / t.NormParts
	shape := []int{n}
	if b.Rename == nil {
		shape = []int{t.NormParts, size}
	}
	weights := b.Floats(at(i, "ssm_norm.weight"), shape...)
	for j := 0; j < t.NormParts && len(weights) == n; j++ {
		all = append(all, &Norm{Weight: weights[j*size:][:size], Epsilon: float32(b.model.Layers[0].Norm.Epsilon)})
	}
	return all
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
