package server

import (
	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/options"
)

// mostCompletionTop is the most tokens of logprobs of a completion, as in OpenAI's API.
const mostCompletionTop = 5

// completionRequest is a request for texts that go on.
type completionRequest struct {
	options.Sampling
	Prompt   fields.Inputs `json:"prompt"`
	Logprobs *fields.Int   `json:"logprobs"`
	BestOf   *fields.Int   `json:"best_of"`
	Echo     bool          `json:"echo"` // begin with the prompt; max_tokens 0 is the prompt alone
}

// Fields is that of [fields.Tabled].
func (*completionRequest) Fields() fields.Table { return fields.Completion }

// completions answers /v1/completions.
func (x *exchange) completions() error {
	var q completionRequest
	if err := x.read(&q); err != nil {
		return err
	}
	h, err := x.generator(q.Model)
	if err != nil {
		return err
	}
	if err := h.wantReceipt(q.Receipt); err != nil {
		return err
	}
	least := 1
	if q.Echo { // 0 is the prompt alone
		least = 0
	}
	o, err := q.Options(x.s.MaxTokens, *x.s.Sampler, least)
	if err != nil {
		return err
	}
	quiet := o.MaxTokens == 0
	if quiet {
		o.MaxTokens = 1 // which reads the prompt, and is not written
	}
	if quiet && q.Receipt {
		return badParam("receipt", "receipt: got true with max_tokens 0, want 1 or more, as a receipt is one of an answer")
	}
	if err := q.Stops(&o, h.generate); err != nil {
		return err
	}
	if fields.SetInt(&o.TopLogprobs, q.Logprobs); o.TopLogprobs < 0 || o.TopLogprobs > mostCompletionTop {
		return badParam("logprobs", "logprobs: got %d, want 0 to %d", o.TopLogprobs, mostCompletionTop)
	}
	o.Logprobs = q.Logprobs != nil
	release, err := x.limit(&o, &q.Limits)
	if err != nil {
		return err
	}
	defer release()
	prompts, err := x.prompts(h, &q.Prompt)
	if err != nil {
		return err
	}
	n, err := q.Choices(len(prompts), x.s.Choices)
	if err != nil {
		return err
	}
	if q.BestOf != nil && int(*q.BestOf) != n {
		return badParam("best_of", "best_of: got %d, want n: choosing among more is not supported", *q.BestOf)
	}
	g := &generation{exchange: x, h: h, prompts: prompts, n: n, o: o, form: completionForm{}}
	if g.take(&q.Sampling); q.Echo {
		g.quiet, g.echo = quiet, x.written(h, &q.Prompt)
	}
	return g.answerAll()
}

// prompts returns the tokens of prompts. Special tokens that are written in a text count as such, as a
// completion is a text as the model sees it.
func (x *exchange) prompts(h *host, in *fields.Inputs) ([][]int32, error) {
	if in.Len() == 0 {
		return nil, badParam("prompt", "prompt: got none, want at least one")
	}
	if in.Len() > x.s.Choices {
		return nil, badParam("prompt", "prompt: got %d, want at most %d", in.Len(), x.s.Choices)
	}
	release, err := x.encoding()
	if err != nil {
		return nil, err
	}
	defer release()
	prompts, most := in.Tokens, h.generate.Options().Context
	for _, text := range in.Texts {
		ids, fits, err := h.generate.EncodeWithin(text, true, most)
		if err != nil {
			return nil, badParam("prompt", "the model has no tokenizer, so that it takes tokens alone: %v", err)
		}
		if !fits {
			return nil, tooLong("prompt", most)
		}
		prompts = append(prompts, ids)
	}
	vocab := h.generate.Config().Vocab
	for i, ids := range prompts {
		if len(ids) == 0 {
			return nil, badParam("prompt", "prompt %d has no token, want at least one", i)
		}
		if bad := options.Outside(ids, vocab); bad >= 0 {
			return nil, badParam("prompt", "prompt %d: token %d: got %d, want 0 to %d", i, bad, ids[bad], vocab-1)
		}
	}
	return prompts, nil
}

// written returns the texts of prompts.
func (x *exchange) written(h *host, in *fields.Inputs) []string {
	if len(in.Texts) > 0 {
		return in.Texts
	}
	all := make([]string, len(in.Tokens))
	if tok, err := h.generate.Tokenizer(); err == nil {
		for i, ids := range in.Tokens {
			all[i] = tok.Decode(ids, true)
		}
	}
	return all
}

// completionForm is how texts that go on are written.
type completionForm struct{}

func (completionForm) id() string         { return "cmpl-" }
func (completionForm) object(bool) string { return "text_completion" }
func (completionForm) begin() any         { return nil }

type completionLogprobs struct {
	Tokens   []string             `json:"tokens"`
	Logprobs []*float32           `json:"token_logprobs"`
	Top      []map[string]float32 `json:"top_logprobs"`
	Offsets  []int                `json:"text_offset"`
}

type completionEvent struct {
	Text     string              `json:"text"`
	Logprobs *completionLogprobs `json:"logprobs"`
	Reason   *string             `json:"finish_reason"`
}

func (completionForm) delta(c *choice) any {
	return completionEvent{Text: c.text, Logprobs: completionLogprobsOf(c)}
}

func (completionForm) end(reason string) any { return completionEvent{Reason: &reason} }

func (completionForm) whole(c *choice) any {
	return withIndex{c.index, completionEvent{c.text, completionLogprobsOf(c), &c.reason}}
}

// completionLogprobsOf returns the logarithms of a choice. Of tokens of the same text the most probable
// one counts.
func completionLogprobsOf(c *choice) *completionLogprobs {
	if c.logprobs == nil {
		return nil
	}
	l := &completionLogprobs{Tokens: []string{}, Logprobs: []*float32{}, Top: []map[string]float32{}, Offsets: []int{}}
	at := c.offset
	for i, t := range c.logprobs.tokens {
		logprob, top := &t.Logprob, map[string]float32{}
		for _, other := range *t.Top {
			if _, ok := top[other.written()]; !ok {
				top[other.written()] = other.Logprob
			}
		}
		if i == 0 && c.begins { // nothing precedes it
			logprob, top = nil, nil
		}
		l.Tokens, l.Logprobs, l.Top, l.Offsets = append(l.Tokens, t.written()), append(l.Logprobs, logprob), append(l.Top, top), append(l.Offsets, at)
		if i >= c.outside {
			at += t.characters()
		}
	}
	return l
}
