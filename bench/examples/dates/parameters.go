package main

import (
	"math"

	"github.com/attn-go/attn/bench/examples/internal/train"
	"github.com/attn-go/attn/kernel"
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

// embeddingWeights returns the columns of the input weights that take an embedding, the first ones.
func (p *gruParameters) embeddingWeights() linear.Matrix {
	return linear.StridedMatrix(p.input, 3*p.size, embeddingSize, p.inputs, 1)
}

// contextWeights returns the other columns, which take a context.
func (p *gruParameters) contextWeights() linear.Matrix {
	return linear.StridedMatrix(p.input[embeddingSize:], 3*p.size, p.inputs-embeddingSize, p.inputs, 1)
}

// parts lists the tensors in the order of the slice, with the names that PyTorch gives them.
func (p *parameters) parts(inputs, outputs int) []train.Part {
	root := func(n int) float64 { return 1 / math.Sqrt(float64(n)) }
	unit := math.Sqrt(3) // of a uniform distribution with variance 1
	list := []train.Part{
		train.Uniform("embed_in.weight", &p.embedIn, unit, inputs, embeddingSize),
		train.Uniform("embed_out.weight", &p.embedOut, unit, outputs, embeddingSize),
	}
	gru := func(g *gruParameters, prefix, suffix string, size, inputs int) {
		g.size, g.inputs = size, inputs
		b := root(size)
		list = append(list,
			train.Uniform(prefix+".weight_ih"+suffix, &g.input, b, 3*size, inputs),
			train.Uniform(prefix+".weight_hh"+suffix, &g.hidden, b, 3*size, size),
			train.Uniform(prefix+".bias_ih"+suffix, &g.biasIn, b, 3*size),
			train.Uniform(prefix+".bias_hh"+suffix, &g.biasState, b, 3*size))
	}
	gru(&p.forward, "encoder", "_l0", encoderSize, embeddingSize)
	gru(&p.backward, "encoder", "_l0_reverse", encoderSize, embeddingSize)
	gru(&p.cell, "cell", "", stateSize, embeddingSize+stateSize)
	return append(list,
		train.Uniform("start.weight", &p.start, root(encoderSize), stateSize, encoderSize),
		train.Uniform("start.bias", &p.startBias, root(encoderSize), stateSize),
		train.Uniform("W.weight", &p.queries, root(stateSize), hiddenSize, stateSize),
		train.Uniform("U.weight", &p.keys, root(stateSize), hiddenSize, stateSize),
		train.Uniform("v.weight", &p.scoring, root(hiddenSize), 1, hiddenSize),
		train.Uniform("head.weight", &p.head, root(2*stateSize), outputs, 2*stateSize),
		train.Uniform("head.bias", &p.headBias, root(2*stateSize), outputs))
}

// newParameters returns zeros for a model with so many embeddings of texts and of dates.
func newParameters(inputs, outputs int) *parameters {
	p := new(parameters)
	p.all = train.Allocate(p.parts(inputs, outputs))
	return p
}

// hash returns the SHA-256 of the weights.
func (p *parameters) hash() string { return train.Hash(p.all) }

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
	l, err := linear.New(w, bias, kernel.Exec{})
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
