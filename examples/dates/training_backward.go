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
	d := &stateGradients{states: t.memory.Zeros(len(e.states)), keys: t.memory.Zeros(len(e.keys))}
	if err := b.differentiateDecoder(d); err != nil {
		return err
	}
	g, w, rows := t.gradients, t.weights, b.texts*e.longest
	// keys = U·states; the attention has added its part to d.states.
	o := t.products()
	o.Accumulate = true
	err := linear.Backward(linear.Gradients{
		X: linear.DenseMatrix(d.states, rows, stateSize),
		W: linear.DenseMatrix(g.keys, hiddenSize, stateSize),
	}, linear.DenseMatrix(d.keys, rows, hiddenSize), linear.DenseMatrix(e.states, rows, stateSize), linear.DenseMatrix(w.keys, hiddenSize, stateSize), o)
	if err != nil {
		return err
	}
	// start = tanh(start·lastState + bias)
	if err := activation.TanhBackward(d.start, e.start, d.start); err != nil {
		return err
	}
	lastState := b.backward.dState
	err = linear.Backward(linear.Gradients{
		X:    linear.DenseMatrix(lastState, b.texts, encoderSize),
		W:    linear.DenseMatrix(g.start, stateSize, encoderSize),
		Bias: g.startBias,
	}, linear.DenseMatrix(d.start, b.texts, stateSize), linear.DenseMatrix(b.lastState, b.texts, encoderSize), linear.DenseMatrix(w.start, stateSize, encoderSize), t.products())
	if err != nil {
		return err
	}
	return b.differentiateEncoder(d)
}

// differentiateEncoder goes back through both directions of the encoder. The gradient of the last
// state of the backward direction is in its dState.
func (b *batch) differentiateEncoder(d *stateGradients) error {
	t, longest := b.training, b.source.longest
	parameters := [...]*gruParameters{&t.gradients.forward, &t.gradients.backward}
	for half, r := range [...]*gruTrace{b.forward, b.backward} {
		for step := longest - 1; step >= 0; step-- {
			at := b.position(half, step)
			for i := range b.ends[at] {
				row := r.dState[i*encoderSize:][:encoderSize]
				if err := numeric.AddSlice(row, row, b.stateAt(d.states, i, at, half)); err != nil {
					return err
				}
			}
			if err := r.backwardStep(at); err != nil {
				return err
			}
		}
		dx := t.memory.Floats(len(r.x))
		if err := r.finish(parameters[half], dx); err != nil {
			return err
		}
		if err := b.addEmbeddings(dx); err != nil {
			return err
		}
	}
	return nil
}

// addEmbeddings adds the gradients of the encoder's inputs to those of the embeddings.
func (b *batch) addEmbeddings(dx []float32) error {
	var ids []int32
	for at, n := range b.ends {
		for _, text := range b.tokens[:n] {
			ids = append(ids, int32(text[at]))
		}
	}
	g := b.gradients.embedIn
	return linear.AddRows(linear.DenseMatrix(g, len(g)/embeddingSize, embeddingSize), linear.DenseMatrix(dx, len(ids), embeddingSize), ids)
}

// differentiateDecoder goes back through the steps of the decoder.
func (b *batch) differentiateDecoder(d *stateGradients) error {
	t, r, n := b.training, b.decoder, dateSteps*b.texts
	g, w, characters := t.gradients, t.weights, len(b.output)
	dJoined := t.memory.Floats(len(b.joined))
	err := linear.Backward(linear.Gradients{
		X:    linear.DenseMatrix(dJoined, n, 2*stateSize),
		W:    linear.DenseMatrix(g.head, characters, 2*stateSize),
		Bias: g.headBias,
	}, linear.DenseMatrix(b.logits, n, characters), linear.DenseMatrix(b.joined, n, 2*stateSize), linear.DenseMatrix(w.head, characters, 2*stateSize), t.products())
	if err != nil {
		return err
	}
	const width = embeddingSize + stateSize
	dx, dQueries := t.memory.Floats(n*width), t.memory.Zeros(len(b.queries))
	dContexts := t.memory.Floats(len(b.contexts))
	dState := t.memory.Floats(b.texts * stateSize)
	for step := dateSteps - 1; step >= 0; step-- {
		joined, x := r.of(dJoined, step), r.of(dx, step)
		for i := range b.texts {
			row := r.dState[i*stateSize:][:stateSize]
			if err := numeric.AddSlice(row, row, joined[i*2*stateSize:][:stateSize]); err != nil {
				return err
			}
		}
		if err := r.backwardStep(step); err != nil {
			return err
		}
		if err := t.apply(t.back.cellInput, x, r.of(r.dInput, step)); err != nil {
			return err
		}
		dContext := r.of(dContexts, step)
		for i := range b.texts {
			context, direct := dContext[i*stateSize:][:stateSize], joined[i*2*stateSize+stateSize:][:stateSize]
			if err := numeric.AddSlice(context, x[i*width+embeddingSize:][:stateSize], direct); err != nil {
				return err
			}
		}
		query := r.of(dQueries, step)
		if err := b.differentiateAttention(d, step, query, dContext); err != nil {
			return err
		}
		if err := t.apply(t.back.queries, dState, query); err != nil {
			return err
		}
		if err := numeric.AddSlice(r.dState, r.dState, dState); err != nil {
			return err
		}
	}
	d.start = r.dState
	if err := b.differentiateValues(d, dContexts); err != nil {
		return err
	}
	if err := r.finish(&g.cell, nil); err != nil {
		return err
	}
	// The queries are projections of the states before each step.
	err = linear.Backward(linear.Gradients{W: linear.DenseMatrix(g.queries, hiddenSize, stateSize)},
		linear.DenseMatrix(dQueries, n, hiddenSize), linear.DenseMatrix(r.before, n, stateSize), linear.Matrix{}, t.products())
	if err != nil {
		return err
	}
	rows := linear.StridedMatrix(dx, n, embeddingSize, width, 1)
	return linear.AddRows(linear.DenseMatrix(g.embedOut, characters, embeddingSize), rows, b.last)
}

// differentiateAttention writes the gradient of the queries of a step, and adds to those of the
// keys and of the scoring weights.
func (b *batch) differentiateAttention(d *stateGradients, step int, query, dContext []float32) error {
	e, r, texts := b.source, b.decoder, b.texts
	rows := func(x []float32, n, size int) kernel.Tensor { return kernel.BHLD(x, texts, 1, n, size) }
	return kernel.AdditiveBackward(
		kernel.AdditiveGradients{Q: rows(query, 1, hiddenSize), K: rows(d.keys, e.longest, hiddenSize), Weights: b.gradients.scoring},
		rows(dContext, 1, stateSize), rows(r.of(b.queries, step), 1, hiddenSize), rows(e.keys, e.longest, hiddenSize), rows(e.states, e.longest, stateSize),
		rows(r.of(b.alignments, step), 1, e.longest), b.weights.scoring,
		kernel.AdditiveBackwardOptions{Exec: b.products().Exec, Accumulate: true})
}

// differentiateValues adds to the gradients of the states, which are the values of the attention of
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
		kernel.AdditiveBackwardOptions{Exec: b.products().Exec, Accumulate: true})
}
