package decoder

import (
	"context"
	"errors"
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
	engine "github.com/attn-go/attn/models/internal/network"
	"github.com/attn-go/attn/models/precision"
)

// A Step is what one text reads in a call of [Session.Forward].
type Step struct {
	Text   *Text
	Tokens []int32 // new tokens at the end of the text
	Logits Rows    // the tokens after which logits are wanted

	before []float32 // the state before each token, of a layer that guesses further tokens
}

// Rows says after which new tokens logits are wanted.
type Rows uint8

const (
	LogitsLast Rows = iota // after the last one
	LogitsAll              // after each
	LogitsNone             // after none
)

// count returns the number of rows of logits that a step with n tokens gets.
func (r Rows) count(n int) int {
	switch r {
	case LogitsLast:
		return min(n, 1)
	case LogitsAll:
		return n
	}
	return 0
}

// chunk is the most tokens that are computed at once: enough to keep matrix products busy,
// and few enough that activations stay small.
const chunk = 512

// Forward lets every text of the steps read its new tokens, any number of them, and returns
// the logits of the tokens that could follow: for each step the wanted rows, [rows, Vocab],
// one after the other. They are valid until the next call. Long steps are computed in chunks.
//
// ctx is checked before each layer. After any error all texts are as they were. It is a
// [*kernel.Error] for a token that the vocabulary does not have, a text of another session or one
// that is in two steps, and of the kind [ErrContext] for a text that is too long, a
// kvcache.CapacityError if the cache has too few free pages, or ctx.Err().
func (s *Session) Forward(ctx context.Context, steps ...Step) ([][]float32, error) {
	return s.run(ctx, steps, false, same)
}

// Hidden is Forward for hidden states in place of logits: those after the last norm, of which
// logits are products with the output matrix, [rows, Width]. Embeddings of texts are made of them.
func (s *Session) Hidden(ctx context.Context, steps ...Step) ([][]float32, error) {
	return s.run(ctx, steps, true, same)
}

func same(i int) int { return i }

// run is Forward or Hidden. number says which text of the call, for errors, a step is for.
func (s *Session) run(ctx context.Context, steps []Step, hidden bool, number func(int) int) ([][]float32, error) {
	if err := s.check(steps, number); err != nil {
		return nil, err
	}
	s.hidden, s.width = hidden, s.model.config.Vocab
	if hidden {
		s.width = s.model.config.Width
	}
	s.startResults(steps)
	for i := range steps {
		again, err := steps[i].Text.rewind()
		if err != nil {
			return nil, errors.Join(err, s.undo(steps))
		}
		if s.along {
			steps[i].Text.trail.empty(s.model.config.Width)
		}
		if s.done[i] = 0; len(steps[i].Tokens) > 0 {
			s.done[i] = -again
		}
	}
	for s.nextPass(steps) {
		if err := s.pass(ctx); err != nil {
			return nil, errors.Join(err, s.undo(steps))
		}
	}
	for i := range steps {
		if t := &steps[i]; len(t.Tokens) > 0 {
			t.Text.tokens = append(t.Text.tokens, t.Tokens...)
			t.Text.thin()
		}
	}
	return s.results, nil
}

// check reports steps that cannot be computed.
func (s *Session) check(steps []Step, number func(int) int) error {
	if err := s.checkTexts("Step", steps); err != nil {
		return err
	}
	for i := range steps {
		t := &steps[i]
		if n := t.Text.Len() + len(t.Tokens); n > s.model.options.Context {
			return contextError(number(i), n, s.model.options.Context)
		}
		for j, id := range t.Tokens {
			if id < 0 || int(id) >= s.model.config.Vocab {
				return tokenError(number(i), j, id, s.model.config.Vocab)
			}
		}
		if t.Logits > LogitsNone {
			return &kernel.Error{Where: "decoder: " + fmt.Sprintf("Step %d: Logits", i), Got: fmt.Sprint(t.Logits), Want: "Last, All or None"}
		}
	}
	return nil
}

// checkTexts reports a text of another session, one that is freed, and one that is there twice.
// what names a step.
func (s *Session) checkTexts(what string, steps []Step) (err error) {
	for i := range steps {
		switch t := steps[i].Text; {
		case t == nil || t.session != s:
			err = &kernel.Error{Where: fmt.Sprintf("decoder: %s %d: Text", what, i), Got: "no text of this session", Want: "a text that this session made and that is not freed"}
		case t.marked:
			err = &kernel.Error{Where: fmt.Sprintf("decoder: %s %d: Text", what, i), Got: "a text that another one has", Want: "each text once"}
		default:
			t.marked = true
		}
	}
	for i := range steps {
		if t := steps[i].Text; t != nil && t.session == s {
			t.marked = false
		}
	}
	return err
}

// startResults makes room for the results of all steps.
func (s *Session) startResults(steps []Step) {
	n := 0
	for i := range steps {
		n += steps[i].Logits.count(len(steps[i].Tokens))
	}
	s.logits = resized(s.logits, n*s.width)
	s.results, s.done = resized(s.results, len(steps)), resized(s.done, len(steps))
	rest := s.logits
	for i := range steps {
		n := steps[i].Logits.count(len(steps[i].Tokens)) * s.width
		s.results[i], rest = rest[:n:n], rest[n:]
	}
	s.ready = 0
}

