package grammar

import (
	"encoding/binary"
	"slices"
	"sort"
	"unicode"
)

// A dfa is a set of texts that is closed under and, or, not: a deterministic automaton
// over characters.
type dfa struct {
	alphabet
	next []int32 // [state][class]
	ends []bool  // by state: a text may end
}

// States of each dfa: dead leads to no end, begin is where texts begin. They are one if
// there is no text.
const dead = 0

// An alphabet is classes of characters that nothing tells apart.
type alphabet struct {
	from    []rune   // ranges, by their first characters; the first one is 0
	class   []uint16 // of each range
	samples []rune   // of each class, a character
}

// mostTable is the most entries of the table of one automaton.
const mostTable = 1 << 20

// newAlphabet returns the classes of ranges that begin at cuts; ranges of one signature
// are one class.
func newAlphabet(cuts []rune, signature func(rune) string) (a alphabet) {
	slices.Sort(cuts)
	for len(cuts) > 0 && cuts[len(cuts)-1] > unicode.MaxRune {
		cuts = cuts[:len(cuts)-1]
	}
	known := map[string]uint16{}
	for _, r := range slices.Compact(cuts) {
		key := signature(r)
		c, ok := known[key]
		if !ok {
			c = uint16(len(known))
			known[key] = c
			a.samples = append(a.samples, r)
		}
		if n := len(a.class); n == 0 || a.class[n-1] != c {
			a.from, a.class = append(a.from, r), append(a.class, c)
		}
		if len(known) > 1<<15 {
			panic(&automataLimit{"classes of characters", 1 << 15})
		}
	}
	return a
}

// of returns the class of a character.
func (a *alphabet) of(r rune) int {
	return int(a.class[sort.Search(len(a.from), func(i int) bool { return a.from[i] > r })-1])
}

// spans returns the ranges of a class.
func (a *alphabet) spans(wanted func(class int) bool) (c class) {
	for i, from := range a.from {
		if wanted(int(a.class[i])) {
			last := rune(0x10FFFF)
			if i+1 < len(a.from) {
				last = a.from[i+1] - 1
			}
			c = append(c, span{from, last})
		}
	}
	return spans(c...)
}

// explore returns the automaton of states that step leads to, in which a state is what it
// is equal to. alive is false of states that lead to no end. It panics with a LimitError,
// as add does.
func explore[S comparable](a alphabet, start S, step func(s S, sample rune) (to S, alive bool), end func(S) bool) *dfa {
	d := &dfa{alphabet: a}
	known := map[S]int32{}
	list := make([]S, 2, 16)
	add := func(s S) int32 {
		at, ok := known[s]
		if !ok {
			at = int32(len(list))
			if len(known) == 0 {
				at = 1
			} else {
				list = append(list, s)
			}
			known[s] = at
			list[at] = s
			if len(list)*len(a.samples) > mostTable {
				panic(&automataLimit{"states and classes of an automaton of a schema", mostTable})
			}
		}
		return at
	}
	add(start)
	d.next = make([]int32, len(a.samples))
	d.ends = []bool{false}
	for i := 1; i < len(list); i++ {
		d.ends = append(d.ends, end(list[i]))
		for _, r := range a.samples {
			to := int32(dead)
			if s, alive := step(list[i], r); alive {
				to = add(s)
			}
			d.next = append(d.next, to)
		}
	}
	return d.trim()
}

// trim leads what has no end to dead.
func (d *dfa) trim() *dfa {
	n, k := len(d.ends), len(d.samples)
	from := make([][]int32, n)
	var queue []int32
	live := make([]bool, n)
	for s := range n {
		if d.ends[s] {
			live[s] = true
			queue = append(queue, int32(s))
		}
		for _, to := range d.next[s*k : s*k+k] {
			if to != dead {
				from[to] = append(from[to], int32(s))
			}
		}
	}
	for len(queue) > 0 {
		s := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, s := range from[s] {
			if !live[s] {
				live[s] = true
				queue = append(queue, s)
			}
		}
	}
	for i, to := range d.next {
		if !live[to] {
			d.next[i] = dead
		}
	}
	if !live[1] {
		d.ends[1] = false
	}
	return d
}

// empty tells whether there is no text.
func (d *dfa) empty() bool {
	k := len(d.samples)
	return !d.ends[1] && !slices.ContainsFunc(d.next[k:2*k], func(to int32) bool { return to != dead })
}

// has tells whether there is a text.
func (d *dfa) has(text string) bool {
	s := int32(1)
	for _, r := range text {
		s = d.next[int(s)*len(d.samples)+d.of(r)]
	}
	return d.ends[s]
}

