package main

import (
	"github.com/attn-go/attn/activation"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/numeric"
)

// stateGradients are the gradients of what the encoder gives to the decoder.
type stateGradients struct {
	states []float32 // [texts, longest, stateSize]
	keys   []float32 // [texts, longest, hiddenSize]
	start  []float32 // [texts, stateSize]
}

// differentiate adds the gradients of the loss to those of the weights. b.logits holds the
// gradients of the logits.
func (b *batch) differentiate() error {
	t, e := b.training, b.source
	d := &stateGradients{states: t.memory.Floats(len(e.states)), keys: t.memory.Zeros(len(e.keys))}
	if err := b.differentiateDecoder(d); err != nil {
		return err
	}
	// start = tanh(start·lastState + bias)
	if err := activation.TanhBackward(d.start, d.start, e.start, kernel.Exec{}); err != nil {
		return err
	}
	g, w := t.gradients, t.weights
	err := linear.Backward(linear.Gradients{
		X:    linear.DenseMatrix(b.backward.dState, b.texts, encoderSize),
		W:    linear.DenseMatrix(g.start, stateSize, encoderSize),
		Bias: g.startBias,
	}, linear.DenseMatrix(d.start, b.texts, stateSize), linear.DenseMatrix(b.lastState, b.texts, encoderSize), linear.DenseMatrix(w.start, stateSize, encoderSize), t.sums())
	if err != nil {
		return err
	}
	states, err := b.differentiateKeys(d)
	if err != nil {
		return err
	}
	if err := b.differentiateHalf(0, b.forward, &w.forward, &g.forward, states); err != nil {
		return err
	}
	return b.differentiateHalf(1, b.backward, &w.backward, &g.backward, states)
}

// differentiateKeys goes back through keys = U·states. It returns the gradients of all states
// without padding, [all, stateSize], in the order of texts.
func (b *batch) differentiateKeys(d *stateGradients) ([]float32, error) {
	t, rows := b.training, len(b.read)
	states, keys := t.memory.Floats(rows*stateSize), t.memory.Floats(rows*hiddenSize)
	b.join(states, d.states) // the part of the attention
	b.join(keys, d.keys)
	return states, linear.Backward(linear.Gradients{
		X: linear.DenseMatrix(states, rows, stateSize),
		W: linear.DenseMatrix(t.gradients.keys, hiddenSize, stateSize),
	}, linear.DenseMatrix(keys, rows, hiddenSize), linear.DenseMatrix(b.packed, rows, stateSize), linear.DenseMatrix(t.weights.keys, hiddenSize, stateSize), t.sums())
}

// differentiateHalf goes back through a direction of the encoder, given the gradients of all
// states. That of the last state of the backward direction is in its dState.
func (b *batch) differentiateHalf(half int, r *gruTrace, w, g *gruParameters, states []float32) error {
	t, n := b.training, 3*encoderSize
	dStates := b.inSteps(half, r, states)
	dInput, sums := t.memory.Floats(b.texts*n), t.memory.Zeros(len(b.model.embedIn)/embeddingSize*n)
	for step := b.source.longest - 1; step >= 0; step-- {
		at := b.position(half, step)
		dState, dInput := r.dState[:r.rows(at)*encoderSize], dInput[:r.rows(at)*n]
		if err := numeric.AddSlice(dState, dState, r.of(dStates, at), kernel.Exec{}); err != nil {
			return err
		}
		if err := r.backwardStep(at, dInput); err != nil {
			return err
		}
		if err := addRows(sums, dInput, b.read[r.first[at]:r.first[at+1]]); err != nil {
			return err
		}
	}
	if err := r.finish(g); err != nil {
		return err
	}
	return t.differentiateEmbeddings(sums, b.model.embedIn, t.gradients.embedIn, w, g)
}

// inSteps returns a direction's half of gradients of states, in the order of its trace.
func (b *batch) inSteps(half int, r *gruTrace, states []float32) []float32 {
	steps := b.memory.Floats(len(b.read) * encoderSize)
	for i, n := range b.source.lengths {
		for at := range n {
			copy(steps[(r.first[at]+i)*encoderSize:][:encoderSize], states[at*stateSize+half*encoderSize:])
		}
		states = states[n*stateSize:]
	}
	return steps
}

// differentiateHead goes back through the logits. It returns the gradients of their inputs, the
// states after each step and the contexts, [dateSteps, texts, stateSize] each.
func (b *batch) differentiateHead() (states, contexts []float32, err error) {
	t, n, characters := b.training, dateSteps*b.texts, len(b.output)
	g, dLogits, all := t.gradients, linear.DenseMatrix(b.logits, n, characters), linear.DenseMatrix(t.weights.head, characters, 2*stateSize)
	err = linear.Backward(linear.Gradients{W: linear.DenseMatrix(g.head, characters, 2*stateSize), Bias: g.headBias},
		dLogits, linear.DenseMatrix(b.joined, n, 2*stateSize), all, t.sums())
	if err != nil {
		return nil, nil, err
	}
	var halves [2][]float32
	for i := range halves {
		halves[i] = t.memory.Floats(n * stateSize)
		w := linear.StridedMatrix(t.weights.head[i*stateSize:], characters, stateSize, 2*stateSize, 1)
		err := linear.Backward(linear.Gradients{X: linear.DenseMatrix(halves[i], n, stateSize)}, dLogits, linear.Matrix{}, w, t.products())
		if err != nil {
			return nil, nil, err
		}
	}
	return halves[0], halves[1], nil
}

