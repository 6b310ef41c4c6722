package grammar

import "github.com/attn-go/attn/models/grammar/internal/regular"

import (
	"fmt"
	"sync"

	"github.com/attn-go/attn/kernel"
)

// A Grammar is a set of texts. It is for any number of goroutines.
type Grammar struct {
	source   Source
	automata *automata
	mu       sync.Mutex
	machine  *machine                // for Match
	walkers  map[*Vocabulary]*walker // what matchers share
}

// A Source is what a grammar is made of.
type Source struct {
	Text string
	JSON bool // Text is a JSON Schema, for [FromSchema]; otherwise it is for [Parse]
}

// Grammar returns the grammar of the source. The error comes from [Parse] or [FromSchema].
func (s Source) Grammar() (*Grammar, error) {
	if s.JSON {
		return FromSchema([]byte(s.Text))
	}
	return Parse(s.Text)
}

// Source returns what the grammar was made of, so that others can make it again.
func (g *Grammar) Source() Source { return g.source }

// newGrammar compiles rules.
func newGrammar(source Source, rules []rule, root int) (*Grammar, error) {
	a, err := compile(rules, root)
	if err != nil {
		return nil, err
	}
	return &Grammar{source: source, automata: a, machine: newMachine(a), walkers: map[*Vocabulary]*walker{}}, nil
}

// Match tells whether the grammar has a text. The error is of the kind [ErrLimit].
func (g *Grammar) Match(text string) (ok bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer limited(&err)
	m := g.machine
	m.work = 0
	s := m.begin()
	for i := 0; i < len(text) && s != m.dead; i++ {
		s = m.ready(s)
		s = m.step(s, text[i])
	}
	return s.flags&complete != 0, nil
}

// ready returns a set with which a call can go on.
func (m *machine) ready(s *set) *set {
	m.work = 0
	if m.kept > mostCache {
		m.reset()
	}
	return m.current(s, map[*set]*set{})
}

// limited makes an error of a panic with one, or with a limit of an automaton.
func limited(err *error) {
	switch limit := recover().(type) {
	case nil:
	case *kernel.Error:
		*err = limit
	case *regular.Limit:
		*err = limitError(limit.What, limit.Most)
	default:
		panic(limit)
	}
}

// A Matcher follows one text of a grammar, token by token. It is for one goroutine at a time.
type Matcher struct {
	g *Grammar
	w *walker
	s *set
}

// Matcher returns a matcher of a text that is empty. Matchers of one grammar and vocabulary share
// what they compute. The error is of the kind [ErrLimit].
func (g *Grammar) Matcher(v *Vocabulary) (x *Matcher, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer limited(&err)
	w := g.walkers[v]
	if w == nil {
		w = &walker{newMachine(g.automata), v}
		g.walkers[v] = w
	}
	w.work = 0
	return &Matcher{g, w, w.begin()}, nil
}

// Mask returns the tokens that may follow: bit i%64 of word i/64 is set if token i may. Whatever
// follows, the text can then be completed by some bytes. The words must not be changed. The error
// is a [*kernel.Error].
func (x *Matcher) Mask() (words []uint64, err error) {
	x.g.mu.Lock()
	defer x.g.mu.Unlock()
	defer limited(&err)
	x.s = x.w.ready(x.s)
	return x.w.mask(x.s).bits, nil
}

// Accept adds a token to the text. The error is of the kind [ErrToken] if it may not follow, or
// [ErrLimit]; the text is then as it was.
func (x *Matcher) Accept(id int32) (err error) {
	x.g.mu.Lock()
	defer x.g.mu.Unlock()
	defer limited(&err)
	x.s = x.w.ready(x.s)
	words := x.w.mask(x.s).bits
	if uint32(id) >= uint32(x.w.v.size) || words[id>>6]>>(id&63)&1 == 0 {
		return &kernel.Error{Where: "grammar: the token", Got: fmt.Sprintf("%d, which may not follow here", id), Want: "one of the mask", Kind: ErrToken}
	}
	x.s = x.w.at(x.w.v.at[id], x.s)
	return nil
}

// MayEnd tells whether the grammar has the text as it is.
func (x *Matcher) MayEnd() bool { return x.s.flags&complete != 0 }

// MustEnd tells whether nothing may follow.
func (x *Matcher) MustEnd() bool { return len(x.s.items) == 0 }
