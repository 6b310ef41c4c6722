package dialect

import (
	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/options"
	"github.com/attn-go/attn/models/server/internal/request"
)

// mostCompletionTop is the most tokens of logprobs of a completion, as in OpenAI's API.
const mostCompletionTop = 5

// completions is /v1/completions: texts that go on.
type completions struct{ texts }

// completionRequest is the body of a request.
type completionRequest struct {
	options.Sampling
	Prompt   fields.Inputs `json:"prompt"`
	Logprobs *fields.Int   `json:"logprobs"`
	BestOf   *fields.Int   `json:"best_of"`
	Suffix   string        `json:"suffix"` // fill in what stands before it
	Echo     bool          `json:"echo"`   // begin with the prompt; max_tokens 0 is the prompt alone
}

// Read implements [Dialect].
func (c *completions) Read(in *Input) (*request.Request, error) {
	var q completionRequest
	if err := in.decode(&q); err != nil {
		return nil, err
	}
	least := 1
	if q.Echo { // 0 is the prompt alone
		least = 0
	}
	w := &request.Generate{Inputs: request.Inputs(q.Prompt), Echo: q.Echo}
	if q.Suffix != "" {
		w.Suffix = &q.Suffix
	}
	r, err := c.read(in, &q.Sampling, w, least)
	if err != nil {
		return nil, err
	}
	o := &w.Options
	if w.Quiet = o.MaxTokens == 0; w.Quiet {
		o.MaxTokens = 1 // which reads the prompt, and is not written
	}
	if w.Quiet && q.Receipt {
		return nil, fields.Errorf("receipt", "receipt: got true with max_tokens 0, want 1 or more, as a receipt is one of an answer")
	}
	if fields.SetInt(&o.TopLogprobs, q.Logprobs); o.TopLogprobs < 0 || o.TopLogprobs > mostCompletionTop {
		return nil, fields.Errorf("logprobs", "logprobs: got %d, want 0 to %d", o.TopLogprobs, mostCompletionTop)
	}
	o.Logprobs = q.Logprobs != nil
	if q.BestOf != nil && int(*q.BestOf) != w.Choices {
		return nil, fields.Errorf("best_of", "best_of: got %d, want n: choosing among more is not supported", *q.BestOf)
	}
	return r, nil
}

// completionForm is how texts that go on are written.
type completionForm struct{}

func (completionForm) id() string         { return "cmpl-" }
func (completionForm) object(bool) string { return "text_completion" }
func (completionForm) begin(int) any      { return nil }

type completionLogprobs struct {
	Tokens   []string             `json:"tokens"`
	Logprobs []*float32           `json:"token_logprobs"`
	Top      []map[string]float32 `json:"top_logprobs"`
	Offsets  []int                `json:"text_offset"`
}

type completionEvent struct {
	Index    int                 `json:"index"`
	Text     string              `json:"text"`
	Logprobs *completionLogprobs `json:"logprobs"`
	Reason   *string             `json:"finish_reason"`
}

func (completionForm) delta(e *request.Event) any {
	return completionEvent{Index: e.Choice, Text: e.Text, Logprobs: completionLogprobsOf(e)}
}

func (completionForm) end(choice int, reason string) any {
	return completionEvent{Index: choice, Reason: &reason}
}

func (completionForm) whole(e *request.Event) any {
	reason := reasonOf(e)
	return completionEvent{e.Choice, e.Text, completionLogprobsOf(e), &reason}
}

// completionLogprobsOf returns the logarithms of a choice. Of tokens of the same text the most
// probable one counts.
func completionLogprobsOf(e *request.Event) *completionLogprobs {
	if e.Tokens == nil {
		return nil
	}
	l := &completionLogprobs{Tokens: []string{}, Logprobs: []*float32{}, Top: []map[string]float32{}, Offsets: []int{}}
	at := e.Offset
	for i, t := range logprobsOf(e) {
		logprob, top := &t.Logprob, map[string]float32{}
		for _, other := range *t.Top {
			if _, ok := top[other.written()]; !ok {
				top[other.written()] = other.Logprob
			}
		}
		if i == 0 && e.Prompt { // nothing precedes it
			logprob, top = nil, nil
		}
		l.Tokens, l.Logprobs, l.Top, l.Offsets = append(l.Tokens, t.written()), append(l.Logprobs, logprob), append(l.Top, top), append(l.Offsets, at)
		if i >= e.Outside {
			at += t.characters()
		}
	}
	return l
}
