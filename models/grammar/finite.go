package grammar

import (
	"sync"

	"github.com/attn-go/attn/models/grammar/internal/regular"
)

// divideItems makes constants of items that there are few of, so that none is begun when
// all are there.
func divideItems(list []choose) (all []choose) {
	for _, x := range list {
		others, shapes := x, anyShapes()
		if x.value != nil {
			shapes = x.value.shapes
		}
		for _, s := range shapes {
			texts, few := s.constants(0)
			switch {
			case few || !s.live():
			case s.kind == isNumber:
				y := *s
				y.plan = &plan{texts: s.plan.texts.And(oneNumber())}
				others.shapes = append(others.shapes, &y)
			default:
				others.shapes = append(others.shapes, s)
			}
			for _, text := range texts {
				y := x
				y.text, y.same = text, canonical(text)
				all = append(all, y)
			}
		}
		if len(others.shapes) > 0 {
			all = append(all, others)
		}
	}
	return all
}

// oneNumber are numbers of which no two are equal.
var oneNumber = sync.OnceValue(func() *regular.Texts {
	return regular.MustSearch(`^(0|-?[1-9][0-9]*|-?(0|[1-9][0-9]*)\.[0-9]*[1-9])$`)
})

// anyShapes are all values.
var anyShapes = sync.OnceValue(func() []*shape {
	list := others()
	for _, s := range list {
		s.plan = &plan{}
	}
	list[isNumber].plan.texts = numbers{}.texts()
	return list
})

// constantTexts are the texts of kinds with one value.
var constantTexts = map[kind]string{isNull: "null", isTrue: "true", isFalse: "false"}

// constants returns the texts of a shape, one for each value, if they are few.
func (s *shape) constants(depth int) (texts []string, few bool) {
	switch {
	case s.kind < isNumber:
		return []string{constantTexts[s.kind]}, true
	case s.kind == isArray:
		return s.constantArrays(depth)
	case s.kind == isObject:
		return s.constantObjects(depth)
	case s.numbers.only != nil:
		for _, x := range s.numbers.only {
			texts = append(texts, x.text)
		}
		return texts, true
	case s.plan.texts == nil:
		return nil, false
	case s.kind == isNumber: // of which no two are equal
		return s.plan.texts.And(oneNumber()).List(mostFinite)
	}
	texts, few = s.plan.texts.List(mostConstants)
	for i := range texts {
		texts[i] = quote(texts[i])
	}
	return texts, few
}

// constants returns the texts of a domain, one for each value, if they are few.
func (n *domain) constants(depth int) (all []string, few bool) {
	if n == nil || depth > mostDeep {
		return nil, false
	}
	seen := map[string]bool{}
	for _, s := range n.shapes {
		texts, few := s.constants(depth + 1)
		if !few {
			if s.live() {
				return nil, false
			}
			continue
		}
		for _, text := range texts {
			if same := canonical(text); !seen[same] {
				seen[same] = true
				all = append(all, text)
			}
		}
	}
	return all, len(all) <= mostFinite
}

// mostConstants is the most strings that are taken as constants where items must differ.
const mostConstants = 1 << 9

// mostDeep is how deep constants may be.
const mostDeep = 3

// constantArrays returns all arrays, if there are few.
func (s *shape) constantArrays(depth int) (all []string, few bool) {
	if len(s.counts) > 0 || s.unique || s.plan.items == nil {
		return nil, false
	}
	begun := []string{"["}
	for i := 0; len(begun) > 0 && (s.most < 0 || i <= s.most); i++ {
		if i >= s.least {
			for _, text := range begun {
				all = append(all, text+"]")
			}
		}
		if i == s.most {
			break
		}
		list, few := s.item(i).constants(depth)
		if !few || len(begun)*len(list)+len(all) > mostFinite {
			return nil, false
		}
		begun = combine(begun, list, "[")
	}
	return all, true
}

// constantObjects returns all objects, if there are few.
func (s *shape) constantObjects(depth int) (all []string, few bool) {
	if s.plan.slots == nil && s.every == nil || len(s.some) > 0 {
		return nil, false
	}
	type begun struct {
		text string
		n    int
	}
	list := []begun{{text: "{"}}
	for _, x := range s.plan.slots {
		values, few := x.value.constants(depth)
		if x.value.alive() && (x.bit < 0 || !few || len(list)*(len(values)+1) > mostFinite) {
			return nil, false
		}
		var next []begun
		for _, b := range list {
			if !x.required {
				next = append(next, b)
			}
			for _, text := range combine([]string{b.text}, values, "{", quote(x.name)+":") {
				next = append(next, begun{text, b.n + 1})
			}
		}
		list = next
	}
	for _, b := range list {
		if b.n >= s.least && (s.most < 0 || b.n <= s.most) {
			all = append(all, b.text+"}")
		}
	}
	return all, true
}

// combine returns each text with each part behind it, and a comma between them if the text
// is not the beginning.
func combine(texts, parts []string, begin string, before ...string) (all []string) {
	for _, text := range texts {
		if text != begin {
			text += ","
		}
		for _, x := range before {
			text += x
		}
		for _, part := range parts {
			all = append(all, text+part)
		}
	}
	return all
}
