package grammar

import (
	"errors"
	"maps"
	"slices"

	"github.com/attn-go/attn/models/grammar/internal/regular"
)

// A plan is how texts of a shape are made of parts.
type plan struct {
	texts *regular.Texts // of a number or a string
	slots []slot         // of an object, known keys first
	names int            // how many keys are known
	items [][]choose     // of an array, by index; the last ones are for all that follow
}

// A slot is a member that an object may have.
type slot struct {
	bit      int            // of a known key; negative for others
	name     string         // the known key
	keys     *regular.Texts // the others
	value    *domain
	required bool
	meets    []int // of shape.some, what the member is
	rule     ref
	then     ref // where keys are compared: the value, and rule is the key
}

// choose is one reading of an item.
type choose struct {
	value *domain
	adds  uint // bits of shape.counts, what the item is
	rule  ref

	shapes []*shape // where items are compared: what the value may be
	text   string   // where items are compared: of a constant; other items are compared when they are there
	same   string   // of text, what canonical says
}

// Limits of plans.
const (
	mostKnown    = 1 << 12 // keys of an object
	mostPatterns = 8       // of keys of an object
	mostSome     = 6       // members that some asks for
	mostCounts   = 3       // contains of an array
	mostFinite   = 1 << 6  // texts of a set that is taken as a list
)

