package decoder

import (
	"context"
	"fmt"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// A Guess is what a draft model guesses of how a text goes on.
type Guess struct {
	Text   *Text   // of a session of the draft model
	Known  []int32 // the tokens of the text that is guessed about, at least one; Text may have read others
	Most   int     // tokens that are wanted
	Tokens []int32 // that the model takes for the most probable ones, see [Session.Guess]
}

// Guess lets the texts of all guesses read what they lack, and appends to Tokens the most probable
// token after each text, then the one after that, up to Most tokens; fewer where the context of the
// model ends. All texts take each step together. The error comes from [Session.Forward]. For a text
// that is not of the session, or there twice, it comes before any text is changed. After other
// errors Tokens has what was guessed until then, and texts have lost what is not in Known.
func (s *Session) Guess(ctx context.Context, all ...*Guess) error {
	var steps []Step
	for _, g := range all {
		steps = append(steps, Step{Text: g.Text})
	}
	if err := s.checkTexts("Guess", steps); err != nil {
		return err
	}
	steps = steps[:0]
	var of []*Guess
	for _, g := range all {
		g.Most = min(g.Most, len(g.Tokens)+s.model.options.Context-len(g.Known))
		if len(g.Tokens) >= g.Most || len(g.Known) == 0 {
			continue
		}
		rest, err := g.Text.Keep(g.Known)
		if err != nil {
			return err
		}
		steps, of = append(steps, Step{Text: g.Text, Tokens: rest}), append(of, g)
	}
	return s.guess(ctx, steps, of)
}

// guess appends the likeliest token after each step to the guess in the same place, and reads it in
// the next step, until each has Most tokens. Both lists are overwritten.
func (s *Session) guess(ctx context.Context, steps []Step, of []*Guess) error {
	for len(steps) > 0 {
		logits, err := s.Forward(ctx, steps...)
		if err != nil {
			return err
		}
		left := 0
		for i, g := range of {
			if steps[i].Logits == LogitsNone { // which only reads
				continue
			}
			top := [1]int{}
			if err := numeric.TopK(top[:], logits[i]); err != nil {
				return err
			}
			if g.Tokens = append(g.Tokens, int32(top[0])); len(g.Tokens) >= g.Most {
				continue
			}
			next := Step{Text: steps[i].Text, Tokens: g.Tokens[len(g.Tokens)-1:]}
			if steps[i].before != nil {
				states := next.Text.trail.states
				next.before = states[len(states)-s.model.config.Width:]
			}
			steps[left], of[left] = next, g
			left++
		}
		steps, of = steps[:left], of[:left]
	}
	return nil
}

// CheckDraft returns a [*kernel.Error] if the draft model has another vocabulary than the model.
func (m *Model) CheckDraft(draft *Model) error {
	if n, got := m.config.Vocab, draft.config.Vocab; got != n {
		return &kernel.Error{Where: "decoder: GenerateOptions.DraftModel", Got: fmt.Sprintf("a model of %d tokens", got), Want: fmt.Sprintf("one of the same vocabulary, %d tokens", n)}
	}
	return nil
}

// drafters gives each stream a text of the draft model, or of the layer that guesses, all in one
// session. It stays with the session of the streams, and the texts with theirs, so that the next
// call reads only what is new.
func (g *generation) drafters(o *GenerateOptions) error {
	m := o.DraftModel
	if g.s.along && o.Draft > 0 {
		return &kernel.Error{Where: "decoder: GenerateOptions.Draft", Got: fmt.Sprintf("%d in a session with OpenAhead", o.Draft), Want: "0, and Session.Ahead"}
	}
	g.ahead = m == nil && o.Draft > 0 && g.s.model.ahead != nil
	if g.ahead {
		m = g.s.model.ahead
	}
	if m == nil {
		return nil
	}
	if err := g.s.model.CheckDraft(m); err != nil {
		return err
	}
	d, need, room := g.s.draft, 0, 0
	for _, t := range g.streams {
		tokens := m.options.Context
		if o.MaxTokens > 0 && o.MaxTokens < tokens {
			tokens = min(tokens, t.text.Len()+len(t.next)+o.MaxTokens)
		}
		need += m.Pages(tokens)
		if draft := t.text.draft; draft != nil && draft.session == d && d.model == m {
			// No other stream waits for pages of what is not in the text any more.
			if !g.ahead {
				if _, err := draft.Keep(slices.Concat(t.text.tokens, t.next)); err != nil {
					return err
				}
			}
			room += draft.kv.count(0, m.options.PageSize)
		}
	}
	if d != nil && d.model == m {
		room += d.FreePages()
	}
	if room < need {
		pages := need
		if d != nil && d.model == m {
			pages = max(need, 2*d.pagesInAll)
		}
		var err error
		if g.s.draft, err = m.newSession(pages); err != nil {
			return err
		}
		if g.ahead {
			g.s.draft.follows = 1
		}
	}
	for _, t := range g.streams {
		if t.text.draft == nil || t.text.draft.session != g.s.draft {
			t.text.draft = g.s.draft.NewText()
		}
	}
	g.drafts = g.s.draft
	return nil
}

// ask lets the draft model guess for all streams that want guesses.
func (g *generation) ask(ctx context.Context, wants []int) error {
	var all []*Guess
	var of []*stream
	for i, t := range g.streams {
		if wants[i] > 0 {
			guess := &Guess{Text: t.text.draft, Known: t.known(), Most: wants[i]}
			if g.ahead {
				guess.Text = t.text
			}
			all, of = append(all, guess), append(of, t)
		}
	}
	guess := g.drafts.Guess
	if g.ahead {
		guess = g.s.guessAhead
	}
	err := guess(ctx, all...)
	for i, t := range of {
		t.next, t.guesses = append(t.next, all[i].Tokens...), len(all[i].Tokens)
	}
	return err
}
