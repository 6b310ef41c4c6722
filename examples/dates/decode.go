package main

import "github.com/attn-go/attn/kernel"

// A decoder writes the dates of encoded texts, one character of each at a time.
type decoder struct {
	*model
	source *encoding
	cell   *recurrence // the states, [texts, stateSize]

	query     []float32 // [texts, hiddenSize]
	context   []float32 // [texts, stateSize]: the source's states, weighted by alignment
	alignment []float32 // [texts, longest]: how much each character of the text counts now
	x         []float32 // [texts, embeddingSize+stateSize], what the cell reads
	gates     []float32 // [texts, 3·stateSize]
	joined    []float32 // [texts, 2·stateSize], what the head reads
	logits    []float32 // [texts, characters]
}

// newDecoder returns a decoder at the start of all dates.
func (m *model) newDecoder(e *encoding, s settings) *decoder {
	texts := len(e.lengths)
	floats := func(width int) []float32 { return make([]float32, texts*width) }
	d := &decoder{
		model: m, source: e, cell: newRecurrence(m.decoding, texts, s),
		query: floats(hiddenSize), context: floats(stateSize), alignment: floats(e.longest),
		x: floats(embeddingSize + stateSize), gates: floats(3 * stateSize),
		joined: floats(2 * stateSize), logits: floats(len(m.output)),
	}
	copy(d.cell.state, e.start)
	return d
}

// step reads the last character of every date, as its number in the alphabet, and
// computes the logits of the next one.
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

func (d *decoder) eachText(f func(i int, context []float32)) {
	for i := range d.source.lengths {
		f(i, d.context[i*stateSize:][:stateSize])
	}
}

// attend aligns the states with the characters of the texts, and sums up what these
// have to say.
func (d *decoder) attend() error {
	if err := d.cell.apply(d.queries, d.query, d.cell.state); err != nil {
		return err
	}
	return d.model.attend(d.source, d.context, d.alignment, d.query, d.cell.settings)
}

// attend computes contexts [texts, n, stateSize] and alignments [texts, n, longest] of
// n queries for each text, [texts, n, hiddenSize].
func (m *model) attend(e *encoding, contexts, alignments, queries []float32, s settings) error {
	texts := len(e.lengths)
	n := len(queries) / (texts * hiddenSize)
	return kernel.Additive(
		kernel.BHLD(contexts, texts, 1, n, stateSize),
		kernel.BHLD(queries, texts, 1, n, hiddenSize),
		kernel.BHLD(e.keys, texts, 1, e.longest, hiddenSize),
		kernel.BHLD(e.states, texts, 1, e.longest, stateSize),
		m.scoring,
		kernel.Options{
			Mask:    kernel.KeyLengths(e.lengths),
			Weights: kernel.BHLD(alignments, texts, 1, n, e.longest),
			Tier:    s.tier, Threads: s.threads,
		})
}
