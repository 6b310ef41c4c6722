package decoder

import (
	"context"
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// A drafter is a text of another model, which guesses how one goes on.
type drafter struct {
	s    *Session
	text *Text
}

// drafters gives each stream a drafter, all in one session.
func (g *generation) drafters(o *GenerateOptions) error {
	m := o.DraftModel
	if m == nil {
		return nil
	}
	if n := g.s.model.config.Vocab; m.config.Vocab != n {
		return &kernel.Error{Where: "decoder: GenerateOptions.DraftModel", Got: fmt.Sprintf("a model of %d tokens", m.config.Vocab), Want: fmt.Sprintf("one of the same vocabulary, %d tokens", n)}
	}
	pages := 0
	for _, t := range g.streams {
		tokens := m.options.Context
		if o.MaxTokens > 0 && o.MaxTokens < tokens {
			tokens = min(tokens, t.text.Len()+len(t.next)+o.MaxTokens)
		}
		pages += m.Pages(tokens)
	}
	s, err := m.newSession(pages)
	if err != nil {
		return err
	}
	for _, t := range g.streams {
		t.drafter = &drafter{s, s.NewText()}
	}
	return nil
}

// guess returns up to n tokens that the model takes for the most probable ones after those of a
// text. There are fewer where its context ends.
func (d *drafter) guess(ctx context.Context, tokens []int32, n int) (guesses []int32, err error) {
	if n = min(n, d.s.model.options.Context-len(tokens)); n <= 0 {
		return nil, nil
	}
	rest, err := d.text.Keep(tokens)
	for err == nil && len(guesses) < n {
		var logits [][]float32
		if logits, err = d.s.Forward(ctx, Step{Text: d.text, Tokens: rest}); err == nil {
			top := [1]int{}
			err = numeric.TopK(top[:], logits[0])
			rest = []int32{int32(top[0])}
			guesses = append(guesses, rest...)
		}
	}
	return guesses, err
}
