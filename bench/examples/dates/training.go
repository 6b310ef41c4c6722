package main

import (
	"errors"
	"slices"

	"github.com/attn-go/attn/bench/examples/internal/train"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/loss"
	"github.com/attn-go/attn/numeric"
)

const (
	// dateSteps is the number of characters that the decoder writes: a date and its end.
	dateSteps = 11

	// groupTexts is the number of texts in a group of a batch. What a step of the decoder reads and writes
	// for so many fits L2: with their keys and values, gates and weights 1 MiB.
	groupTexts = 64
)

// A training computes the loss of batches and its gradients, one group of texts after the other. The
// memory of a group is used again for the next one.
type training struct {
	settings
	group              int // texts
	input, output      []rune
	weights, gradients *parameters

	*model
	back struct{ forward, backward, cell, context, queries *linear.Linear } // transposed weights

	memory train.Memory
}

// products are the options of a call of linear.Backward.
func (s settings) products() linear.ProductOptions {
	return linear.ProductOptions{Exec: kernel.Exec{Tier: s.tier, Threads: s.threads}}
}

// sums are the options of a call of linear.Backward that adds to gradients.
func (s settings) sums() linear.ProductOptions {
	o := s.products()
	o.Accumulate = true
	return o
}

// pack packs the weights, also transposed.
func (t *training) pack() (err error) {
	if t.model, err = t.weights.model(t.input, t.output); err != nil {
		return err
	}
	var k packer
	w, b := t.weights, &t.back
	transposed := func(w linear.Matrix) *linear.Linear { return k.matrix(w.T(), nil) }
	b.forward = transposed(linear.DenseMatrix(w.forward.hidden, 3*encoderSize, encoderSize))
	b.backward = transposed(linear.DenseMatrix(w.backward.hidden, 3*encoderSize, encoderSize))
	b.cell = transposed(linear.DenseMatrix(w.cell.hidden, 3*stateSize, stateSize))
	b.context = transposed(w.cell.contextWeights())
	b.queries = transposed(linear.DenseMatrix(w.queries, hiddenSize, stateSize))
	return k.err
}

// A batch is a forward pass of a group of texts, with all that its gradients need.
type batch struct {
	*training
	texts   int
	tokens  [][]int // of the texts
	targets []int32 // [dateSteps, texts]: the characters of the dates, as indices into output
	last    []int32 // [dateSteps, texts]: those before them
	read    []int32 // [all]: the characters of the texts, in the order of an encoder's trace

	source            *encoding
	ends              []int // the number of texts that have a character at each position
	forward, backward *gruTrace
	decoder           *gruTrace
	lastState         []float32 // [texts, encoderSize]: of the backward direction
	packed            []float32 // [all, stateSize]: the states of the texts, without padding

	queries, contexts []float32 // of all steps: [dateSteps, texts, hiddenSize or stateSize]
	alignments        []float32 // [dateSteps, texts, longest]
	joined, logits    []float32 // [dateSteps, texts, 2·stateSize or characters]
}

// run computes the mean loss of the characters of a batch, how many dates are right, and the
// gradients of the loss.
func (t *training) run(all []sample) (mean float32, right int, err error) {
	if err := t.pack(); err != nil {
		return 0, 0, err
	}
	clear(t.gradients.all)
	sum := 0.0
	for group := range slices.Chunk(all, t.group) {
		share := float32(len(group)) / float32(len(all))
		mean, n, err := t.runGroup(group, share)
		if err != nil {
			return 0, 0, err
		}
		sum += float64(mean * share)
		right += n
	}
	return float32(sum), right, nil
}

// runGroup computes the mean loss of a group and how many of its dates are right, and adds the
// gradients of the group's share in the loss of the batch.
func (t *training) runGroup(group []sample, share float32) (mean float32, right int, err error) {
	t.memory.Reset()
	b, err := t.newBatch(group)
	if err != nil {
		return 0, 0, err
	}
	for _, step := range []func() error{b.encode, b.decode} {
		if err := step(); err != nil {
			return 0, 0, err
		}
	}
	right = b.right()
	mean, err = loss.CrossEntropy(b.logits, b.logits, len(t.output), b.targets, t.products().Exec)
	if err != nil {
		return 0, 0, err
	}
	for i := range b.logits {
		b.logits[i] *= share
	}
	return mean, right, b.differentiate()
}

// newBatch returns a batch before the forward pass.
func (t *training) newBatch(all []sample) (*batch, error) {
	b := &batch{training: t, texts: len(all)}
	e := &encoding{}
	for i, s := range all {
		if i > 0 && len(s.text) > len(all[i-1].text) {
			return nil, errors.New("longer texts must come first")
		}
		tokens, err := t.model.tokens(s.text)
		if err != nil {
			return nil, err
		}
		b.tokens = append(b.tokens, tokens)
		e.lengths = append(e.lengths, len(tokens))
		e.longest = max(e.longest, len(tokens))
	}
	for at := range e.longest {
		n := 0
		for n < b.texts && e.lengths[n] > at {
			n++
		}
		b.ends = append(b.ends, n)
		for _, text := range b.tokens[:n] {
			b.read = append(b.read, int32(text[at]))
		}
	}
	b.source = e
	b.targets, b.last = make([]int32, dateSteps*b.texts), make([]int32, dateSteps*b.texts)
	for i, s := range all {
		for step, c := range s.date + string(end) {
			b.targets[step*b.texts+i] = int32(slices.Index(t.output, c))
			if step+1 < dateSteps {
				b.last[(step+1)*b.texts+i] = b.targets[step*b.texts+i]
			}
		}
	}
	return b, nil
}

