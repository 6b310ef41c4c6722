package grammar

import "github.com/attn-go/attn/models/grammar/internal/regular"

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// The most positions of a grammar, which bounds its memory and the time to compile it.
const mostPositions = 1 << 17

// A position is a state of the automaton of a rule.
type position struct {
	edges []edge  // with a byte to another position
	jumps []int32 // with none
	call  int32   // a rule after whose texts it goes on at back; negative for none
	back  int32
	end   bool // of the rule
	of    *container
	plain bool   // any plain characters of a JSON string lead to one that is plain too
	noisy uint64 // by their last six bits, bytes that lead elsewhere than to the position itself; 0 if others do, too
}

// An edge is a range of bytes to another position.
type edge struct {
	regular.ByteRange
	to int32
}

// automata are the automata of all rules.
type automata struct {
	positions []position
	starts    []int32 // of the rules
	names     []string
	order     []int32 // of each rule, its place: a rule comes before those that it can begin with
	ordered   []int32 // the rules in this order
	nullable  []bool  // of each position: it leads to the end of the rule with no byte
	closures  []*closure
	classOf   [256]uint8 // of bytes that no edge tells apart
	classes   []byte     // one byte of each
	root      int32
}

// A closure is what a position leads to with no byte.
type closure struct {
	reads []int32 // positions with edges
	calls []call
	end   bool
}

// A call enters a rule and then goes on at back. If that is the end of the calling rule and nothing
// else, tail is set: then it goes on where that rule would.
type call struct {
	rule, back int32
	tail       bool
}

// builder makes positions of rules.
type builder struct {
	automata
	rules []rule
}

// compile makes automata of rules. root is the number of the one that texts are of.
func compile(rules []rule, root int) (a *automata, err error) {
	b := &builder{rules: rules}
	b.root = int32(root)
	defer limited(&err)
	for i := 0; i < len(b.rules); i++ { // building adds rules
		end := b.add(position{end: true})
		b.starts = append(b.starts, b.build(b.rules[i].is, end))
	}
	for _, r := range b.rules {
		b.names = append(b.names, r.name)
	}
	live := b.reached(true)
	if !live[b.starts[root]] {
		return nil, syntaxError(0, fmt.Sprintf("rule %q, which no text satisfies", rules[root].name), "a rule that texts can satisfy")
	}
	b.prune(live)
	b.nullable = b.reached(false)
	b.closures = make([]*closure, len(b.positions))
	if err := b.sortRules(); err != nil {
		return nil, err
	}
	b.findClasses()
	return &b.automata, nil
}

// add adds a position. It panics with an error, which compile returns.
func (b *builder) add(p position) int32 {
	if len(b.positions) == mostPositions {
		panic(limitError("states of the grammar", mostPositions))
	}
	p.call = -1
	b.positions = append(b.positions, p)
	return int32(len(b.positions) - 1)
}

// build adds positions for an expression, which go on at a position, and returns the first of
// them.
func (b *builder) build(e expr, to int32) int32 {
	switch e := e.(type) {
	case literal:
		for i := len(e) - 1; i >= 0; i-- {
			to = b.add(position{edges: []edge{{regular.ByteRange{Lo: e[i], Hi: e[i]}, to}}})
		}
		return to
	case regular.Class:
		return b.class(e, to)
	case sequence:
		for _, e := range slices.Backward(e) {
			to = b.build(e, to)
		}
		return to
	case choice:
		var jumps []int32
		for _, e := range e {
			jumps = append(jumps, b.build(e, to))
		}
		return b.add(position{jumps: jumps})
	case ref:
		at := b.add(position{back: to})
		b.positions[at].call = int32(e)
		return at
	case repeat:
		return b.repeat(e, to)
	case inline:
		return b.build(e.of, to)
	case anyText:
		return b.anyText(to)
	case scan:
		return b.scan(e, to)
	case *regular.Texts:
		return b.dfa(e, false, to)
	case quoted:
		return b.dfa(e.of, true, to)
	case *container:
		e.to = to
		at := b.add(position{})
		b.positions[at].of = e
		return at
	}
	panic(fmt.Sprintf("grammar: unknown expression %T", e))
}

// class adds one position for the first byte of a character, and others for those that follow.
func (b *builder) class(c regular.Class, to int32) int32 {
	return b.add(position{edges: b.edges(c, to, map[string]int32{})})
}

