package main

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// maxLength is the largest number of characters in a text. A date has up to 30.
const maxLength = 1000

// An encoding has a state for every character of some texts. A state depends on the
// characters before and after its own. Texts that are shorter than the longest one are
// padded with states of zeros.
type encoding struct {
	lengths []int     // of the texts, in characters
	longest int       // the largest of them
	states  []float32 // [texts, longest, stateSize], the values of the attention
	keys    []float32 // [texts, longest, hiddenSize], of the attention, for all steps
	start   []float32 // [texts, stateSize], the first states of the decoder
}

// tokens returns the token of each character of a text: an index into the embeddings.
func (m *model) tokens(text string) ([]int, error) {
	if n := utf8.RuneCountInString(text); n < 1 || n > maxLength {
		return nil, fmt.Errorf("the text has %d characters, want 1 to %d", n, maxLength)
	}
	var tokens []int
	for _, r := range text {
		i := slices.Index(m.input, r)
		if i < 0 {
			return nil, fmt.Errorf("%q: the model does not know the character %q\n%s", text, r, knownFormats())
		}
		tokens = append(tokens, 1+i)
	}
	return tokens, nil
}

// encode reads texts forwards and backwards.
func (m *model) encode(texts []string, s settings) (*encoding, error) {
	if len(texts) == 0 {
		return nil, errors.New("no texts")
	}
	e := &encoding{}
	var tokens [][]int
	for _, text := range texts {
		t, err := m.tokens(text)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
		e.lengths = append(e.lengths, len(t))
		e.longest = max(e.longest, len(t))
	}
	e.states = make([]float32, len(texts)*e.longest*stateSize)
	x := m.embed(tokens, e.longest)
	if _, err := e.read(m.forward, x, s, false); err != nil {
		return nil, err
	}
	last, err := e.read(m.backward, x, s, true)
	if err != nil {
		return nil, err
	}
	return e, e.prepare(m, last, s)
}

// embed returns the embeddings of the texts, [longest, texts, embeddingSize]: those that
// the encoder reads in the same step are contiguous.
func (m *model) embed(tokens [][]int, longest int) []float32 {
	x := make([]float32, longest*len(tokens)*embeddingSize)
	for i, text := range tokens {
		for t, token := range text {
			copy(x[(t*len(tokens)+i)*embeddingSize:], m.embedIn[token*embeddingSize:][:embeddingSize])
		}
	}
	return x
}

// read runs one direction of the encoder on the embeddings x and stores its states: the
// forward direction in the first half of every state, the backward direction in the
// second half. It returns the last state of each text, [texts, encoderSize].
func (e *encoding) read(g gru, x []float32, s settings, backward bool) ([]float32, error) {
	texts, half := len(e.lengths), 0
	if backward {
		half = encoderSize
	}
	width := texts * 3 * encoderSize
	inputs := make([]float32, e.longest*width)
	if err := s.apply(g.input, inputs, x); err != nil {
		return nil, err
	}
	r := newRecurrence(g, texts, s)
	for step := range e.longest {
		t := step
		if backward {
			t = e.longest - 1 - step
		}
		active := func(text int) bool { return t < e.lengths[text] }
		if err := r.step(inputs[t*width:][:width], active); err != nil {
			return nil, err
		}
		for i := range texts {
			if active(i) {
				copy(e.states[(i*e.longest+t)*stateSize+half:], r.row(i))
			}
		}
	}
	return r.state, nil
}

// prepare computes the keys of the attention and the first states of the decoder. last
// has the states of the backward direction at the first character of each text.
func (e *encoding) prepare(m *model, last []float32, s settings) error {
	texts := len(e.lengths)
	e.keys = make([]float32, texts*e.longest*hiddenSize)
	if err := s.apply(m.keys, e.keys, e.states); err != nil {
		return err
	}
	e.start = make([]float32, texts*stateSize)
	if err := s.apply(m.start, e.start, last); err != nil {
		return err
	}
	return numeric.TanhSlice(e.start, e.start, kernel.Exec{})
}
