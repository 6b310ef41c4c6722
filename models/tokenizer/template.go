package tokenizer

import "math"

// template says what stands around one text or two.
type template []templatePart

// templatePart is a text, or tokens.
type templatePart struct {
	text   bool
	second bool    // the second text
	ids    []int32 // tokens
	kind   int32   // the type of the ids
}

// plainPair are two texts after each other.
var plainPair = template{{text: true}, {text: true, second: true, kind: 1}}

// around returns the template of a text between tokens.
func around(before, after []int32) template {
	var t template
	if len(before) > 0 {
		t = append(t, templatePart{ids: before})
	}
	t = append(t, templatePart{text: true})
	if len(after) > 0 {
		t = append(t, templatePart{ids: after})
	}
	return t
}

// room returns how many ids of texts there may be.
func (t template) room(o Options) int {
	if o.Limit < 1 {
		return math.MaxInt
	}
	n := o.Limit
	for _, p := range t {
		if !o.NoSpecial {
			n -= len(p.ids)
		}
	}
	return max(n, 0)
}

// apply returns the ids of texts with what stands around them, and appends their types to types,
// unless it is nil.
func (t template) apply(texts [2][]int32, o Options, types *[]int32) []int32 {
	size := 0
	for _, p := range t {
		size += len(p.ids)
	}
	out := make([]int32, 0, size+len(texts[0])+len(texts[1]))
	for _, p := range t {
		switch {
		case p.text && p.second:
			out = append(out, texts[1]...)
		case p.text:
			out = append(out, texts[0]...)
		case !o.NoSpecial:
			out = append(out, p.ids...)
		}
		for types != nil && len(*types) < len(out) {
			*types = append(*types, p.kind)
		}
	}
	return out
}
