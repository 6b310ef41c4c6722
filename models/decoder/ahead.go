package decoder

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/attn-go/attn/kernel"
)

// OpenAhead lets the layer of [Options.MTP] read with the texts of the session, so that
// [Session.Ahead] can guess how they go on. What it reads has room for so many texts of so many
// tokens each, in a cache of its own, where a page takes [Model.AheadBytes]. Forks share what the
// layer has read. The errors come from [Model.NewSession], or are a [*kernel.Error] for a model
// without such a layer.
func (s *Session) OpenAhead(texts, tokens int) error {
	if s.model.ahead == nil {
		return &kernel.Error{Where: "decoder: Session.OpenAhead", Got: "a model without a layer that guesses", Want: "one that is loaded with Options.MTP"}
	}
	draft, err := s.model.ahead.NewSession(texts, tokens)
	if err != nil {
		return err
	}
	s.draft, s.follows, s.along = draft, chunk, true
	draft.follows = 1
	return nil
}

// Ahead is [Session.Guess] for texts of the session itself, after OpenAhead: the layer of
// [Options.MTP] reads what the last call of Forward has read of each text, and then guesses. Known
// is the text and one token more, and Most may be 0. States are kept of the last call alone, and of
// a long one after its last tokens, 512 to 1,024 of each text with Width*4 bytes each: what the
// layer has read of a text begins anew where it has missed some, and where Known is not the text. A
// kvcache.CapacityError is of the layer's cache, see [Text.CloseAhead]. No guess changes what
// Forward returns.
func (s *Session) Ahead(ctx context.Context, all ...*Guess) error {
	var steps []Step
	for _, g := range all {
		steps = append(steps, Step{Text: g.Text})
	}
	if err := s.checkTexts("Guess", steps); err != nil {
		return err
	}
	if !s.along {
		return &kernel.Error{Where: "decoder: Session.Ahead", Got: "a session without OpenAhead", Want: "one with it"}
	}
	var of []*Guess
	for i, g := range all {
		where, vocab := fmt.Sprintf("decoder: Guess %d: Known", i), s.model.config.Vocab
		if n := g.Text.Len() + 1; len(g.Known) != n {
			return &kernel.Error{Where: where, Got: fmt.Sprintf("%d tokens", len(g.Known)), Want: fmt.Sprintf("%d, the text and one more", n)}
		}
		if at := slices.IndexFunc(g.Known, func(id int32) bool { return id < 0 || int(id) >= vocab }); at >= 0 {
			return &kernel.Error{Where: where, Got: fmt.Sprintf("id %d of token %d", g.Known[at], at), Want: fmt.Sprintf("0 to %d", vocab-1)}
		}
		if g.Text.closed {
			continue
		}
		if d := g.Text.draft; d == nil || d.session != s.draft {
			g.Text.draft = s.draft.NewText()
		}
		of = append(of, g)
	}
	return s.guessAhead(ctx, of...)
}

// CloseAhead gives back the pages of what the layer of [Options.MTP] has read of the text, for
// which [Session.Ahead] guesses nothing any more, and tells whether there was something. A fork
// begins anew.
func (t *Text) CloseAhead() bool {
	if t.session == nil || !t.session.along || t.draft == nil {
		return false
	}
	t.draft.Free()
	t.draft, t.closed = nil, true
	return true
}

// FreeAhead returns the number of pages of the layer's cache that no text uses, see
// [Session.OpenAhead]; 0 without it.
func (s *Session) FreeAhead() int {
	if !s.along {
		return 0
	}
	return s.draft.FreePages()
}

// forkAhead gives a fork what the layer has read of it.
func (t *Text) forkAhead(fork *Text) (err error) {
	if n := fork.Len() - t.from; t.session.along && t.draft != nil && n > 0 {
		fork.from = t.from
		fork.draft, err = t.draft.Fork(min(n, t.draft.Len()))
	}
	return err
}

// missMost is how many tokens the layer may read whose states before them are not known, with the
// first one that is known in their place: a fork knows no state before its next token.
const missMost = 1

// A trail is the states that a text keeps for the layer that guesses further tokens.
type trail struct {
	first  int       // the token that the first one follows
	states []float32 // [tokens, Width]
}

