package main

import (
	"math"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// A decoder writes the dates of encoded texts side by side, one character of each in a
// step.
type decoder struct {
	*model
	source *encoding
	cell   *recurrence // its states are [texts, stateSize]

	query     []float32 // [texts, hiddenSize]
	context   []float32 // [texts, stateSize]: the source's states, summed up with the weights in alignment
	alignment []float32 // [texts, longest]: the weights of the attention to the characters of the text
	x         []float32 // [texts, embeddingSize+stateSize]: the input of the cell
	gates     []float32 // [texts, 3·stateSize]
	joined    []float32 // [texts, 2·stateSize]: the input of the head

	logits        []float32 // [texts, characters], by step
	probabilities []float32 // [texts, characters], by softmax
}

// newDecoder returns a decoder that has not written any character.
func (m *model) newDecoder(e *encoding, s settings) *decoder {
	texts := len(e.lengths)
	floats := func(width int) []float32 { return make([]float32, texts*width) }
	d := &decoder{
		model: m, source: e, cell: newRecurrence(m.decoding, texts, s),
		query: floats(hiddenSize), context: floats(stateSize), alignment: floats(e.longest),
		x: floats(embeddingSize + stateSize), gates: floats(3 * stateSize),
		joined: floats(2 * stateSize), logits: floats(len(m.output)), probabilities: floats(len(m.output)),
	}
	copy(d.cell.state, e.start)
	return d
}

// step computes the logits of the next character of each date. last has the last
// character of each date, as its index in the model's output alphabet.
func (d *decoder) step(last []int) error {
	if err := d.attend(); err != nil {
		return err
	}
	d.eachText(func(i int, context []float32) {
		x := d.x[i*(embeddingSize+stateSize):]
		copy(x, d.embedOut[last[i]*embeddingSize:][:embeddingSize])
		copy(x[embeddingSize:], context)
	})
	if err := d.cell.apply(d.cell.input, d.gates, d.x); err != nil {
		return err
	}
	if err := d.cell.step(d.gates, nil); err != nil {
		return err
	}
	d.eachText(func(i int, context []float32) {
		joined := d.joined[i*2*stateSize:]
		copy(joined, d.cell.row(i))
		copy(joined[stateSize:], context)
	})
	return d.cell.apply(d.head, d.logits, d.joined)
}

// softmax computes the probabilities of the characters from their logits:
//
//	exp(logit - largest) / sum of all exp(logit - largest)
func (d *decoder) softmax() error {
	n := len(d.output)
	p := d.probabilities
	for i := range p {
		text := i / n
		largest := d.logits[text*n+d.likeliest(text)]
		p[i] = float32((d.logits[i] - largest) * math.Log2E)
	}
	if err := numeric.Exp2Slice(p, p, kernel.Exec{}); err != nil {
		return err
	}
	for row := range slices.Chunk(p, n) {
		sum := float32(0)
		for _, x := range row {
			sum += x
		}
		for i := range row {
			row[i] /= sum
		}
	}
	return nil
}

// likeliest returns the most probable next character of a date, as its index in the
// model's output alphabet.
func (d *decoder) likeliest(text int) int {
	n := len(d.output)
	logits, best := d.logits[text*n:][:n], 0
	for i, x := range logits {
		if x > logits[best] {
			best = i
		}
	}
	return best
}

// eachText calls f for each text with its context.
func (d *decoder) eachText(f func(i int, context []float32)) {
	for i := range d.source.lengths {
		f(i, d.context[i*stateSize:][:stateSize])
	}
}

// attend computes the context and the alignment of each text. The query is the state.
func (d *decoder) attend() error {
	if err := d.cell.apply(d.queries, d.query, d.cell.state); err != nil {
		return err
	}
	return d.model.attend(d.source, d.context, d.alignment, d.query, d.cell.settings)
}

// attend is additive attention of n queries per text, [texts, n, hiddenSize], to the
// states of the text. It writes contexts, [texts, n, stateSize], and alignments,
// [texts, n, longest], which are the attention weights.
func (m *model) attend(e *encoding, contexts, alignments, queries []float32, s settings) error {
	texts := len(e.lengths)
	n := len(queries) / (texts * hiddenSize)
	return kernel.Additive(
		kernel.BHLD(contexts, texts, 1, n, stateSize),
		kernel.BHLD(queries, texts, 1, n, hiddenSize),
		kernel.BHLD(e.keys, texts, 1, e.longest, hiddenSize),
		kernel.BHLD(e.states, texts, 1, e.longest, stateSize),
		m.scoring,
		&kernel.Options{
			Scoring: kernel.Scoring{Mask: kernel.KeyLengths(e.lengths)},
			Outputs: kernel.Outputs{Weights: kernel.BHLD(alignments, texts, 1, n, e.longest)},
			Exec:    kernel.Exec{Tier: s.tier, Threads: s.threads},
		})
}
