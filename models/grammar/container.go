package grammar

import (
	"slices"
	"strings"
)

// A container is the inside of arrays or objects of one kind, with what ends them. Its
// parts come in many orders, so that positions in it are made when a text leads there.
type container struct {
	layout
	comma, shut, close ref // what separates parts; what ends it without parts and behind one
	rules              []ref
	to                 int32 // where it goes on at its end
}

// A layout says which parts may follow others.
type layout interface {
	start() state
	// follow returns the parts that may follow and whether the container may end. With
	// each of them there is a way to the end.
	follow(s state) (list []option, end bool)
	// next returns the state behind a part of which text, where it hears, is known. ok is
	// false of one that must not be there again.
	next(s state, slot int32, text string) (to state, ok bool)
	// then returns what follows a part within its slot, negative for nothing.
	then(slot int32) ref
}

// A state is what counts of the parts that there are.
type state struct {
	n    int32  // how many, up to where it counts
	bits string // which
	used string // texts that must not be there again
}

// An option is a part that may follow.
type option struct {
	rule  ref
	slot  int32
	hears bool // its text counts
}

// mostUsed is the most bytes of parts that are compared, of one container.
const mostUsed = 1 << 16

// uses tells whether a value is there.
func (s *state) uses(same string) bool { return strings.Contains("\n"+s.used, "\n"+same+"\n") }

// use adds a text that must not be there again, and tells whether it was not.
func (s *state) use(text, same string) bool {
	if s.uses(same) {
		return false
	}
	// The machine looks for the text, uses for the value.
	if text = strings.ReplaceAll(text, "\n", " "); text != same {
		s.used += text + "\n"
	}
	if s.used += same + "\n"; len(s.used) > mostUsed {
		panic(limitError("bytes of items or keys that are compared", mostUsed))
	}
	return true
}

// An object is the layout of members.
type object struct {
	*shape
	slots   []slot
	compare bool // keys that are not known
	bits    int
}

func newObject(s *shape) *object {
	o := &object{shape: s, bits: s.plan.names + len(s.some)}
	o.compare = s.least > 0 || len(s.some) > 0
	for _, x := range s.plan.slots {
		if x.value.alive() {
			o.slots = append(o.slots, x)
		}
	}
	return o
}

// possible tells whether there is an object at all.
func (o *object) possible() bool {
	names, open := map[string]bool{}, false
	for _, x := range o.slots {
		open = open || x.bit < 0
		names[x.name] = true
	}
	for name := range o.required {
		if !slices.ContainsFunc(o.slots, func(x slot) bool { return x.bit >= 0 && x.name == name }) {
			return false
		}
	}
	s := o.start()
	return (open || len(names) >= o.least) && o.needs(s, nil) <= o.room(s)
}

// room returns how many members may be added.
func (o *object) room(s state) int {
	if o.most < 0 {
		return many - 1
	}
	return o.most - int(s.n)
}

// many is more than any number of members.
const many = 1 << 30

// needs returns how many members must be added at least, after x if it is not nil: those
// that are required, and those that are what shape.some asks for.
func (o *object) needs(s state, x *slot) int {
	missing, last := 0, -1
	skip := -1
	if x != nil {
		skip = x.bit
	}
	for _, y := range o.slots { // slots of a key lie side by side
		if y.required && y.bit != last && y.bit != skip && !s.has(y.bit) {
			missing++
			last = y.bit
		}
	}
	if len(o.some) == 0 {
		return missing
	}
	met := 0
	for i := range o.some {
		if s.has(o.plan.names+i) || x != nil && slices.Contains(x.meets, i) {
			met |= 1 << i
		}
	}
	return o.cover(s, met, skip)
}

// cover returns the fewest members that are required or are what shape.some asks for
// beside met, without a key.
func (o *object) cover(s state, met, skip int) int {
	fewest := make([]int, 1<<len(o.some))
	for i := range fewest {
		fewest[i] = many
	}
	fewest[met] = 0
	for i := 0; i < len(o.slots); {
		first := o.slots[i]
		var all []int // what the readings of one key are
		for ; i < len(o.slots) && o.slots[i].bit == first.bit && first.bit >= 0 || len(all) == 0; i++ {
			set := 0
			for _, m := range o.slots[i].meets {
				set |= 1 << m
			}
			all = append(all, set)
		}
		if first.bit >= 0 && (first.bit == skip || s.has(first.bit)) {
			continue
		}
		next := slices.Clone(fewest)
		if first.required {
			for k := range next {
				next[k] = many
			}
		}
		for k, n := range fewest {
			for _, set := range all {
				next[k|set] = min(next[k|set], n+1)
			}
		}
		fewest = next
	}
	return fewest[len(fewest)-1]
}

func (o *object) start() state { return state{bits: strings.Repeat("\x00", (o.bits+7)/8)} }

func (s state) has(bit int) bool { return s.bits[bit/8]>>(bit%8)&1 != 0 }

func (o *object) follow(s state) (list []option, end bool) {
	room, needs := o.room(s), o.needs(s, nil)
	for i, x := range o.slots {
		if x.bit >= 0 && s.has(x.bit) {
			continue
		}
		after := needs
		switch {
		case len(o.some) > 0:
			after = o.needs(s, &x)
		case x.required:
			after--
		}
		if after < room {
			list = append(list, option{x.rule, int32(i), x.bit < 0 && o.compare})
		}
	}
	return list, int(s.n) >= o.least && needs == 0
}