// cut forgets the states after all but the first n tokens of the text.
func (a *trail) cut(n, width int) {
	a.states = a.states[:min(len(a.states), max(0, n-a.first)*width)]
}

// add adds the states after some tokens, in the place of those that are not right before them, and
// keeps at least so many of the last ones, and at most twice as many, so that few calls move any.
func (a *trail) add(first int, states []float32, width, least int) {
	if more := len(states)/width - least; more > 0 {
		first, states = first+more, states[more*width:]
	}
	had, n := len(a.states)/width, len(states)/width
	if a.first+had != first {
		a.first, a.states, had = first, a.states[:0], 0
	}
	if had+n > 2*least {
		more := had + n - least
		a.first, a.states = a.first+more, slices.Delete(a.states, 0, more*width)
	}
	a.states = append(a.states, states...)
}

// before returns the states before a token and after it. Those that are not known are like the
// first one.
func (a *trail) before(token, width int) []float32 {
	states := a.states[max(0, token-1-a.first)*width:]
	for range a.first - (token - 1) {
		states = slices.Concat(a.states[:width], states)
	}
	return states
}

// empty forgets all states, and the memory of many.
func (a *trail) empty(width int) {
	const few = 16
	if a.states = a.states[:0]; cap(a.states) > few*width {
		a.states = nil
	}
}

// A reach is what a pass wants of a text.
type reach struct {
	rows  int // wanted
	first int // the token of the first one
	ends  bool
}

// follow keeps states of the texts of a pass and returns those that logits are wanted of.
func (s *Session) follow(h []float32) []float32 {
	w, at := s.model.config.Width, 0
	for i, t := range s.texts {
		r := s.reach[i]
		if r.ends {
			t.trail.add(r.first, h[at:at+r.rows*w], w, s.follows)
		}
		at += r.rows * w
	}
	for i, row := range s.scored {
		copy(h[i*w:][:w], h[row*w:])
	}
	return h
}

// guessAhead is Guess for texts of the session, by the layer of its model. Known has one token more
// than Text has read.
func (s *Session) guessAhead(ctx context.Context, all ...*Guess) error {
	w := s.model.config.Width
	var steps []Step
	var of []*Guess
	for _, g := range all {
		t, d := g.Text, g.Text.draft
		start := t.readAhead(g.Known)
		if start < 0 {
			continue
		}
		g.Most = min(g.Most, len(g.Tokens)+s.model.options.Context-len(g.Known))
		step := Step{Text: d, Tokens: g.Known[start:], before: t.trail.before(start, w)}
		if len(g.Tokens) >= g.Most {
			step.Logits = LogitsNone
		}
		steps, of = append(steps, step), append(of, g)
	}
	texts := slices.Clone(of)
	return errors.Join(s.draft.guess(ctx, steps, of), forgetGuesses(texts))
}

// forgetGuesses forgets what the layer has read of tokens that it guessed itself.
func forgetGuesses(all []*Guess) (err error) {
	for _, g := range all {
		d := g.Text.draft
		err = errors.Join(err, d.Truncate(min(d.Len(), len(g.Known)-g.Text.from)))
	}
	return err
}

// readAhead brings what the layer has read of the text to a beginning of known, and returns the
// first token that it reads next, or -1 where the states before it are not known.
func (t *Text) readAhead(known []int32) int {
	d, first := t.draft, t.trail.first+1
	w := t.session.model.config.Width
	if len(known) != t.Len()+1 || len(t.trail.states) == 0 || t.trail.first+len(t.trail.states)/w != t.Len() {
		return -1
	}
	n := 0
	if t.from <= len(known) {
		n = min(common(d.tokens, known[t.from:]), len(known)-1-t.from)
	}
	if n <= 0 || t.from+n < first-missMost {
		n, t.from = 0, first
	}
	if d.Truncate(n) != nil {
		return -1
	}
	return t.from + n
}

// cutAhead forgets what the layer has read of tokens that the text has lost.
func (t *Text) cutAhead(n int) error {
	t.trail.cut(n, t.session.model.config.Width)
	if t.draft == nil || t.draft.session == nil || t.draft.session.model != t.session.model.ahead {
		return nil
	}
	return t.draft.Truncate(max(0, min(t.draft.Len(), n-t.from)))
}