// planObject finds the slots of an object.
func (c *compiler) planObject(s *shape) (*plan, error) {
	var names []string
	seen := map[string]bool{}
	add := func(list []string) {
		for _, name := range list {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	var patterns []*regular.Texts
	for _, r := range slices.Concat(s.every, s.some) {
		add(slices.Sorted(maps.Keys(r.of.names)))
		for _, d := range r.of.in {
			if !slices.Contains(patterns, d) {
				patterns = append(patterns, d)
			}
		}
	}
	add(slices.Sorted(maps.Keys(s.required)))
	if len(names) > mostKnown {
		return nil, limitError("keys that a schema names for one object", mostKnown)
	}
	if len(s.some) > mostSome {
		return nil, limitError("members of one object that not asks for", mostSome)
	}
	if len(patterns) > mostPatterns {
		return nil, limitError("patterns of keys of one object", mostPatterns)
	}
	p := &plan{}
	named := map[string][]*domain{}
	var general []keyRule
	for _, r := range s.every {
		if r.but || r.of.all || len(r.of.in) > 0 {
			general = append(general, r)
			continue
		}
		for name := range r.of.names {
			named[name] = append(named[name], r.value)
		}
	}
	for _, name := range names {
		list := named[name]
		for i := range general {
			if general[i].applies(name) {
				list = append(list, general[i].value)
			}
		}
		x := slot{bit: len(p.slots), name: name, value: c.and(list...), required: s.required[name]}
		for i := range s.some {
			if s.some[i].applies(name) {
				x.meets = append(x.meets, i)
			}
		}
		p.slots = append(p.slots, x)
	}
	p.names = len(names)
	c.planOthers(s, p, general, patterns, names)
	return p, nil
}

// planOthers adds slots of keys that the schema does not name, one for each set of
// patterns that keys may match.
func (c *compiler) planOthers(s *shape, p *plan, general []keyRule, patterns []*regular.Texts, names []string) {
	var free *regular.Texts
	for signs := range 1 << len(patterns) {
		applies := func(r *keyRule) bool {
			in := r.of.all || slices.ContainsFunc(r.of.in, func(d *regular.Texts) bool { return signs>>slices.Index(patterns, d)&1 != 0 })
			return in != r.but
		}
		var values []*domain
		for i := range general {
			if applies(&general[i]) {
				values = append(values, general[i].value)
			}
		}
		x := slot{bit: -1, value: c.and(values...)}
		if x.value != nil && len(x.value.parts) == 1 && x.value.parts[0].schema.is("false") && !x.value.parts[0].not {
			continue // before what is costly
		}
		if free == nil {
			if free = regular.All; len(names) > 0 {
				free = c.charge(regular.Words(names).Not())
			}
		}
		x.keys = free
		for i, d := range patterns {
			if signs>>i&1 == 0 {
				d = c.negated(d)
			}
			x.keys = c.meetTexts(x.keys, d)
		}
		if x.keys.Empty() {
			continue
		}
		for i := range s.some {
			if applies(&s.some[i]) {
				x.meets = append(x.meets, i)
			}
		}
		list, ok := x.keys.List(mostFinite)
		if !ok {
			p.slots = append(p.slots, x)
		}
		for _, name := range list {
			x.bit, x.name, x.required = p.names, name, false
			p.names++
			p.slots = append(p.slots, x)
		}
	}
}

// negated keeps what it has computed.
func (c *compiler) negated(d *regular.Texts) *regular.Texts {
	key := [2]*regular.Texts{d, nil}
	x, ok := c.met[key]
	if !ok {
		x = c.charge(d.Not())
		c.met[key] = x
	}
	return x
}

// planArray finds what items may be.
func (c *compiler) planArray(s *shape) (*plan, error) {
	if len(s.counts) > mostCounts {
		return nil, limitError("contains of one array", mostCounts)
	}
	p := &plan{}
	last := len(s.prefix)
	for _, x := range s.counts {
		last = max(last, x.from)
	}
	for i := range last + 1 {
		var all []choose
		for adds := range uint(1) << len(s.counts) {
			list, ok := []*domain{s.item(i)}, true
			for k, x := range s.counts {
				switch {
				case adds>>k&1 != 0:
					ok = ok && i >= x.from
					list = append(list, x.yes)
				case x.no != nil && i >= x.from:
					list = append(list, x.no)
				}
			}
			if ok {
				all = append(all, choose{value: c.and(list...), adds: adds})
			}
		}
		p.items = append(p.items, all)
	}
	return p, nil
}

// children calls f with the nodes of which values of a shape consist.
func (s *shape) children(f func(*domain)) {
	for _, x := range s.plan.slots {
		f(x.value)
	}
	for _, list := range s.plan.items {
		for _, x := range list {
			f(x.value)
		}
	}
}

// reach expands a node and all that its values consist of.
func (c *compiler) reach(root *domain) error {
	seen := map[*domain]bool{root: true}
	queue := []*domain{root}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		c.order = append(c.order, n)
		if err := c.expand(n); errors.Is(err, errLoop) {
			return fault(c.sites[n.parts[0].schema].at, "a schema that leads to itself", "one that says something of a value")
		} else if err != nil {
			return err
		}
		for _, s := range n.shapes {
			if s.plan != nil {
				continue
			}
			var err error
			s.plan = &plan{}
			switch s.kind {
			case isNumber:
				if s.numbers.only == nil {
					s.plan.texts = c.charge(s.numbers.texts())
				}
			case isString:
				if s.texts != nil {
					s.plan.texts = c.charge(s.strings())
				}
			case isArray:
				s.plan, err = c.planArray(s)
			case isObject:
				s.plan, err = c.planObject(s)
			}
			if err != nil {
				return err
			}
			c.divide(s)
			s.children(func(n *domain) {
				if n != nil && !seen[n] {
					seen[n] = true
					queue = append(queue, n)
				}
			})
		}
	}
	return nil
}

// divide makes of a slot that may be what shape.some asks for several, of which each is
// something or not.
func (c *compiler) divide(s *shape) {
	var all []slot
	for _, x := range s.plan.slots {
		for subset := range 1 << len(x.meets) {
			y := x
			y.meets = nil
			for k, m := range x.meets {
				if subset>>k&1 != 0 {
					y.meets = append(y.meets, m)
					y.value = c.and(y.value, s.some[m].value)
				}
			}
			all = append(all, y)
		}
	}
	s.plan.slots = all
}

// settle finds which nodes are live: none is until a value of it is found.
func (c *compiler) settle() {
	for changed := true; changed; {
		changed = false
		for _, n := range slices.Backward(c.order) {
			if !n.live && slices.ContainsFunc(n.shapes, (*shape).live) {
				n.live, changed = true, true
			}
		}
	}
}

// alive tells whether a value of a node is known.
func (n *domain) alive() bool { return n == nil || n.live }

// live tells whether a value of the shape is known.
func (s *shape) live() bool {
	switch s.kind {
	case isArray:
		return newArray(s).possible()
	case isObject:
		return newObject(s).possible()
	}
	return s.plan.texts == nil || !s.plan.texts.Empty()
}

// blame returns a schema for which there are no values of a domain.
func (n *domain) blame() *value {
	for range mostNesting {
		next := n
		for _, s := range n.shapes {
			for i, list := range s.plan.items {
				if i < s.least && len(list) == 1 && !list[0].value.alive() {
					next = list[0].value
				}
			}
			for _, x := range s.plan.slots {
				if x.required && !x.value.alive() {
					next = x.value
				}
			}
		}
		if next == n {
			break
		}
		n = next
	}
	return n.parts[0].schema
}
