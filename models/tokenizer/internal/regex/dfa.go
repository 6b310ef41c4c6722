package regex

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/attn-go/attn/kernel"
)

// MaxAhead is how many characters a match is followed in which it is not complete.
const MaxAhead = 1024

// maxStates bounds the automaton: its table has a column for each class.
const maxStates = 4096

// maxWork bounds the time to make it. Expressions of known models take some ten thousand steps.
const maxWork = 1 << 23

// Regex is a compiled expression. It does not change and is safe for concurrent use.
type Regex struct {
	ascii   [utf8.RuneSelf]uint8 // the class of a character
	pages   []uint16             // of 256 characters each, of a class table
	classes [][256]uint8
	end     int      // the class of the text's end, the last one
	broken  uint8    // the class of U+FFFD, and of a byte that is not UTF-8
	next    []uint16 // [state][class]: twice the next state, and 1 if a match ends before that character
}

// dead is the state from which no match comes.
const dead = 0

// Compile returns the automaton of an expression. The error is a [*kernel.Error].
func Compile(expr string) (re *Regex, err error) {
	defer func() {
		switch what := recover().(type) {
		case nil:
		case unsupported:
			re, err = nil, &kernel.Error{Where: fmt.Sprintf("the expression %.200q", expr), Got: string(what), Want: "one that a single pass over a text can match"}
		default:
			panic(what)
		}
	}()
	n := parse(expr)
	c := &compiler{known: map[string]int{}}
	start := c.compile(n, c.add(inst{op: opMatch}))
	b := builder{compiler: c, re: &Regex{}, states: map[string]int{}}
	b.partition()
	b.checkGreedy()
	b.explore(start)
	return b.re, nil
}

// builder makes the deterministic automaton. Its states are lists of states of the other one in
// the order of preference.
type builder struct {
	*compiler
	re      *Regex
	members [][]bool // [class][set]: whether the set has the class
	states  map[string]int
	lists   [][]int
	seen    []int // by state of the other automaton: the closure that has it
	closure int
	work    int // states that closures have visited
}

// partition makes classes of the characters that are in the same sets.
func (b *builder) partition() {
	var bounds []rune
	for _, s := range b.sets {
		for _, r := range s {
			bounds = append(bounds, r[0], r[1]+1)
		}
	}
	bounds = append(bounds, 0, lastRune+1)
	slices.Sort(bounds)
	bounds = slices.Compact(bounds)
	at := make([]int, len(b.sets)) // the range of every set that may hold the next character
	known := map[string]uint8{}
	t := tables{known: map[[256]uint8]uint16{}}
	for i := 0; i+1 < len(bounds); i++ {
		r := bounds[i]
		key := make([]byte, len(b.sets))
		member := make([]bool, len(b.sets))
		for s, ranges := range b.sets {
			for at[s] < len(ranges) && ranges[at[s]][1] < r {
				at[s]++
			}
			if at[s] < len(ranges) && ranges[at[s]][0] <= r {
				key[s], member[s] = 1, true
			}
		}
		class, ok := known[string(key)]
		if !ok {
			if len(b.members) == 254 {
				panic(unsupported("an expression of more than 254 classes of characters"))
			}
			class = uint8(len(b.members))
			known[string(key)] = class
			b.members = append(b.members, member)
		}
		t.fill(r, bounds[i+1], class)
	}
	b.re.end = len(b.members)
	b.re.pages, b.re.classes = t.pages, t.classes
	for c := range b.re.ascii {
		b.re.ascii[c] = b.re.class(rune(c))
	}
	b.re.broken = b.re.class(utf8.RuneError)
}

// tables gather the classes of characters in pages, of which equal ones are kept once.
type tables struct {
	page    [256]uint8
	pages   []uint16
	classes [][256]uint8
	known   map[[256]uint8]uint16
}

// fill sets the class of the characters from from to to, the next ones.
func (t *tables) fill(from, to rune, class uint8) {
	for r := from; r < to; {
		if r&255 == 0 && r+256 <= to {
			for i := range t.page {
				t.page[i] = class
			}
			i := t.index()
			for ; r+256 <= to; r += 256 {
				t.pages = append(t.pages, i)
			}
			continue
		}
		t.page[r&255] = class
		if r++; r&255 == 0 {
			t.pages = append(t.pages, t.index())
		}
	}
}

