package main

import "slices"

// maxSteps is when a date ends that has no end: one has ten characters.
const maxSteps = 16

// A translation is a date, and how it came about.
type translation struct {
	text, date []rune
	alignment  []float32 // [characters of the date, characters of the text]
}

// translate writes the dates of texts.
func (m *model) translate(texts []string, s settings) ([]translation, error) {
	e, err := m.encode(texts, s)
	if err != nil {
		return nil, err
	}
	d := m.newDecoder(e, s)
	result := make([]translation, len(texts))
	for i, t := range texts {
		result[i].text = []rune(t)
	}
	last, done := make([]int, len(texts)), make([]bool, len(texts)) // all begin with character 0, start
	for step := 0; step < maxSteps && slices.Contains(done, false); step++ {
		if err := d.step(last); err != nil {
			return nil, err
		}
		for i := range last {
			last[i] = d.likeliest(i)
			c := m.output[last[i]]
			if done[i] = done[i] || c == end; !done[i] {
				result[i].date = append(result[i].date, c)
				result[i].alignment = append(result[i].alignment, d.alignment[i*e.longest:][:e.lengths[i]]...)
			}
		}
	}
	return result, nil
}

// likeliest returns the character of a date with the largest logit.
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
