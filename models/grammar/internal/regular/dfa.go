package regular

import (
	"encoding/binary"
	"slices"
	"sort"
	"unicode"
)

// Texts are a set of texts that is closed under and, or, not: a deterministic automaton
// over characters. Nil stands for all texts where a method says so.
type Texts struct {
	alphabet
	Next []int32 // the state behind a character, [state][class of the character]
	Ends []bool  // by state: a text may end
}

// Dead is the state that leads to no end. Texts begin in the state behind it.
const Dead = 0

// An alphabet is classes of characters that nothing tells apart.
type alphabet struct {
	from    []rune   // ranges, by their first characters; the first one is 0
	class   []uint16 // of each range
	Samples []rune   // of each class a character, so that there are as many as classes
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
			a.Samples = append(a.Samples, r)
		}
		if n := len(a.class); n == 0 || a.class[n-1] != c {
			a.from, a.class = append(a.from, r), append(a.class, c)
		}
		if len(known) > 1<<15 {
			panic(&Limit{"classes of characters", 1 << 15})
		}
	}
	return a
}

// of returns the class of a character.
func (a *alphabet) of(r rune) int {
	return int(a.class[sort.Search(len(a.from), func(i int) bool { return a.from[i] > r })-1])
}

// Spans returns the characters of some classes.
func (a *alphabet) Spans(wanted func(class int) bool) (c Class) {
	for i, from := range a.from {
		if wanted(int(a.class[i])) {
			last := rune(0x10FFFF)
			if i+1 < len(a.from) {
				last = a.from[i+1] - 1
			}
			c = append(c, Span{from, last})
		}
	}
	return Spans(c...)
}

// explore returns the automaton of states that step leads to, in which a state is what it
// is equal to. alive is false of states that lead to no end. It panics with a Limit,
// as add does.
func explore[S comparable](a alphabet, start S, step func(s S, sample rune) (to S, alive bool), end func(S) bool) *Texts {
	d := &Texts{alphabet: a}
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
			if len(list)*len(a.Samples) > mostTable {
				panic(&Limit{"states and classes of an automaton of a schema", mostTable})
			}
		}
		return at
	}
	add(start)
	d.Next = make([]int32, len(a.Samples))
	d.Ends = []bool{false}
	for i := 1; i < len(list); i++ {
		d.Ends = append(d.Ends, end(list[i]))
		for _, r := range a.Samples {
			to := int32(Dead)
			if s, alive := step(list[i], r); alive {
				to = add(s)
			}
			d.Next = append(d.Next, to)
		}
	}
	return d.trim()
}

// trim leads what has no end to dead.
func (d *Texts) trim() *Texts {
	n, k := len(d.Ends), len(d.Samples)
	from := make([][]int32, n)
	var queue []int32
	live := make([]bool, n)
	for s := range n {
		if d.Ends[s] {
			live[s] = true
			queue = append(queue, int32(s))
		}
		for _, to := range d.Next[s*k : s*k+k] {
			if to != Dead {
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
	for i, to := range d.Next {
		if !live[to] {
			d.Next[i] = Dead
		}
	}
	if !live[1] {
		d.Ends[1] = false
	}
	return d
}

// Empty tells whether there is no text.
func (d *Texts) Empty() bool {
	k := len(d.Samples)
	return !d.Ends[1] && !slices.ContainsFunc(d.Next[k:2*k], func(to int32) bool { return to != Dead })
}

// Has tells whether there is a text.
func (d *Texts) Has(text string) bool {
	s := int32(1)
	for _, r := range text {
		s = d.Next[int(s)*len(d.Samples)+d.of(r)]
	}
	return d.Ends[s]
}

// both returns the texts of which keep says so, by whether they are in a and in b.
func both(a, b *Texts, keep func(a, b bool) bool) *Texts {
	sum := newAlphabet(append(slices.Clone(a.from), b.from...), func(r rune) string {
		return string(binary.LittleEndian.AppendUint32(nil, uint32(a.of(r))<<16|uint32(b.of(r))))
	})
	classes := map[rune][2]int{}
	for _, r := range sum.Samples {
		classes[r] = [2]int{a.of(r), b.of(r)}
	}
	return explore(sum, [2]int32{1, 1}, func(s [2]int32, r rune) ([2]int32, bool) {
		c := classes[r]
		x := a.Next[int(s[0])*len(a.Samples)+c[0]]
		y := b.Next[int(s[1])*len(b.Samples)+c[1]]
		return [2]int32{x, y}, x != Dead || y != Dead || keep(false, false)
	}, func(s [2]int32) bool { return keep(a.Ends[s[0]], b.Ends[s[1]]) })
}

// And returns the texts of both; nil stands for all texts. It panics with a [Limit].
func (d *Texts) And(other *Texts) *Texts {
	switch {
	case d == nil || d == other:
		return other
	case other == nil:
		return d
	}
	return both(d, other, func(a, b bool) bool { return a && b })
}

// Not returns all other texts. It panics with a [Limit].
func (d *Texts) Not() *Texts {
	return both(d, All, func(a, _ bool) bool { return !a })
}

// All are all texts.
var All = Lengths(0, -1)

var oneClass = newAlphabet([]rune{0}, func(rune) string { return "" })

// mostLength is the most characters of a string of which more is known than how many there
// are.
const mostLength = 1 << 16

// Lengths returns the texts of so many characters; most is negative for no limit. It panics
// with a [Limit].
func Lengths(least, most int) *Texts {
	if max(least, most) > mostLength {
		panic(&Limit{"characters of a string with a pattern, a format or the like", mostLength})
	}
	return explore(oneClass, 0, func(n int, _ rune) (int, bool) {
		if most < 0 {
			return min(n+1, least), true
		}
		return n + 1, n < most
	}, func(n int) bool { return n >= least })
}

// Words returns the texts of a list. It panics with a [Limit].
func Words(list []string) *Texts {
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

// List returns all texts, if there are no more than most. ok is false if there are.
func (d *Texts) List(most int) (list []string, ok bool) {
	type at struct {
		state int32
		text  string
	}
	k := len(d.Samples)
	for queue, steps := []at{{1, ""}}, 0; len(queue) > 0; queue = queue[1:] {
		x := queue[0]
		if d.Ends[x.state] {
			list = append(list, x.text)
		}
		for i, from := range d.from {
			to := d.Next[int(x.state)*k+int(d.class[i])]
			if to == Dead {
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

// Open returns the states after which all characters of a class may follow, and then again.
func (d *Texts) Open(to Class) []bool {
	k := len(d.Samples)
	asked := make([]bool, k) // classes with such characters
	for i, from := range d.from {
		end := rune(unicode.MaxRune + 1)
		if i+1 < len(d.from) {
			end = d.from[i+1]
		}
		asked[d.class[i]] = asked[d.class[i]] || len(Class{{from, end - 1}}.And(to)) > 0
	}
	open := make([]bool, len(d.Ends))
	for s := 1; s < len(open); s++ {
		open[s] = true
	}
	for changed := true; changed; {
		changed = false
		for s := range open {
			for c := 0; open[s] && c < k; c++ {
				if asked[c] && !open[d.Next[s*k+c]] {
					open[s], changed = false, true
				}
			}
		}
	}
	return open
}