// index returns the number of the page.
func (t *tables) index() uint16 {
	i, ok := t.known[t.page]
	if !ok {
		i = uint16(len(t.classes))
		t.known[t.page] = i
		t.classes = append(t.classes, t.page)
	}
	return i
}

func (re *Regex) class(r rune) uint8 { return re.classes[re.pages[r>>8]][r&255] }

// checkGreedy makes sure that a possessive repetition is the same as a greedy one: what it does not
// give back, nothing that follows could take.
func (b *builder) checkGreedy() {
	b.seen = make([]int, len(b.insts))
	for _, g := range b.greedy {
		for class := range b.members {
			if !b.members[class][g.chars] {
				continue
			}
			if list, match := b.closed([]int{g.to}, class); len(list) > 0 && !match {
				panic(unsupported("a possessive repetition whose characters may also follow it"))
			}
		}
	}
}

// closed returns the states that take a character of a class next, from the states of a list, and
// whether a match ends before that character.
func (b *builder) closed(list []int, class int) (next []int, match bool) {
	b.closure++
	var stack []int
	for _, from := range list {
		for stack = append(stack, from); len(stack) > 0; {
			at := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if b.seen[at] == b.closure {
				continue
			}
			b.seen[at] = b.closure
			if b.work++; b.work > maxWork {
				panic(unsupported("an expression of too many states"))
			}
			switch i := &b.insts[at]; i.op {
			case opMatch:
				return next, true // what has less preference does not matter
			case opSplit:
				stack = append(stack, i.other, i.to)
			case opAhead:
				if class == b.re.end && i.end || class != b.re.end && b.members[class][i.chars] {
					stack = append(stack, i.to)
				}
			case opChar:
				if class != b.re.end && b.members[class][i.chars] {
					next = append(next, i.to)
				}
			}
		}
	}
	return next, false
}

// state returns the number of a list of states.
func (b *builder) state(list []int) int {
	if len(list) == 0 {
		return dead
	}
	key := fmt.Sprint(list)
	if s, ok := b.states[key]; ok {
		return s
	}
	if len(b.lists) == maxStates {
		panic(unsupported("an expression of too many states"))
	}
	b.states[key] = len(b.lists)
	b.lists = append(b.lists, list)
	return len(b.lists) - 1
}

// explore fills the table. State 1 is the start.
func (b *builder) explore(start int) {
	width := b.re.end + 1
	b.lists = [][]int{nil}
	b.state([]int{start})
	for s := 0; s < len(b.lists); s++ {
		row := make([]uint16, width)
		for class := range width {
			list, match := b.closed(b.lists[s], class)
			row[class] = uint16(2 * b.state(unique(list)))
			if match {
				row[class]++
			}
		}
		b.re.next = append(b.re.next, row...)
	}
}

// unique leaves out what occurs in the list before.
func unique(list []int) []int {
	seen := make(map[int]bool, len(list))
	return slices.DeleteFunc(list, func(i int) bool {
		known := seen[i]
		seen[i] = true
		return known
	})
}

// Match returns the length of the match that begins where text begins, or -1 if there is none.
func (re *Regex) Match(text string) int {
	width, state, last, behind := re.end+1, 1, -1, 0
	for i := 0; ; {
		class, size := re.end, 0
		if i < len(text) {
			if c := text[i]; c < utf8.RuneSelf {
				class, size = int(re.ascii[c]), 1
			} else if r, n := utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError {
				class, size = int(re.broken), n
			} else {
				class, size = int(re.class(r)), n
			}
		}
		step := re.next[state*width+class]
		if behind++; step&1 != 0 {
			last, behind = i, 0
		}
		if state = int(step >> 1); state == dead || behind > MaxAhead {
			return last
		}
		i += size
	}
}

// Next returns the first part of a text, which is not empty: a match, or what is before one.
func (re *Regex) Next(text string) (part string, match bool) {
	for i := 0; i < len(text); {
		n := re.Match(text[i:])
		switch {
		case n > 0 && i == 0:
			return text[:n], true
		case n >= 0 && i > 0: // an empty match divides, too
			return text[:i], false
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		i += size
	}
	return text, false
}

// Split calls yield with the parts of a text in their order: matches, and what is between them. It
// ends when yield returns false. No part is empty.
func (re *Regex) Split(text string, yield func(part string, match bool) bool) bool {
	for text != "" {
		part, match := re.Next(text)
		if !yield(part, match) {
			return false
		}
		text = text[len(part):]
	}
	return true
}
