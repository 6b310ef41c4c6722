package server

import (
	"errors"
	"net/http"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/server/internal/dialect"
	"github.com/attn-go/attn/models/server/internal/options"
	"github.com/attn-go/attn/models/server/internal/request"
)

// prepare checks a request, and makes tokens of its texts.
func (g *generator) prepare(r *request.Request, w *request.Generate) error {
	if err := g.wantReceipt(r); err != nil {
		return err
	}
	if err := g.stops(w); err != nil {
		return err
	}
	if err := g.limit(r, w); err != nil {
		return err
	}
	var err error
	w.Bytes = func(int32) []byte { return nil }
	if tok, none := g.m.Tokenizer(); none == nil {
		w.Bytes = tok.TokenBytes
	}
	if w.Conversation != nil {
		err = g.converse(r, w)
	} else {
		err = g.continued(r, w)
	}
	if err != nil {
		return err
	}
	if n, most := len(w.Prompts), g.s.Choices; w.Choices < 1 || w.Choices > most/max(1, n) {
		return badParam("n", "n: got %d for %d prompts, want 1 to %d for all prompts together", w.Choices, n, most)
	}
	for _, ids := range w.Prompts {
		r.Prompt += len(ids)
	}
	return nil
}

// stops sets the tokens that end a text: the model's, unless they are to be ignored, and those of the request.
func (g *generator) stops(w *request.Generate) error {
	if w.Stop == nil && !w.IgnoreEnds {
		return nil
	}
	w.Options.Stop = []int32{}
	if !w.IgnoreEnds {
		w.Options.Stop = append(w.Options.Stop, g.m.Stop()...)
	}
	if vocab := g.m.Config().Vocab; options.Outside(w.Stop, vocab) >= 0 {
		i := options.Outside(w.Stop, vocab)
		return badParam("stop_token_ids", "stop_token_ids[%d]: got %d, want 0 to %d", i, w.Stop[i], vocab-1)
	}
	w.Options.Stop = append(w.Options.Stop, w.Stop...)
	return nil
}

// limit sets the grammar that a request asks for. Grammars take memory while a text grows, so that few
// requests at once may have one.
func (g *generator) limit(r *request.Request, w *request.Generate) (err error) {
	if w.Shape == nil {
		return nil
	}
	select {
	case g.grammars <- struct{}{}:
	default:
		return dialect.Fail(http.StatusServiceUnavailable, "", "too many requests with a %s are being answered", w.Shape.Field)
	}
	r.OnClose(func() { <-g.grammars })
	w.Options.Grammar, err = w.Shape.Parse()
	return err
}

// converse sets the prompt to the tokens of a conversation.
func (g *generator) converse(r *request.Request, w *request.Generate) error {
	c := w.Conversation
	template, err := g.m.Template()
	if err != nil {
		return badParam("model", "%q has no chat template, so that it has no conversations; /v1/completions continues texts", g.name)
	}
	if w.Tools.None {
		c.Tools = nil
	}
	if len(c.Tools) > 0 && !template.ReadsTools() {
		return badParam("tools", "tools: got %d, want none, as the template of %q has none", len(c.Tools), g.name)
	}
	if c.Documents != nil && !template.ReadsDocuments() {
		return badParam("documents", "documents: got some, want none, as the template of %q has none", g.name)
	}
	release, err := g.encoding(r)
	if err != nil {
		return err
	}
	defer release()
	parts, err := template.Write(r.Ctx, c, true)
	if bad, ok := errors.AsType[*kernel.Error](err); ok && errors.Is(err, kernel.ErrArgument) {
		return badVariable(bad)
	} else if err != nil {
		return err
	}
	most := g.m.Options().Context
	prompt, fits, err := g.m.EncodeParts(parts, most)
	switch {
	case err != nil:
		return err
	case !fits:
		return tooLong("messages", most)
	case len(prompt) == 0:
		return dialect.Fail(http.StatusBadRequest, "", "the conversation has no token")
	}
	w.Prompts = [][]int32{prompt}
	return nil
}

// badVariable returns an error about a part of a conversation by the field of a request that has it.
func badVariable(bad *kernel.Error) error {
	name := bad.Arg()
	field, _, inside := strings.Cut(name, "[")
	if !inside && name != "documents" || bad.Want == "another name" {
		field, name = "chat_template_kwargs", "chat_template_kwargs."+name
	}
	return badParam(field, "%.80s: got %s, want %s", name, bad.Got, bad.Want)
}

// continued sets the prompts to the tokens of texts. Special tokens that are written in a text count as such, as a
// completion is a text as the model sees it.
func (g *generator) continued(r *request.Request, w *request.Generate) error {
	if w.Len() == 0 {
		return badParam("prompt", "prompt: got none, want at least one")
	}
	if w.Len() > g.s.Choices {
		return badParam("prompt", "prompt: got %d, want at most %d", w.Len(), g.s.Choices)
	}
	release, err := g.encoding(r)
	if err != nil {
		return err
	}
	defer release()
	w.Prompts = w.Tokens
	most, vocab := g.m.Options().Context, g.m.Config().Vocab
	for _, text := range w.Texts {
		ids, fits, err := g.m.EncodeWithin(text, true, most)
		if err != nil {
			return badParam("prompt", "the model has no tokenizer, so that it takes tokens alone: %v", err)
		}
		if !fits {
			return tooLong("prompt", most)
		}
		w.Prompts = append(w.Prompts, ids)
	}
	for i, ids := range w.Prompts {
		if len(ids) == 0 {
			return badParam("prompt", "prompt %d has no token, want at least one", i)
		}
		if bad := options.Outside(ids, vocab); bad >= 0 {
			return badParam("prompt", "prompt %d: token %d: got %d, want 0 to %d", i, bad, ids[bad], vocab-1)
		}
		if len(ids) > most {
			return tooLong("prompt", most)
		}
		if w.Echo {
			w.Echoed = append(w.Echoed, g.echoed(w, i))
		}
	}
	return nil
}

// echoed returns a prompt as answers begin with it, with room for the logarithms of its tokens, if they are wanted.
func (g *generator) echoed(w *request.Generate, at int) (e request.Echoed) {
	ids := w.Prompts[at]
	tok, err := g.m.Tokenizer()
	if len(w.Texts) > 0 {
		e.Text = w.Texts[at]
	} else if err == nil {
		e.Text = tok.Decode(ids, true)
	}
	if !w.Options.Logprobs {
		return e
	}
	e.Tokens = make([]decoder.Token, len(ids))
	e.Tokens[0].ID = ids[0]
	if err == nil {
		if before, _ := tok.Ends(); len(before) > 0 && ids[0] == before[0] && !strings.HasPrefix(e.Text, tok.Token(before[0])) {
			e.Outside = len(before)
		}
	}
	return e
}
