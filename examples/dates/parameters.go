package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/rand/v2"

	"github.com/attn-go/attn/linear"
)

// parameters are all weights of a model in one slice, for the optimizer, and the parts of that
// slice. Their gradients and the optimizer's means are parameters too.
type parameters struct {
	all []float32

	embedIn, embedOut       []float32
	forward, backward, cell gruParameters
	start, startBias        []float32
	queries, keys, scoring  []float32
	head, headBias          []float32
}

// gruParameters are the weights of a gru, and its sizes.
type gruParameters struct {
	size, inputs                     int
	input, hidden, biasIn, biasState []float32
}

// A part is one tensor of the parameters. Bound limits its first random values.
type part struct {
	name    string
	shape   []int
	numbers *[]float32
	bound   float64
}

// parts lists the tensors in the order of the slice, with the names that PyTorch gives them.
func (p *parameters) parts(inputs, outputs int) []part {
	root := func(n int) float64 { return 1 / math.Sqrt(float64(n)) }
	unit := math.Sqrt(3) // of a uniform distribution with variance 1
	list := []part{
		{"embed_in.weight", []int{inputs, embeddingSize}, &p.embedIn, unit},
		{"embed_out.weight", []int{outputs, embeddingSize}, &p.embedOut, unit},
	}
	gru := func(g *gruParameters, prefix, suffix string, size, inputs int) {
		g.size, g.inputs = size, inputs
		b := root(size)
		list = append(list,
			part{prefix + ".weight_ih" + suffix, []int{3 * size, inputs}, &g.input, b},
			part{prefix + ".weight_hh" + suffix, []int{3 * size, size}, &g.hidden, b},
			part{prefix + ".bias_ih" + suffix, []int{3 * size}, &g.biasIn, b},
			part{prefix + ".bias_hh" + suffix, []int{3 * size}, &g.biasState, b})
	}
	gru(&p.forward, "encoder", "_l0", encoderSize, embeddingSize)
	gru(&p.backward, "encoder", "_l0_reverse", encoderSize, embeddingSize)
	gru(&p.cell, "cell", "", stateSize, embeddingSize+stateSize)
	return append(list,
		part{"start.weight", []int{stateSize, encoderSize}, &p.start, root(encoderSize)},
		part{"start.bias", []int{stateSize}, &p.startBias, root(encoderSize)},
		part{"W.weight", []int{hiddenSize, stateSize}, &p.queries, root(stateSize)},
		part{"U.weight", []int{hiddenSize, stateSize}, &p.keys, root(stateSize)},
		part{"v.weight", []int{1, hiddenSize}, &p.scoring, root(hiddenSize)},
		part{"head.weight", []int{outputs, 2 * stateSize}, &p.head, root(2 * stateSize)},
		part{"head.bias", []int{outputs}, &p.headBias, root(2 * stateSize)})
}

func (p *part) len() int {
	n := 1
	for _, d := range p.shape {
		n *= d
	}
	return n
}

// newParameters returns zeros for a model with so many embeddings of texts and of dates.
func newParameters(inputs, outputs int) *parameters {
	p := new(parameters)
	list, n := p.parts(inputs, outputs), 0
	for i := range list {
		n += list[i].len()
	}
	p.all = make([]float32, n)
	rest := p.all
	for i := range list {
		n := list[i].len()
		*list[i].numbers, rest = rest[:n:n], rest[n:]
	}
	return p
}

// randomize sets all weights to random numbers, uniform between the bounds of their tensors.
func (p *parameters) randomize(r *rand.Rand, inputs, outputs int) {
	for _, part := range p.parts(inputs, outputs) {
		for i := range *part.numbers {
			u := float32(int32(r.Uint32()>>8)-1<<23) / (1 << 23) // in [-1, 1), exactly
			(*part.numbers)[i] = u * float32(part.bound)
		}
	}
}

// hash returns the SHA-256 of the weights.
func (p *parameters) hash() string {
	h := sha256.New()
	var b [4]byte
	for _, x := range p.all {
		binary.LittleEndian.PutUint32(b[:], math.Float32bits(x))
		h.Write(b[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// model packs the weights.
func (p *parameters) model(input, output []rune) (*model, error) {
	m := &model{input: input, output: output, embedIn: p.embedIn, embedOut: p.embedOut, scoring: p.scoring}
	var k packer
	m.forward, m.backward, m.decoding = k.gru(&p.forward), k.gru(&p.backward), k.gru(&p.cell)
	m.start = k.pack(p.start, p.startBias, stateSize, encoderSize)
	m.queries = k.pack(p.queries, nil, hiddenSize, stateSize)
	m.keys = k.pack(p.keys, nil, hiddenSize, stateSize)
	m.head = k.pack(p.head, p.headBias, len(output), 2*stateSize)
	return m, k.err
}

// A packer packs layers and keeps the first error.
type packer struct{ err error }

func (k *packer) pack(w, bias []float32, outputs, inputs int) *linear.Linear {
	return k.matrix(linear.DenseMatrix(w, outputs, inputs), bias)
}

func (k *packer) matrix(w linear.Matrix, bias []float32) *linear.Linear {
	l, err := linear.New(w, bias)
	if k.err == nil {
		k.err = err
	}
	return l
}

func (k *packer) gru(p *gruParameters) gru {
	return gru{
		input:  k.pack(p.input, p.biasIn, 3*p.size, p.inputs),
		hidden: k.pack(p.hidden, p.biasState, 3*p.size, p.size),
	}
}
