package grammar

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// A set is a set of stacks: of each, the position on top, and below it where to go on when its rule
// ends. Stacks with the same top share an item, and sets with the same items are one set. So as
// many readings of a text as there may be take a step together.
type set struct {
	items []item
	flags flags
	depth int32  // of the highest stack
	id    uint32 // the smaller, the earlier it was made
	of    *table // of the machine when it was made
	hears bool   // a position below listens
	noisy uint64 // of a position on top, see [position]
	next  []*set // by class of the next byte, or by that byte if it is heard
	mask  *mask  // of the tokens that may follow
	local *set   // the same tops on unknown stacks
}

// An item is the stacks of a set with one position on top.
type item struct {
	at int32
	up *set
}

func byPosition(a, b item) int { return cmp.Compare(a.at, b.at) }

// flags say what a set has beside its items.
type flags uint8

const (
	complete flags = 1 << iota // the empty stack: the text may end here
	unknown                    // a stack of which nothing is known
)

// Limits of a machine.
const (
	mostDepth = 4096    // of a stack: rules within each other
	mostWork  = 1 << 20 // items that one call may visit
	mostCache = 1 << 24 // items, steps and words of masks that are kept
)

// A machine makes the sets of a grammar and keeps what it has computed. It begins anew when that is
// too much: sets of before are copied when they are used.
type machine struct {
	*automata
	sets   map[string]*set
	joined map[[2]uint32]*set
	table  *table
	nextID uint32
	kept   int // of mostCache
	work   int // of mostWork
	dead   *set
	empty  *set // the stack that is empty: the end of the text
	opaque *set // the stack of which nothing is known
	start  *set

	// What a step computes with.
	key     []byte
	queue   []item
	seen    map[item]bool
	tops    map[int32]*set
	heard   map[*set]*set  // sets as they are after the byte
	pending map[int32]*set // stacks from which rules are called, by place of the rule
	places  []int32        // of pending, descending
}

func newMachine(a *automata) *machine {
	m := &machine{automata: a, seen: map[item]bool{}, tops: map[int32]*set{}, heard: map[*set]*set{}, pending: map[int32]*set{}}
	m.reset()
	return m
}

// reset forgets all that is computed.
func (m *machine) reset() {
	m.table = &table{base: int32(len(m.positions)), at: map[inner]int32{}, closures: map[int32]*closure{}}
	m.kept, m.nextID = 0, 0
	m.sets, m.joined = map[string]*set{}, map[[2]uint32]*set{}
	clear(m.closures)
	m.dead, m.empty, m.opaque = m.intern(nil, 0), m.intern(nil, complete), m.intern(nil, unknown)
	m.start = nil
}

// begin returns the set before the first byte.
func (m *machine) begin() *set {
	if m.start == nil {
		m.clear()
		var f flags
		if m.nullable[m.starts[m.root]] {
			f = complete
		}
		m.push(m.root, m.empty)
		m.start = m.finish(f)
	}
	return m.start
}

// spend counts work.
func (m *machine) spend(n int) {
	if m.work += n; m.work > mostWork {
		panic(limitError("ways to read a text, in one step", mostWork))
	}
}

// intern returns the set of items, which are sorted and of which it takes no hold.
func (m *machine) intern(items []item, f flags) *set {
	m.key = append(m.key[:0], byte(f))
	for _, i := range items {
		m.key = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(m.key, uint32(i.at)), i.up.id)
	}
	if s := m.sets[string(m.key)]; s != nil {
		return s
	}
	s := &set{items: slices.Clone(items), flags: f, id: m.nextID, of: m.table}
	for _, i := range items {
		s.depth = max(s.depth, i.up.depth+1)
		s.hears = s.hears || i.up.hears || m.table.hears(i.at)
		if int(i.at) < len(m.positions) && m.positions[i.at].noisy != 0 {
			s.noisy = m.positions[i.at].noisy
		}
	}
	if s.depth > mostDepth {
		panic(limitError("rules within each other", mostDepth))
	}
	m.nextID++
	m.kept += 8 + 2*len(items)
	m.sets[string(m.key)] = s
	return s
}

// join returns the stacks of both sets.
func (m *machine) join(a, b *set) *set {
	if a == b || b == nil {
		return a
	}
	if a == nil {
		return b
	}
	key := [2]uint32{min(a.id, b.id), max(a.id, b.id)}
	if s := m.joined[key]; s != nil {
		return s
	}
	m.spend(len(a.items) + len(b.items))
	var items []item
	x, y := a.items, b.items
	for len(x) > 0 && len(y) > 0 {
		switch c := cmp.Compare(x[0].at, y[0].at); {
		case c < 0:
			items, x = append(items, x[0]), x[1:]
		case c > 0:
			items, y = append(items, y[0]), y[1:]
		default:
			items, x, y = append(items, item{x[0].at, m.join(x[0].up, y[0].up)}), x[1:], y[1:]
		}
	}
	s := m.intern(append(append(items, x...), y...), a.flags|b.flags)
	m.joined[key] = s
	m.kept += 8
	return s
}

