package regex

// inst is a state of the automaton that parse's result is compiled to.
type inst struct {
	op    op
	chars int  // opChar, opAhead: index of the set
	end   bool // opAhead: also where the text ends
	to    int  // where it goes on
	other int  // opSplit: where else, with less preference
}

type op uint8

const (
	opMatch op = iota
	opChar
	opSplit
	opAhead
)

// maxInsts bounds an automaton.
const maxInsts = 20000

type compiler struct {
	insts  []inst
	sets   []set
	known  map[string]int // sets by their ranges
	greedy []inst         // possessive repetitions: chars, and to, where it goes on
}

func (c *compiler) add(i inst) int {
	if len(c.insts) >= maxInsts {
		panic(unsupported("an expression of too many parts"))
	}
	c.insts = append(c.insts, i)
	return len(c.insts) - 1
}

func (c *compiler) set(s set) int {
	key := string(rangesKey(s))
	if i, ok := c.known[key]; ok {
		return i
	}
	c.sets = append(c.sets, s)
	c.known[key] = len(c.sets) - 1
	return len(c.sets) - 1
}

func rangesKey(s set) []rune {
	var key []rune
	for _, r := range s {
		key = append(key, r[0]+1, 0x10ffff-r[1]) // any form that tells sets apart
	}
	return key
}

// compile returns where to begin for n followed by what begins at next.
func (c *compiler) compile(n *node, next int) int {
	switch n.kind {
	case one:
		return c.add(inst{op: opChar, chars: c.set(n.chars), to: next})
	case ahead:
		return c.add(inst{op: opAhead, chars: c.set(n.chars), end: n.end, to: next})
	case concat:
		for i := len(n.parts) - 1; i >= 0; i-- {
			next = c.compile(n.parts[i], next)
		}
		return next
	case either:
		at := c.compile(n.parts[len(n.parts)-1], next)
		for i := len(n.parts) - 2; i >= 0; i-- {
			at = c.add(inst{op: opSplit, to: c.compile(n.parts[i], next), other: at})
		}
		return at
	}
	return c.repeat(n, next)
}

func (c *compiler) repeat(n *node, next int) int {
	x := n.parts[0]
	if n.greedy {
		c.greedy = append(c.greedy, inst{chars: c.set(x.chars), to: next})
	}
	split := func(in, out int) inst {
		if n.lazy {
			in, out = out, in
		}
		return inst{op: opSplit, to: in, other: out}
	}
	after := next
	if n.max < 0 {
		loop := c.add(inst{})
		c.insts[loop] = split(c.compile(x, loop), next)
		after = loop
	}
	for range max(n.max-n.min, 0) {
		after = c.add(split(c.compile(x, after), next))
	}
	for range n.min {
		after = c.compile(x, after)
	}
	return after
}