// edges returns the edges of a class of characters. rest are positions by what follows there.
func (b *builder) edges(c regular.Class, to int32, rest map[string]int32) (first []edge) {
	regular.UTF8(c, func(ranges []regular.ByteRange) {
		next := to
		key := binary.AppendVarint(nil, int64(to))
		for i := len(ranges) - 1; i > 0; i-- {
			key = append(key, ranges[i].Lo, ranges[i].Hi)
			at, ok := rest[string(key)]
			if !ok {
				at = b.add(position{edges: []edge{{ranges[i], next}}})
				rest[string(key)] = at
			}
			next = at
		}
		first = append(first, edge{ranges[0], next})
	})
	return first
}

// dfa adds a position for each state. escape says that the texts are within a JSON string.
func (b *builder) dfa(d *regular.Texts, escape bool, to int32) int32 {
	at := make([]int32, len(d.Ends))
	for s := range at {
		at[s] = b.add(position{})
	}
	k := len(d.Samples)
	rest, escapes := map[string]int32{}, map[string]int32{}
	for s := range at {
		var p position
		row := d.Next[s*k : s*k+k]
		for i, next := range row {
			if next == regular.Dead || slices.Index(row, next) < i {
				continue
			}
			c := d.Spans(func(class int) bool { return row[class] == next })
			if escape {
				if c := c.And(escaped); len(c) > 0 {
					p.jumps = append(p.jumps, b.escapes(c, at[next], escapes))
				}
				c = c.And(plainChar)
			}
			p.edges = append(p.edges, b.edges(c, at[next], rest)...)
		}
		if d.Ends[s] {
			p.jumps = append(p.jumps, to)
		}
		b.positions[at[s]].edges, b.positions[at[s]].jumps = p.edges, p.jumps
	}
	if escape {
		for s, plain := range d.Open(plainChar) {
			b.positions[at[s]].plain = plain
		}
	}
	return at[1]
}

// anyText adds a position of which any characters of a JSON string lead back to it.
func (b *builder) anyText(to int32) int32 {
	at := b.add(position{})
	first := b.build(anyEscape, at)
	p := position{edges: b.edges(plainChar, at, map[string]int32{}), jumps: []int32{first, to}, call: -1, plain: true}
	b.positions[at] = p
	return at
}

// escapes returns a position from which characters follow with a backslash.
func (b *builder) escapes(c regular.Class, to int32, known map[string]int32) int32 {
	key := fmt.Sprint(to, c)
	at, ok := known[key]
	if !ok {
		var list []string
		for _, s := range c {
			for r := s.Lo; r <= s.Hi; r++ {
				text := quote(string(r))
				list = append(list, text[1:len(text)-1])
			}
		}
		slices.Sort(list)
		at = b.texts(list, to)
		known[key] = at
	}
	return at
}

// texts returns a position from which sorted texts follow, none of which begins with another one.
func (b *builder) texts(list []string, to int32) int32 {
	var p position
	for len(list) > 0 {
		n, c := 1, list[0][0]
		for n < len(list) && list[n][0] == c {
			n++
		}
		next := to
		if n > 1 || len(list[0]) > 1 {
			rest := make([]string, n)
			for i := range rest {
				rest[i] = list[i][1:]
			}
			next = b.texts(rest, to)
		}
		p.edges = append(p.edges, edge{regular.ByteRange{Lo: c, Hi: c}, next})
		list = list[n:]
	}
	at := b.add(position{})
	b.positions[at].edges = p.edges
	return at
}

// repeat adds as many copies of an expression as it takes. If they are large, they are calls of a
// rule.
func (b *builder) repeat(e repeat, to int32) int32 {
	copies := max(e.min, e.max)
	if e.max < 0 {
		copies++
	}
	of := e.of
	if copies > 1 && !small(of) {
		b.rules = append(b.rules, rule{"a repetition", of})
		of = ref(len(b.rules) - 1)
	}
	if e.max < 0 {
		loop := b.add(position{})
		b.positions[loop].jumps = []int32{b.build(of, loop), to}
		to = loop
	} else {
		end := to
		for range e.max - e.min {
			to = b.add(position{jumps: []int32{b.build(of, to), end}})
		}
	}
	for range e.min {
		to = b.build(of, to)
	}
	return to
}

// small tells whether an expression is at most as large as a call.
func small(e expr) bool {
	switch e := e.(type) {
	case ref, inline:
		return true
	case literal:
		return len(e) <= 1
	case regular.Class:
		return len(e) > 0 && e[len(e)-1].Hi < 0x80
	}
	return false
}