// both returns the texts of which keep says so, by whether they are in a and in b.
func both(a, b *dfa, keep func(a, b bool) bool) *dfa {
	sum := newAlphabet(append(slices.Clone(a.from), b.from...), func(r rune) string {
		return string(binary.LittleEndian.AppendUint32(nil, uint32(a.of(r))<<16|uint32(b.of(r))))
	})
	classes := map[rune][2]int{}
	for _, r := range sum.samples {
		classes[r] = [2]int{a.of(r), b.of(r)}
	}
	return explore(sum, [2]int32{1, 1}, func(s [2]int32, r rune) ([2]int32, bool) {
		c := classes[r]
		x := a.next[int(s[0])*len(a.samples)+c[0]]
		y := b.next[int(s[1])*len(b.samples)+c[1]]
		return [2]int32{x, y}, x != dead || y != dead || keep(false, false)
	}, func(s [2]int32) bool { return keep(a.ends[s[0]], b.ends[s[1]]) })
}

// and returns the texts of both; nil stands for all texts.
func (d *dfa) and(other *dfa) *dfa {
	switch {
	case d == nil || d == other:
		return other
	case other == nil:
		return d
	}
	return both(d, other, func(a, b bool) bool { return a && b })
}

// not returns all other texts.
func (d *dfa) not() *dfa {
	return both(d, allTexts, func(a, _ bool) bool { return !a })
}

// allTexts are all texts, noTexts none.
var (
	allTexts = lengths(0, -1)
	noTexts  = explore(oneClass, true, func(bool, rune) (bool, bool) { return true, false }, func(bool) bool { return false })
)

var oneClass = newAlphabet([]rune{0}, func(rune) string { return "" })

// mostLength is the most characters of a string of which more is known than how many there
// are.
const mostLength = 1 << 16

// lengths returns the texts of so many characters.
func lengths(least, most int) *dfa {
	if max(least, most) > mostLength {
		panic(&automataLimit{"characters of a string with a pattern, a format or the like", mostLength})
	}
	return explore(oneClass, 0, func(n int, _ rune) (int, bool) {
		if most < 0 {
			return min(n+1, least), true
		}
		return n + 1, n < most
	}, func(n int) bool { return n >= least })
}

// words returns some texts.
func words(list []string) *dfa {
	cuts := []rune{0}
	marked := map[rune]bool{}
	for _, w := range list {
		for _, r := range w {
			if !marked[r] {
				marked[r] = true
				cuts = append(cuts, r, r+1)
			}
		}
	}
	a := newAlphabet(cuts, func(r rune) string {
		if marked[r] {
			return string(r)
		}
		return ""
	})
	type node struct {
		next map[rune]int32
		end  bool
	}
	trie := []node{{next: map[rune]int32{}}}
	for _, w := range list {
		at := int32(0)
		for _, r := range w {
			to, ok := trie[at].next[r]
			if !ok {
				to = int32(len(trie))
				trie = append(trie, node{next: map[rune]int32{}})
				trie[at].next[r] = to
			}
			at = to
		}
		trie[at].end = true
	}
	return explore(a, int32(0), func(s int32, r rune) (int32, bool) {
		to, ok := trie[s].next[r]
		return to, ok && marked[r]
	}, func(s int32) bool { return trie[s].end })
}

// list returns all texts, if there are no more than most. ok is false if there are.
func (d *dfa) list(most int) (list []string, ok bool) {
	type at struct {
		state int32
		text  string
	}
	k := len(d.samples)
	for queue, steps := []at{{1, ""}}, 0; len(queue) > 0; queue = queue[1:] {
		x := queue[0]
		if d.ends[x.state] {
			list = append(list, x.text)
		}
		for i, from := range d.from {
			to := d.next[int(x.state)*k+int(d.class[i])]
			if to == dead {
				continue
			}
			end := rune(unicode.MaxRune + 1)
			if i+1 < len(d.from) {
				end = d.from[i+1]
			}
			for r := from; r < end; r++ {
				if steps++; steps > 64*most || len(list)+len(queue) > 2*most {
					return nil, false
				}
				queue = append(queue, at{to, x.text + string(r)})
			}
		}
		if len(list) > most {
			return nil, false
		}
	}
	return list, true
}

// open returns the states after which all characters of a class may follow, and then again.
func (d *dfa) open(to class) []bool {
	k := len(d.samples)
	asked := make([]bool, k) // classes with such characters
	for i, from := range d.from {
		end := rune(unicode.MaxRune + 1)
		if i+1 < len(d.from) {
			end = d.from[i+1]
		}
		asked[d.class[i]] = asked[d.class[i]] || len(class{{from, end - 1}}.and(to)) > 0
	}
	open := make([]bool, len(d.ends))
	for s := 1; s < len(open); s++ {
		open[s] = true
	}
	for changed := true; changed; {
		changed = false
		for s := range open {
			for c := 0; open[s] && c < k; c++ {
				if asked[c] && !open[d.next[s*k+c]] {
					open[s], changed = false, true
				}
			}
		}
	}
	return open
}
