package main

import "slices"

// maxSteps is the number of steps after which a date ends in any case. A date has ten
// characters and an end.
const maxSteps = 16

// A translation is the model's answer to a text.
type translation struct {
	text, date []rune

	// probability is the probability, by the model, of the whole date with its end: the
	// product of the probabilities of its characters. A mean would hide one doubtful
	// digit among ten sure ones.
	probability float32

	alignment []float32 // [characters of the date, characters of the text]
}

// translate returns the model's answers to texts. In every step it takes the most
// probable next character of each date, until that is the end.
func (m *model) translate(texts []string, s settings) ([]translation, error) {
	e, err := m.encode(texts, s)
	if err != nil {
		return nil, err
	}
	d := m.newDecoder(e, s)
	result := make([]translation, len(texts))
	for i, t := range texts {
		result[i].text, result[i].probability = []rune(t), 1
	}
	// Character 0 is the start, which comes before the first character of every date.
	last, done := make([]int, len(texts)), make([]bool, len(texts))
	for step := 0; step < maxSteps && slices.Contains(done, false); step++ {
		if err := d.step(last); err != nil {
			return nil, err
		}
		if err := d.softmax(); err != nil {
			return nil, err
		}
		for i := range last {
			last[i] = d.likeliest(i)
			if done[i] {
				continue // other dates have more characters
			}
			r := &result[i]
			r.probability *= d.probabilities[i*len(m.output)+last[i]]
			if c := m.output[last[i]]; c == end {
				done[i] = true
			} else {
				r.date = append(r.date, c)
				r.alignment = append(r.alignment, d.alignment[i*e.longest:][:e.lengths[i]]...)
			}
		}
	}
	return result, nil
}
