package main

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/attn-go/attn/kernel"
)

// maxLength is the largest number of characters of a text; dates have some 30.
const maxLength = 1000

// An encoding is what a model makes of texts: a state for every character, which has
// seen what is before it and what is after it. Texts of different lengths lie side by
// side, padded with zeros at their ends.
type encoding struct {
	lengths []int
	longest int
	states  []float32 // [texts, longest, stateSize]
	keys    []float32 // [texts, longest, hiddenSize], the attention's, computed once
	start   []float32 // [texts, stateSize], the decoder's first states
}

// tokens returns the numbers of a text's characters.
func (m *model) tokens(text string) ([]int, error) {
	if n := utf8.RuneCountInString(text); n < 1 || n > maxLength {
		return nil, fmt.Errorf("text of %d characters, want 1 to %d", n, maxLength)
	}
	var tokens []int
	for _, r := range text {
		i := slices.Index(m.input, r)
		if i < 0 {
			return nil, fmt.Errorf("%q: no date has the character %q, want some of %q", text, r, string(m.input))
		}
		tokens = append(tokens, 1+i)
	}
	return tokens, nil
}

// encode reads texts, forwards and backwards.
func (m *model) encode(texts []string, s settings) (*encoding, error) {
	if len(texts) == 0 {
		return nil, errors.New("no text")
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

// embed returns the texts' embeddings, [longest, texts, embeddingSize]: all that the
// encoder reads at once lies together.
func (m *model) embed(tokens [][]int, longest int) []float32 {
	x := make([]float32, longest*len(tokens)*embeddingSize)
	for i, text := range tokens {
		for t, token := range text {
			copy(x[(t*len(tokens)+i)*embeddingSize:], m.embedIn[token*embeddingSize:][:embeddingSize])
		}
	}
	return x
}

// read lets one direction of the encoder read the embeddings x and stores its states; the
// ones of the backward direction are the second halves. It returns the last states,
// [texts, encoderSize].
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

// prepare computes what the decoder needs of the states; last are those of the
// backward direction at the texts' first characters.
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
	return kernel.TanhSlice(e.start, e.start)
}
