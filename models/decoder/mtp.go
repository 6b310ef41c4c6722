package decoder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/arch"
	engine "github.com/attn-go/attn/models/internal/network"
	"github.com/attn-go/attn/models/internal/tensors"
)

// Some models bring a layer that guesses further tokens (multi-token prediction, MTP; nextn in GGUF
// files). With each token it reads the state before it: the model's, after the last norm, or its
// own where it guessed that token. It is a model of its own, in a session of its own, and shares
// embeddings and the head with the other one unless the files have some for it. What it reads of a
// text begins where states are known: a call of Forward keeps the states of its last tokens, so
// that a long prompt takes no memory for all of them.

// readAhead reads the layer that guesses further tokens.
func (n *network) readAhead(l *loader, words, logits tensors.Linear) {
	a, layer := n.arch.Ahead(), len(n.arch.Layers)
	name := func(name string) string { return fmt.Sprintf("blk.%d.nextn.%s", layer, name) }
	if a == nil || n.arch.More == 0 || !l.guesses(layer) {
		l.Fail(&kernel.Error{Where: "decoder: Options.MTP", Got: "true of a model without a layer that guesses further tokens", Want: "false"})
		return
	}
	own := func(name string, shared tensors.Linear, other string) tensors.Linear {
		switch {
		case l.Equal(name+".weight", other, n.config.Vocab, n.config.Width):
			l.Skip(name + ".weight")
		case l.Has(name + ".weight"):
			return l.Linear(tensors.Inner, tensors.Part{Name: name, Shape: []int{n.config.Vocab, n.config.Width}})
		}
		return shared
	}
	if n.arch.OwnWords && !l.Has(name("embed_tokens.weight")) {
		l.Fail(configError("mtp_use_dedicated_embeddings", "true, and no tensor mtp.embed_tokens.weight", "that tensor, or false with Options.MTP"))
	}
	words = own(name("embed_tokens"), words, embeddingName)
	head := n.head
	head.Linear = own(name("shared_head_head"), logits, headName)
	n.ahead = &network{arch: a, config: configOf(a), head: head, layers: engine.ReadAhead(a, layer, l.Reader, engine.Packed{Linear: words.One()})}
	n.ahead.config.Vocab = n.config.Vocab
}

// guesses tells whether the files have a layer that guesses further tokens in a place.
func (l *loader) guesses(layer int) bool {
	return l.Has(fmt.Sprintf("blk.%d.nextn.eh_proj.weight", layer))
}

// guessing counts the layers of the files that guess further tokens, under a name that says what
// reads them: of a generator the option MTP takes the first one.
func (l *loader) guessing(m *arch.Model, u use) (name string, n int) {
	for i := range m.More {
		if l.guesses(len(m.Layers) + i) {
			n++
		}
	}
	if n == 0 && slices.ContainsFunc(l.Names(), func(name string) bool { return strings.HasPrefix(strings.TrimPrefix(name, "model."), "mtp.") }) {
		n = 1
	}
	if u != generates || m.Ahead() == nil {
		return "guessing layers, which nothing reads", n
	}
	return "guessing layers, read with -mtp", n
}

// moveAhead gives the tensors of Qwen's layer the names that others have.
func (l *loader) moveAhead(layer int) error {
	const last = "input_layernorm.weight"
	at, ok := strings.CutSuffix(l.Rename(fmt.Sprintf("blk.%d.attn_norm.weight", layer)), last)
	if !ok {
		return nil
	}
	for _, root := range []string{"mtp.", "model.mtp."} {
		if !slices.ContainsFunc(l.Names(), func(name string) bool { return strings.HasPrefix(name, root) }) {
			continue
		}
		for _, name := range [][2]string{
			{"layers.0."}, {"fc.", "eh_proj."}, {"pre_fc_norm_embedding.", "enorm."}, {"pre_fc_norm_hidden.", "hnorm."}, {"norm.", "shared_head.norm."}, {"embed_tokens.", "embed_tokens."},
		} {
			if err := l.Move(root+name[0], at+name[1]); err != nil {
				return err
			}
		}
	}
	return nil
}

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
		states := t.trail.states
		if start < 0 || len(g.Known)+g.Most > s.model.options.Context {
			continue
		}
		steps, of = append(steps, Step{Text: d, Tokens: g.Known[start:], before: states[(start-1-t.trail.first)*w:]}), append(of, g)
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
	if n <= 0 || t.from+n < first {
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