// encode is the forward pass of the encoder: model.encode, with traces.
func (b *batch) encode() error {
	e, t := b.source, b.training
	// The padding of states and keys is any numbers, which the attention does not see.
	e.states = t.memory.Floats(b.texts * e.longest * stateSize)
	b.forward = t.newTrace(b.model.forward, t.back.forward, b.ends)
	b.backward = t.newTrace(b.model.backward, t.back.backward, b.ends)
	for half, r := range []*gruTrace{b.forward, b.backward} {
		if err := b.encodeHalf(half, r); err != nil {
			return err
		}
	}
	b.lastState = b.backward.states
	e.start = t.memory.Floats(b.texts * stateSize)
	if err := t.apply(b.model.start, e.start, b.lastState); err != nil {
		return err
	}
	if err := numeric.TanhSlice(e.start, e.start, kernel.Exec{}); err != nil {
		return err
	}
	keys := t.memory.Floats(len(b.read) * hiddenSize)
	b.packed, e.keys = t.memory.Floats(len(b.read)*stateSize), t.memory.Floats(b.texts*e.longest*hiddenSize)
	b.join(b.packed, e.states)
	if err := t.apply(b.model.keys, keys, b.packed); err != nil {
		return err
	}
	b.spread(e.keys, keys)
	return nil
}

// join copies rows of [texts, longest, ...] without padding, to [all, ...] in the order of texts.
func (b *batch) join(packed, padded []float32) {
	size := len(packed) / len(b.read)
	for i, n := range b.source.lengths {
		copy(packed[:n*size], padded[i*b.source.longest*size:])
		packed = packed[n*size:]
	}
}

// spread is the reverse of join.
func (b *batch) spread(padded, packed []float32) {
	size := len(packed) / len(b.read)
	for i, n := range b.source.lengths {
		copy(padded[i*b.source.longest*size:], packed[:n*size])
		packed = packed[n*size:]
	}
}

// encodeHalf runs a direction of the encoder. The products of its input weights are those of
// characters: they are computed once for each character of the alphabet.
func (b *batch) encodeHalf(half int, r *gruTrace) error {
	t, n := b.training, 3*encoderSize
	table := t.memory.Floats(len(b.model.embedIn) / embeddingSize * n)
	if err := t.apply(r.input, table, b.model.embedIn); err != nil {
		return err
	}
	inputs := t.memory.Floats(b.texts * n)
	for step := range b.source.longest {
		at := b.position(half, step)
		for i, c := range b.read[r.first[at]:r.first[at+1]] {
			copy(inputs[i*n:], table[int(c)*n:][:n])
		}
		if err := r.forwardStep(at, inputs[:r.rows(at)*n]); err != nil {
			return err
		}
		for i := range b.ends[at] {
			copy(b.stateAt(b.source.states, i, at, half), r.row(i))
		}
	}
	return nil
}

// position returns the character that a direction of the encoder reads in a step.
func (b *batch) position(half, step int) int {
	if half == 1 {
		return b.source.longest - 1 - step
	}
	return step
}

// stateAt returns a direction's half of a state, or of its gradient.
func (b *batch) stateAt(states []float32, text, at, half int) []float32 {
	return states[(text*b.source.longest+at)*stateSize+half*encoderSize:][:encoderSize]
}

// decode is the forward pass of the decoder, which reads the right characters.
func (b *batch) decode() error {
	t, e, n := b.training, b.source, dateSteps*b.texts
	r := t.newTrace(b.model.decoding, t.back.cell, slices.Repeat([]int{b.texts}, dateSteps))
	b.decoder = r
	copy(r.states, e.start)
	b.queries, b.contexts, b.alignments = t.memory.Floats(n*hiddenSize), t.memory.Floats(n*stateSize), t.memory.Floats(n*e.longest)
	b.joined, b.logits = t.memory.Floats(n*2*stateSize), t.memory.Floats(n*len(t.output))
	x, gates := t.memory.Floats(b.texts*(embeddingSize+stateSize)), t.memory.Floats(b.texts*3*stateSize)
	for step := range dateSteps {
		query, context := r.of(b.queries, step), r.of(b.contexts, step)
		if err := t.apply(b.model.queries, query, r.states); err != nil {
			return err
		}
		if err := b.model.attend(e, context, r.of(b.alignments, step), query, t.settings); err != nil {
			return err
		}
		for i := range b.texts {
			row := x[i*(embeddingSize+stateSize):]
			copy(row, b.model.embedOut[int(b.last[step*b.texts+i])*embeddingSize:][:embeddingSize])
			copy(row[embeddingSize:], context[i*stateSize:][:stateSize])
		}
		if err := t.apply(r.input, gates, x); err != nil {
			return err
		}
		if err := r.forwardStep(step, gates); err != nil {
			return err
		}
		joined := r.of(b.joined, step)
		for i := range b.texts {
			copy(joined[i*2*stateSize:], r.row(i))
			copy(joined[i*2*stateSize+stateSize:], context[i*stateSize:][:stateSize])
		}
	}
	return t.apply(b.model.head, b.logits, b.joined)
}

// right returns the number of dates all of whose characters are the likeliest ones.
func (b *batch) right() int {
	n, right := len(b.output), 0
	for i := range b.texts {
		all := true
		for step := range dateSteps {
			at := step*b.texts + i
			all = all && numeric.Argmax(b.logits[at*n:][:n]) == int(b.targets[at])
		}
		if all {
			right++
		}
	}
	return right
}