func (o *object) next(s state, slot int32, text string) (state, bool) {
	x := o.slots[slot]
	if x.bit < 0 && o.compare && !s.use(text, canonical(text)) {
		return s, false
	}
	if s.n < int32(max(o.least, o.most)) {
		s.n++
	}
	bits := []byte(s.bits)
	if x.bit >= 0 {
		bits[x.bit/8] |= 1 << (x.bit % 8)
	}
	for _, m := range x.meets {
		m += o.plan.names
		bits[m/8] |= 1 << (m % 8)
	}
	s.bits = string(bits)
	return s, true
}

func (o *object) then(slot int32) ref {
	if x := o.slots[slot]; x.bit < 0 && o.compare {
		return x.then
	}
	return -1
}

// An array is the layout of items.
type array struct {
	*shape
	items [][]choose
	known map[state]bool // which states lead to the end
	cap   int            // of state.n
	tight bool           // constants of prefixItems may be all there
}

func newArray(s *shape) *array {
	a := &array{shape: s, known: map[state]bool{}, cap: max(len(s.plan.items), s.least, s.most)}
	for _, list := range s.plan.items {
		list = slices.DeleteFunc(slices.Clone(list), func(x choose) bool { return !x.value.alive() })
		if s.unique {
			list = divideItems(list)
			a.tight = a.tight || len(a.items) < len(s.plan.items)-1 && slices.ContainsFunc(list, func(x choose) bool { return x.text != "" })
		}
		a.items = append(a.items, list)
	}
	return a
}

// Limits of arrays of which items are counted or compared.
const (
	mostCounted = 1 << 10
	mostStates  = 1 << 14
)

func (a *array) start() state { return state{bits: strings.Repeat("\x00\x00", len(a.counts))} }

// count returns how many items are of a set, up to where it counts.
func (s state) count(k int) int { return int(s.bits[2*k])<<8 | int(s.bits[2*k+1]) }

// possible tells whether there is an array at all.
func (a *array) possible() bool { return a.ends(a.start()) }

// ends tells whether a state leads to the end.
func (a *array) ends(s state) bool {
	if len(a.counts) == 0 && !a.tight {
		return a.longest() >= a.least
	}
	if !a.tight {
		s.used = ""
	}
	if yes, ok := a.known[s]; ok {
		return yes
	}
	if len(a.known) > mostStates {
		panic(limitError("states of an array whose items are counted or compared", mostStates))
	}
	a.known[s] = false // on the way there is none
	_, yes := a.readings(s)
	a.known[s] = yes
	return yes
}

// longest returns how many items there may be.
func (a *array) longest() int {
	most := 1 << 30
	if a.most >= 0 {
		most = a.most
	}
	for i, list := range a.items {
		if len(list) == 0 {
			return min(most, i)
		}
	}
	if len(a.items) == 0 {
		return most
	}
	last := a.items[len(a.items)-1]
	if a.unique && !slices.ContainsFunc(last, func(x choose) bool { return x.text == "" }) {
		most = min(most, len(last)+len(a.items)-1)
	}
	return most
}

// readings returns what may follow, and whether any of it or the end leads to the end.
func (a *array) readings(s state) (list []int, yes bool) {
	yes = a.complete(s)
	if int(s.n) >= a.longest() {
		return nil, yes
	}
	for i, x := range a.items[min(int(s.n), len(a.items)-1)] {
		to, ok := a.after(s, x)
		if !ok {
			continue
		}
		same := to
		if same.used = s.used; same == s { // one more changes nothing
			list = append(list, i)
		} else if a.ends(to) {
			list, yes = append(list, i), true
		}
	}
	return list, yes
}

// complete tells whether the array may end.
func (a *array) complete(s state) bool {
	for k, x := range a.counts {
		if s.count(k) < x.least {
			return false
		}
	}
	return int(s.n) >= a.least
}

func (a *array) follow(s state) (list []option, end bool) {
	at := min(int(s.n), len(a.items)-1)
	parts, _ := a.readings(s)
	for _, i := range parts {
		x := a.items[at][i]
		list = append(list, option{x.rule, int32(at)<<16 | int32(i), a.unique && x.text == ""})
	}
	return list, a.complete(s)
}

// after returns the state behind an item. ok is false if there are too many of a set, or
// if it is a constant that is there.
func (a *array) after(s state, x choose) (state, bool) {
	if x.text != "" && !s.use(x.text, x.same) {
		return s, false
	}
	if int(s.n) < a.cap {
		s.n++
	}
	bits := []byte(s.bits)
	for k, c := range a.counts {
		if x.adds>>k&1 == 0 {
			continue
		}
		n := s.count(k) + 1
		if c.most >= 0 && n > c.most {
			return s, false
		}
		if n = min(n, max(c.least, c.most)); n > mostCounted {
			panic(limitError("items that contains counts", mostCounted))
		}
		bits[2*k], bits[2*k+1] = byte(n>>8), byte(n)
	}
	s.bits = string(bits)
	return s, true
}

func (a *array) next(s state, slot int32, text string) (state, bool) {
	x := a.items[slot>>16][slot&0xffff]
	if a.unique && x.text == "" && !s.use(text, canonical(text)) {
		return s, false
	}
	return a.after(s, x)
}

func (a *array) then(int32) ref { return -1 }