// nextPass chooses the tokens of the next pass, in the order of the steps, and tells whether
// there are any. s.done counts the tokens of each step that earlier passes have computed.
// It is negative while tokens that the text already has are read again, see [Text.rewind].
func (s *Session) nextPass(steps []Step) bool {
	p := &s.tokens
	p.Reset()
	s.counts, s.texts, s.pages.Carries = s.counts[:0], s.texts[:0], s.pages.Carries[:0]
	s.scored, s.reach = s.scored[:0], s.reach[:0]
	for i := range steps {
		t, done := &steps[i], s.done[i]
		n := min(len(t.Tokens)-done, s.chunk-len(p.Tokens))
		if n == 0 {
			continue
		}
		s.counts, s.texts = append(s.counts, n), append(s.texts, t.Text)
		r := reach{first: t.Text.Len() + max(0, done), ends: len(t.Tokens)-done-n < s.follows}
		for j := max(0, done); j < done+n; j++ {
			scored := t.Logits == LogitsAll || t.Logits == LogitsLast && j == len(t.Tokens)-1
			if scored {
				s.scored = append(s.scored, len(p.Wanted))
			}
			if scored || r.ends {
				p.Wanted = append(p.Wanted, len(p.Tokens)+j-done)
				r.rows++
			}
		}
		s.reach = append(s.reach, r)
		if t.before != nil {
			p.Before = append(p.Before, t.before[done*s.model.config.Width:][:n*s.model.config.Width]...)
		}
		at := t.Text.Len() + done
		if tokens := t.Tokens[max(0, done):max(0, done+n)]; done >= 0 {
			p.Add(tokens, nil, at)
		} else {
			s.piece = append(append(s.piece[:0], t.Text.tokens[at:min(at+n, t.Text.Len())]...), tokens...)
			p.Add(s.piece, nil, at)
		}
		s.carry(t.Text, at, n)
		s.done[i] += n
	}
	return len(p.Tokens) > 0
}

// pass runs the model on the tokens of a pass, and writes the logits of the wanted ones.
func (s *Session) pass(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.extend(); err != nil {
		return err
	}
	m, p := s.model, &s.tokens
	p.Settings = engine.Settings{Exec: m.options.Exec, Int8: m.options.Precision == precision.Int8, Int12: m.options.DynamicInt12, Ropes: m.ropes}
	h, err := m.layers.Run(ctx, p)
	if err == nil {
		s.carried()
	}
	if err != nil || len(p.Wanted) == 0 {
		return err
	}
	if s.follows > 0 {
		h = s.follow(h)
	}
	rows := len(s.scored)
	if rows == 0 {
		return nil
	}
	out := s.logits[s.ready*s.width:][:rows*s.width]
	s.ready += rows
	if s.hidden {
		copy(out, h)
		return nil
	}
	return m.head.Logits(p, out, h[:rows*m.config.Width], rows)
}

// extend makes room for the tokens of a pass in all groups, or in none. No text has more pages then
// than it needs, unless all windows are to be kept: then texts drop what earlier passes of the call
// have left behind, but not before pages lack.
func (s *Session) extend() error {
	for i, t := range s.texts {
		if !s.KeepWindows && t.kv.count(s.counts[i], s.model.options.PageSize) > s.model.layout.pages(t.kv.Len()+s.counts[i]) {
			t.Trim()
		}
	}
	err := s.grow()
	if !isFull(err) {
		return err
	}
	trimmed := false
	for _, t := range s.texts {
		if t.kv.Len() > t.began {
			trimmed = t.Trim() || trimmed
		}
	}
	if trimmed {
		err = s.grow()
	}
	return err
}

// grow extends the sequences of all groups by the tokens of a pass, or of no group.
func (s *Session) grow() error {
	for i, group := range s.pages.Groups {
		s.sequences = s.sequences[:0]
		for _, t := range s.texts {
			s.sequences = append(s.sequences, t.kv[i])
		}
		err := group.Set(s.sequences...)
		if err == nil {
			err = group.Extend(s.counts...)
		}
		if err != nil {
			return errors.Join(err, s.shrink(i))
		}
	}
	return nil
}

// isFull tells whether an error says that pages lack.
func isFull(err error) bool { return err != nil && errors.As(err, new(*kvcache.CapacityError)) }

// shrink takes back what the first groups have grown by.
func (s *Session) shrink(groups int) (err error) {
	for i, t := range s.texts {
		for _, sequence := range t.kv[:groups] {
			err = errors.Join(err, sequence.Truncate(sequence.Len()-s.counts[i]))
		}
	}
	return err
}

// undo takes back what the texts have grown by since they were rewound: a pass that fails has not
// stored all keys.
func (s *Session) undo(steps []Step) (err error) {
	for i := range steps {
		t := steps[i].Text
		if t.kv.Len() > t.began {
			err = errors.Join(err, t.cutKeys(t.began))
		}
		t.cutStates(t.Len())
		t.trail.cut(t.Len(), s.model.config.Width)
	}
	return err
}

func resized[E any](x []E, n int) []E {
	if cap(x) < n {
		return make([]E, n)
	}
	return x[:n]
}
