package server

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/answer"
	"github.com/attn-go/attn/models/chattemplate"
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
	if r.Receipt && len(w.Options.Bias) > 0 {
		return badParam("receipt", "receipt: got true with logit_bias, which a receipt has no place for")
	}
	if err := g.infill(w); err != nil {
		return err
	}
	if err := g.stops(w); err != nil {
		return err
	}
	if err := g.biases(w); err != nil {
		return err
	}
	if err := g.room(r, w); err != nil {
		return err
	}
	w.Bytes = func(int32) []byte { return nil }
	if tok, none := g.m.Tokenizer(); none == nil {
		w.Bytes = tok.TokenBytes
	}
	var err error
	if w.Conversation != nil {
		err = g.converse(r, w)
	} else if w.Shape != nil {
		w.Options.Grammar, err = w.Shape.Source().Grammar()
		err = badShape(w.Shape, err)
	}
	if err == nil && w.Conversation == nil {
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

// stops sets the tokens that end a text: the model's, unless they are ignored, and the request's.
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

// biases reports a bias of a token that the model does not have.
func (g *generator) biases(w *request.Generate) error {
	vocab := g.m.Config().Vocab
	for _, id := range slices.Sorted(maps.Keys(w.Options.Bias)) {
		if options.Outside([]int32{id}, vocab) >= 0 {
			return badParam("logit_bias", "logit_bias: got the token %d, want 0 to %d", id, vocab-1)
		}
	}
	return nil
}

// room takes a place for the grammar of a request that has one. Grammars take memory while a text
// grows, so that few requests at once may have one. Those with tools wait.
func (g *generator) room(r *request.Request, w *request.Generate) error {
	tools := w.Conversation != nil && len(w.Conversation.Tools) > 0 && !w.Tools.None
	if w.Count || w.Shape == nil && !tools {
		return nil
	}
	select {
	case g.grammars <- struct{}{}:
	default:
		if !tools {
			return dialect.Fail(http.StatusServiceUnavailable, "", "too many requests with a %s are being answered", w.Shape.Field)
		}
		select {
		case g.grammars <- struct{}{}:
		case <-r.Ctx.Done():
			return r.Ctx.Err()
		}
	}
	r.OnClose(func() { <-g.grammars })
	return nil
}

// badShape returns an error about a grammar as an error of the field that asks for it.
func badShape(s *options.Shape, err error) error {
	if err == nil {
		return nil
	}
	return badParam(s.Field, "%s: %v", s.Field, err)
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
	tools := c.Tools
	if !template.ReadsTools() && (len(tools) > 0 || slices.ContainsFunc(c.Messages, func(m chattemplate.Message) bool { return len(m.Calls) > 0 })) {
		c = answer.Described(c)
		w.Conversation = c
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
	return g.answers(w, tools, prompt, g.format.Opens(parts))
}

// answers sets what the answers to a prompt may be, and how they are taken apart. open says that
// the prompt ends within thinking.
func (g *generator) answers(w *request.Generate, tools []chattemplate.Tool, prompt []int32, open bool) (err error) {
	asked := answer.Asked{Required: w.Tools.Required, Single: w.Tools.Single, Open: open}
	asked.Grows = len(w.Options.StopText) == 0 // which may end a call anywhere, as if it were whole
	var at []int                               // the request's tools that may be called
	for i, t := range tools {
		if w.Tools.Names == nil || slices.Contains(w.Tools.Names, t.Name) {
			asked.Tools, at = append(asked.Tools, t), append(at, i)
		}
	}
	if w.Shape != nil {
		form := w.Shape.Source()
		asked.Form = &form
	}
	begin, end := g.format.Thinks()
	if w.Thinking != nil && end == "" {
		return badParam("thinking_token_budget", "thinking_token_budget: got %d, want none, as the template of %q does not set thinking apart", *w.Thinking, g.name)
	}
	if w.Thinking != nil {
		w.Options.Budget = &decoder.Budget{Begin: begin, End: end, Open: open, Tokens: *w.Thinking}
	}
	if g.format.Parses(asked) {
		w.Options.Markers = g.markers
		w.Parser = func() *answer.Parser { return g.format.Parser(asked) }
		w.CallID = answer.CallIDs(prompt)
	}
	if w.Count {
		return nil
	}
	w.Options.Grammar, err = g.format.Grammar(asked)
	if errors.Is(err, answer.ErrTool) {
		var tool int
		bad, _ := errors.AsType[*kernel.Error](err)
		_, _ = fmt.Sscanf(bad.Arg(), "Tools[%d]", &tool) // which is its form
		field := fmt.Sprintf("tools[%d].%s", at[tool], w.Tools.Schema)
		return badParam(field, "%s: %s, want %s", field, bad.Got, bad.Want)
	} else if w.Shape != nil {
		return badShape(w.Shape, err)
	} else if err != nil {
		return badParam("tools", "tools: %v", err)
	}
	return nil
}

// badVariable returns an error about a part of a conversation by the field of a request that has
// it.
func badVariable(bad *kernel.Error) error {
	name := bad.Arg()
	field, _, inside := strings.Cut(name, "[")
	if !inside && name != "documents" || bad.Want == "another name" {
		field, name = "chat_template_kwargs", "chat_template_kwargs."+name
	}
	return badParam(field, "%.80s: got %s, want %s", name, bad.Got, bad.Want)
}

// continued sets the prompts to the tokens of texts. Special tokens that are written in a text
// count as such, as a completion is a text as the model sees it.
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
		ids, fits, err := g.encode(w, text, most)
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

// echoed returns a prompt as answers begin with it, with room for the logarithms of its tokens, if
// they are wanted.
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
