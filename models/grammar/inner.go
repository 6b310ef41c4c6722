package grammar

import (
	"slices"
	"strings"
)

// An inner position is one within a container. It is what it is equal to.
type inner struct {
	of    *container
	state state
	slot  int32  // behind a part, or before any if negative
	text  string // of the part, if the position listens
	mode  mode
}

// A mode says where in a container a position is.
type mode uint8

const (
	before    mode = iota // a part, which is to come
	behind                // a part
	listening             // within a part whose text counts
	after                 // its value, if it has one apart from that
)

// A table has the inner positions of a machine, numbered behind the positions of rules.
type table struct {
	base     int32
	list     []inner
	at       map[inner]int32
	closures map[int32]*closure
}

// number returns the number of a position.
func (t *table) number(p inner) int32 {
	at, ok := t.at[p]
	if !ok {
		at = t.base + int32(len(t.list))
		t.at[p] = at
		t.list = append(t.list, p)
	}
	return at
}

// same returns the number of a position of another table.
func (t *table) same(at int32, from *table) int32 {
	if at < t.base {
		return at
	}
	return t.number(from.list[at-t.base])
}

// hears tells whether a position listens.
func (t *table) hears(at int32) bool { return at >= t.base && t.list[at-t.base].mode == listening }

// hear returns the stacks with a byte added to the texts of positions that listen.
func (m *machine) hear(s *set, b byte) *set {
	if !s.hears {
		return s
	}
	if to := m.heard[s]; to != nil {
		return to
	}
	items := make([]item, len(s.items))
	for i, x := range s.items {
		if m.table.hears(x.at) {
			p := m.table.list[x.at-m.table.base]
			if p.text += string([]byte{b}); len(p.text) > mostUsed {
				panic(limitError("bytes of items or keys that are compared", mostUsed))
			}
			x.at = m.table.number(p)
			m.kept += 16 + len(p.text)/8
		}
		items[i] = item{x.at, m.hear(x.up, b)}
	}
	slices.SortFunc(items, byPosition)
	to := m.intern(items, s.flags)
	m.heard[s] = to
	return to
}

// goes tells whether a text can be completed, as far as what it must not repeat is
// concerned.
func (m *machine) goes(s *set) bool {
	if s == m.dead || !m.threatened(s) {
		return s != m.dead
	}
	for _, b := range m.classes { // which is enough but for the last ways to differ
		if to := m.advance(s, b); to != m.dead && !m.threatened(to) {
			return true
		}
	}
	for b := range 256 {
		if m.goes(m.advance(s, byte(b))) {
			return true
		}
	}
	return false
}

// threatened tells whether every reading is in a part that may be one that there is.
// Others can always be different.
func (m *machine) threatened(s *set) bool {
	return s.hears && s.flags == 0 && !slices.ContainsFunc(s.items, func(x item) bool { return !m.repeats(x.up) })
}

// repeats tells whether all stacks are in a part that begins as one that there is.
func (m *machine) repeats(s *set) bool {
	return s.flags == 0 && s.hears && !slices.ContainsFunc(s.items, func(x item) bool {
		if m.table.hears(x.at) {
			p := &m.table.list[x.at-m.table.base]
			if strings.Contains("\n"+p.state.used, "\n"+p.text) {
				return false
			}
		}
		return !m.repeats(x.up)
	})
}

// closure returns what a position leads to with no byte.
func (m *machine) closure(at int32) *closure {
	if at < m.table.base && m.positions[at].of == nil {
		known := m.closures[at] != nil
		c := m.automata.closure(at)
		if !known {
			m.kept += 8 + len(c.reads) + 3*len(c.calls)
		}
		return c
	}
	c := m.table.closures[at]
	if c == nil {
		c = m.inside(at)
		m.table.closures[at] = c
		m.kept += 8 + 16*len(c.calls)
	}
	return c
}

// inside computes what a position within a container leads to.
func (m *machine) inside(at int32) *closure {
	c := &closure{}
	if at < m.table.base {
		x := m.positions[at].of
		end := m.parts(c, x, x.start())
		m.end(c, x, x.shut, end)
		return c
	}
	p := m.table.list[at-m.table.base]
	x := p.of
	switch p.mode {
	case before:
		m.parts(c, x, p.state)
		return c
	case listening:
		to, ok := x.next(p.state, p.slot, p.text)
		if !ok {
			return c
		}
		if then := x.then(p.slot); then >= 0 {
			c.calls = append(c.calls, call{rule: int32(then), back: m.table.number(inner{of: x, state: to, mode: after})})
			return c
		}
		p.state = to
	case behind:
		p.state, _ = x.next(p.state, p.slot, "")
	}
	list, end := x.follow(p.state)
	if len(list) > 0 {
		c.calls = append(c.calls, call{rule: int32(x.comma), back: m.table.number(inner{of: x, state: p.state, mode: before})})
	}
	m.end(c, x, x.close, end)
	return c
}

// parts adds calls of the parts that may follow.
func (m *machine) parts(c *closure, x *container, s state) (end bool) {
	list, end := x.follow(s)
	for _, o := range list {
		back := inner{of: x, state: s, slot: o.slot, mode: behind}
		if o.hears {
			back.mode = listening
		}
		c.calls = append(c.calls, call{rule: int32(o.rule), back: m.table.number(back)})
	}
	m.spend(len(list))
	return end
}

// end adds a call of what ends the container.
func (m *machine) end(c *closure, x *container, rule ref, may bool) {
	if may {
		c.calls = append(c.calls, call{rule: int32(rule), back: x.to, tail: m.onlyEnd(x.to)})
	}
}