// step returns the set after a byte.
func (m *machine) step(s *set, b byte) *set {
	c, classes := m.classOf[b], len(m.classes)
	if s.hears {
		c, classes = b, 256 // what is heard is the byte
	}
	if s.next == nil {
		s.next = make([]*set, classes)
		m.kept += classes
	}
	if s.next[c] == nil {
		to := m.dead
		if m.reads(s, b) {
			if to = m.advance(s, b); !m.goes(to) {
				to = m.dead
			}
		}
		s.next[c] = to
	}
	return s.next[c]
}

// reads tells whether a byte leads from a position on top to another one: mostly none does.
func (m *machine) reads(s *set, b byte) bool {
	spent := 0
	for _, i := range s.items {
		spent += 1 + len(m.positions[i.at].edges)/8
		for _, e := range m.positions[i.at].edges {
			if e.Lo <= b && b <= e.Hi {
				return true
			}
		}
	}
	m.spend(spent)
	return false
}

// advance computes a step: first all that a byte and ends of rules lead to, then rules that are
// called, each once, from all stacks that call it.
func (m *machine) advance(s *set, b byte) *set {
	m.clear()
	for _, i := range s.items {
		m.spend(1 + len(m.positions[i.at].edges)/8)
		for _, e := range m.positions[i.at].edges {
			if e.Lo <= b && b <= e.Hi {
				m.visit(item{e.to, m.hear(i.up, b)})
			}
		}
	}
	var f flags
	for len(m.queue) > 0 {
		i := m.queue[len(m.queue)-1]
		m.queue = m.queue[:len(m.queue)-1]
		if m.enter(i.at, i.up) {
			f |= i.up.flags
			for _, i := range i.up.items {
				m.visit(i)
			}
		}
	}
	return m.finish(f)
}

// clear prepares for a step.
func (m *machine) clear() {
	m.queue, m.places = m.queue[:0], m.places[:0]
	clear(m.seen)
	clear(m.tops)
	clear(m.heard)
	clear(m.pending)
}

// visit queues an item once.
func (m *machine) visit(i item) {
	m.spend(1)
	if !m.seen[i] {
		m.seen[i] = true
		m.queue = append(m.queue, i)
	}
}

// enter takes what a position leads to with no byte, and tells whether its rule may end there.
func (m *machine) enter(at int32, up *set) bool {
	c := m.closure(at)
	m.spend(1 + len(c.reads) + len(c.calls))
	for _, at := range c.reads {
		m.tops[at] = m.join(m.tops[at], up)
	}
	for _, call := range c.calls {
		if call.tail {
			m.push(call.rule, up)
		} else {
			m.push(call.rule, m.intern([]item{{call.back, up}}, 0))
		}
	}
	return c.end
}

// push calls a rule from stacks.
func (m *machine) push(rule int32, up *set) {
	place := m.order[rule]
	if m.pending[place] == nil {
		at, _ := slices.BinarySearchFunc(m.places, place, func(a, b int32) int { return cmp.Compare(b, a) })
		m.places = slices.Insert(m.places, at, place)
	}
	m.pending[place] = m.join(m.pending[place], up)
}

// finish takes the rules that are called, and returns the set of a step.
func (m *machine) finish(f flags) *set {
	for len(m.places) > 0 {
		place := m.places[len(m.places)-1]
		m.places = m.places[:len(m.places)-1]
		m.enter(m.starts[m.ordered[place]], m.pending[place])
	}
	items := make([]item, 0, len(m.tops))
	for at, up := range m.tops {
		items = append(items, item{at, up})
	}
	slices.SortFunc(items, byPosition)
	return m.intern(items, f)
}

// locally returns the same tops on stacks of which nothing is known.
func (m *machine) locally(s *set) *set {
	if s.local == nil {
		items := make([]item, len(s.items))
		for i, x := range s.items {
			items[i] = item{x.at, m.opaque}
		}
		s.local = m.intern(items, 0)
	}
	return s.local
}

// current returns a set as this age of the machine has it.
func (m *machine) current(s *set, copies map[*set]*set) *set {
	if s.of == m.table {
		return s
	}
	if copies[s] == nil {
		items := make([]item, len(s.items))
		for i, x := range s.items {
			items[i] = item{m.table.same(x.at, s.of), m.current(x.up, copies)}
		}
		slices.SortFunc(items, byPosition)
		copies[s] = m.intern(items, s.flags)
	}
	return copies[s]
}