// reached returns the positions that lead to the end of their rule, with any bytes or, if bytes is
// not set, with none.
func (b *builder) reached(bytes bool) []bool {
	n := len(b.positions)
	reached := make([]bool, n)
	from := make([][]int32, n) // positions that ask for another one
	var queue []int32
	for at, p := range b.positions {
		if bytes {
			for _, e := range p.edges {
				from[e.to] = append(from[e.to], int32(at))
			}
		}
		for _, to := range p.jumps {
			from[to] = append(from[to], int32(at))
		}
		if p.call >= 0 {
			from[p.back] = append(from[p.back], int32(at))
			from[b.starts[p.call]] = append(from[b.starts[p.call]], int32(at))
		}
		if p.end || p.of != nil && bytes {
			queue = append(queue, int32(at))
			reached[at] = true
		}
	}
	for len(queue) > 0 {
		to := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, at := range from[to] {
			p := &b.positions[at]
			if reached[at] || p.call >= 0 && !(reached[p.back] && reached[b.starts[p.call]]) {
				continue
			}
			reached[at] = true
			queue = append(queue, at)
		}
	}
	return reached
}

// prune removes what leads to no end, so that whatever begins can be completed.
func (b *builder) prune(live []bool) {
	for at := range b.positions {
		p := &b.positions[at]
		p.edges = slices.DeleteFunc(p.edges, func(e edge) bool { return !live[e.to] })
		p.jumps = slices.DeleteFunc(p.jumps, func(to int32) bool { return !live[to] })
		if !live[at] {
			p.call = -1
		}
	}
}

// sortRules finds the order of rules. A rule that can begin with itself has none.
func (b *builder) sortRules() error {
	b.order = make([]int32, len(b.starts))
	state := make([]int8, len(b.starts)) // 1 while what it begins with is visited, then 2
	next := int32(len(b.starts))
	type frame struct {
		rule  int32
		calls []call
	}
	for first := range b.starts {
		if state[first] != 0 {
			continue
		}
		stack := []frame{{int32(first), b.closure(b.starts[first]).calls}}
		state[first] = 1
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			if len(f.calls) == 0 {
				next--
				b.order[f.rule], state[f.rule] = next, 2
				stack = stack[:len(stack)-1]
				continue
			}
			r := f.calls[0].rule
			f.calls = f.calls[1:]
			if state[r] == 1 {
				return syntaxError(0, fmt.Sprintf("rule %q, which can begin with itself", b.names[r]), "rules without left recursion")
			}
			if state[r] == 0 {
				state[r] = 1
				stack = append(stack, frame{r, b.closure(b.starts[r]).calls})
			}
		}
	}
	b.ordered = make([]int32, len(b.order))
	for r, at := range b.order {
		b.ordered[at] = int32(r)
	}
	return nil
}

// closure returns what a position leads to with no byte.
func (a *automata) closure(at int32) *closure {
	if c := a.closures[at]; c != nil {
		return c
	}
	c := &closure{}
	seen := map[int32]bool{at: true}
	for queue := []int32{at}; len(queue) > 0; {
		at := queue[0]
		queue = queue[1:]
		visit := func(to int32) {
			if !seen[to] {
				seen[to] = true
				queue = append(queue, to)
			}
		}
		p := &a.positions[at]
		c.end = c.end || p.end
		if len(p.edges) > 0 {
			c.reads = append(c.reads, at)
		}
		for _, to := range p.jumps {
			visit(to)
		}
		if p.of != nil { // for the order of rules; a machine has a closure of its own
			for _, rule := range p.of.rules {
				c.calls = append(c.calls, call{rule: int32(rule), back: p.of.to})
			}
		}
		if p.call >= 0 {
			c.calls = append(c.calls, call{rule: p.call, back: p.back})
			if a.nullable[a.starts[p.call]] {
				visit(p.back)
			}
		}
	}
	a.closures[at] = c
	for i := range c.calls {
		c.calls[i].tail = a.onlyEnd(c.calls[i].back)
	}
	return c
}

// onlyEnd tells whether a position leads to the end of its rule and nowhere else.
func (a *automata) onlyEnd(at int32) bool {
	for {
		p := &a.positions[at]
		switch {
		case p.end:
			return true
		case len(p.jumps) == 1 && len(p.edges) == 0 && p.call < 0:
			at = p.jumps[0]
		default:
			return false
		}
	}
}

// findClasses finds the classes of bytes that no edge tells apart.
func (a *automata) findClasses() {
	var cut [257]bool
	for _, p := range a.positions {
		for _, e := range p.edges {
			cut[e.Lo], cut[int(e.Hi)+1] = true, true
		}
	}
	a.classes = []byte{0}
	for b := 1; b < 256; b++ {
		if cut[b] {
			a.classes = append(a.classes, byte(b))
		}
		a.classOf[b] = uint8(len(a.classes) - 1)
	}
}
