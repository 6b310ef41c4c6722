package jinja

import "strings"

// builder makes a string. Neighbours of the same kind become one part.
type builder struct {
	m       *meter
	text    strings.Builder
	first   bool // whether the first part is from outside
	outside bool // whether the last one is
	turns   []int
}

// add appends a string.
func (b *builder) add(s Str) {
	b.m.work(nodeCost)
	for text, outside := range s.Parts() {
		b.part(text, outside)
	}
}

// inside appends a text that the template has.
func (b *builder) inside(text string) { b.part(text, false) }

// converted appends a string with every part converted.
func (b *builder) converted(s Str, convert func(string) string) {
	for text, outside := range s.Parts() {
		b.m.memory(len(text))
		b.part(convert(text), outside)
	}
}

func (b *builder) part(text string, outside bool) {
	b.m.memory(1 + len(text))
	switch {
	case text == "":
		return
	case b.text.Len() == 0:
		b.first = outside
	case b.outside != outside:
		b.m.memory(slotSize)
		b.turns = append(b.turns, b.text.Len())
	}
	b.outside = outside
	b.text.WriteString(text)
}

func (b *builder) str() Str { return Str{text: b.text.String(), outside: b.first, turns: b.turns} }

// spaces appends n spaces.
func (b *builder) spaces(n int, outside bool) {
	b.m.memory(n)
	b.part(strings.Repeat(" ", n), outside)
}