// differentiateDecoder goes back through the steps of the decoder.
func (b *batch) differentiateDecoder(d *stateGradients) error {
	t, r, n := b.training, b.decoder, dateSteps*b.texts
	g, w := t.gradients, t.weights
	states, dContexts, err := b.differentiateHead()
	if err != nil {
		return err
	}
	dInput, dQueries := t.memory.Floats(n*3*stateSize), t.memory.Floats(len(b.queries))
	part := t.memory.Floats(b.texts * stateSize)
	for step := dateSteps - 1; step >= 0; step-- {
		if err := numeric.AddSlice(r.dState, r.dState, r.of(states, step), kernel.Exec{}); err != nil {
			return err
		}
		if err := r.backwardStep(step, r.of(dInput, step)); err != nil {
			return err
		}
		dContext, query := r.of(dContexts, step), r.of(dQueries, step)
		if err := t.applyAdd(t.back.context, dContext, r.of(dInput, step), part); err != nil {
			return err
		}
		if err := b.differentiateAttention(d, step, query, dContext); err != nil {
			return err
		}
		if err := t.applyAdd(t.back.queries, r.dState, query, part); err != nil {
			return err
		}
	}
	d.start = r.dState
	if err := b.differentiateValues(d, dContexts); err != nil {
		return err
	}
	if err := r.finish(&g.cell); err != nil {
		return err
	}
	// The queries are projections of the states before each step.
	err = linear.Backward(linear.Gradients{W: linear.DenseMatrix(g.queries, hiddenSize, stateSize)},
		linear.DenseMatrix(dQueries, n, hiddenSize), linear.DenseMatrix(r.before, n, stateSize), linear.Matrix{}, t.sums())
	if err != nil {
		return err
	}
	// The inputs of the cell are contexts and embeddings.
	err = linear.Backward(linear.Gradients{W: g.cell.contextWeights()},
		linear.DenseMatrix(dInput, n, 3*stateSize), linear.DenseMatrix(b.contexts, n, stateSize), linear.Matrix{}, t.sums())
	if err != nil {
		return err
	}
	sums := t.memory.Zeros(len(b.output) * 3 * stateSize)
	if err := addRows(sums, dInput, b.last); err != nil {
		return err
	}
	return t.differentiateEmbeddings(sums, b.model.embedOut, g.embedOut, &w.cell, &g.cell)
}

// applyAdd adds the outputs of a layer for the rows of x to sum. It overwrites part.
func (s settings) applyAdd(l *linear.Linear, sum, x, part []float32) error {
	if err := s.apply(l, part, x); err != nil {
		return err
	}
	return numeric.AddSlice(sum, sum, part, kernel.Exec{})
}

// addRows adds each row to that of sums which is of its character.
func addRows(sums, rows []float32, characters []int32) error {
	n := len(rows) / len(characters)
	return linear.AddRows(linear.DenseMatrix(sums, len(sums)/n, n), linear.DenseMatrix(rows, len(characters), n), characters, kernel.Exec{})
}

// differentiateEmbeddings adds to the gradients of embeddings, of the input weights of a gru that take
// them, and of its bias. sums has the gradients of its inputs, summed up for each character: as the
// inputs of a character are the same wherever it stands, their products are needed once.
func (t *training) differentiateEmbeddings(sums, embeddings, dEmbeddings []float32, w, g *gruParameters) error {
	characters := len(embeddings) / embeddingSize
	return linear.Backward(linear.Gradients{X: linear.DenseMatrix(dEmbeddings, characters, embeddingSize), W: g.embeddingWeights(), Bias: g.biasIn},
		linear.DenseMatrix(sums, characters, 3*w.size), linear.DenseMatrix(embeddings, characters, embeddingSize), w.embeddingWeights(), t.sums())
}

// differentiateAttention writes the gradient of the queries of a step, and adds to those of the
// keys and of the scoring weights.
func (b *batch) differentiateAttention(d *stateGradients, step int, query, dContext []float32) error {
	clear(query)
	e, r, texts := b.source, b.decoder, b.texts
	rows := func(x []float32, n, size int) kernel.Tensor { return kernel.BHLD(x, texts, 1, n, size) }
	return kernel.AdditiveBackward(
		kernel.AdditiveGradients{Q: rows(query, 1, hiddenSize), K: rows(d.keys, e.longest, hiddenSize), Weights: b.gradients.scoring},
		rows(dContext, 1, stateSize), rows(r.of(b.queries, step), 1, hiddenSize), rows(e.keys, e.longest, hiddenSize), rows(e.states, e.longest, stateSize),
		rows(r.of(b.alignments, step), 1, e.longest), b.weights.scoring,
		kernel.AdditiveBackwardOptions{Exec: b.products().Exec, Accumulate: true})
}

// differentiateValues writes the gradients of the states, which are the values of the attention of
// all steps.
func (b *batch) differentiateValues(d *stateGradients, dContexts []float32) error {
	e, texts := b.source, b.texts
	values := func(x []float32, size int) kernel.Tensor { return kernel.BHLD(x, texts, 1, e.longest, size) }
	steps := func(x []float32, size int) kernel.Tensor {
		return kernel.Strided(x, [4]int{texts, 1, dateSteps, size}, [3]int{size, 0, texts * size})
	}
	return kernel.AdditiveBackward(
		kernel.AdditiveGradients{V: values(d.states, stateSize)},
		steps(dContexts, stateSize), steps(b.queries, hiddenSize), values(e.keys, hiddenSize), values(e.states, stateSize),
		steps(b.alignments, e.longest), b.weights.scoring,
		kernel.AdditiveBackwardOptions{Exec: b.products().Exec})
}
