package server

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/options"
)

// mostTop is the most tokens of top_logprobs, as in OpenAI's API.
const mostTop = 20

// chatRequest is a request for the next message of a conversation.
type chatRequest struct {
	options.Sampling
	Messages    []message   `json:"messages"`
	Logprobs    bool        `json:"logprobs"`
	TopLogprobs *fields.Int `json:"top_logprobs"`

	// What a template may read: [chattemplate.Template.WithVariables].
	TemplateVariables map[string]json.RawMessage `json:"chat_template_kwargs"`
	ReasoningEffort   *string                    `json:"reasoning_effort"`
	Reasoning         *reasoning                 `json:"reasoning"`
	EnableThinking    *bool                      `json:"enable_thinking"`

	Date *string `json:"date"` // for a template that writes one; not in OpenAI's API
}

// Fields is that of [fields.Tabled].
func (*chatRequest) Fields() fields.Table { return fields.Chat }

// reasoning is where others have reasoning_effort.
type reasoning struct {
	Effort *string `json:"effort"`
}

// Fields is that of [fields.Tabled].
func (*reasoning) Fields() fields.Table { return fields.Reasoning }

// A message is one of a conversation.
type message struct {
	Role    string         `json:"role"`
	Content fields.Content `json:"content"`
}

// Fields is that of [fields.Tabled].
func (*message) Fields() fields.Table { return fields.Message }

// chat answers /v1/chat/completions.
func (x *exchange) chat() error {
	var q chatRequest
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
	o, err := q.Options(x.s.MaxTokens, *x.s.Sampler, 1)
	if err != nil {
		return err
	}
	if err := q.Stops(&o, h.generate); err != nil {
		return err
	}
	if fields.SetInt(&o.TopLogprobs, q.TopLogprobs); o.TopLogprobs < 0 || o.TopLogprobs > mostTop || o.TopLogprobs > 0 && !q.Logprobs {
		return badParam("top_logprobs", "top_logprobs: got %d, want 0 to %d, with logprobs", o.TopLogprobs, mostTop)
	}
	o.Logprobs = q.Logprobs
	release, err := x.limit(&o, &q.Limits)
	if err != nil {
		return err
	}
	defer release()
	n, err := q.Choices(1, x.s.Choices)
	if err != nil {
		return err
	}
	g := &generation{exchange: x, h: h, today: x.s.Date, n: n, o: o, form: chatForm{}}
	g.take(&q.Sampling)
	if q.Date != nil {
		if g.today, err = chattemplate.ParseDate(*q.Date); err != nil {
			return badParam("date", "date: got %.40q, want YYYY-MM-DD", *q.Date)
		}
	}
	if err := g.converse(&q); err != nil {
		return err
	}
	return g.answerAll()
}

// generator returns the host of a language model.
func (x *exchange) generator(name string) (*host, error) {
	h, err := x.host(name)
	if err == nil && h.generate == nil {
		return nil, badParam("model", "%q is %s, want a language model", h.name, h.kind())
	}
	return h, err
}

// converse sets the prompt to the tokens of a conversation.
func (g *generation) converse(q *chatRequest) error {
	if n := len(q.Messages); n < 1 || n > g.s.Messages {
		return badParam("messages", "messages: got %d, want 1 to %d", n, g.s.Messages)
	}
	template, err := g.h.generate.Template()
	if err != nil {
		return badParam("model", "%q has no chat template, so that it has no conversations; /v1/completions continues texts", g.h.name)
	}
	g.messages = make([]chattemplate.Message, len(q.Messages))
	for i, m := range q.Messages {
		if m.Role == "developer" { // what newer models of OpenAI call it
			m.Role = "system"
		}
		if m.Role != "system" && m.Role != "user" && m.Role != "assistant" {
			return badParam("messages", "messages[%d].role: got %.40q, want system, user or assistant", i, m.Role)
		}
		g.messages[i] = chattemplate.Message{Role: m.Role, Content: string(m.Content)}
	}
	o := template.Options()
	o.Date = g.today
	if template, err = template.With(o); err != nil {
		return err
	}
	variables, err := q.variables()
	if err != nil {
		return err
	}
	template, err = template.WithVariables(variables)
	if bad := (*chattemplate.VariableError)(nil); errors.As(err, &bad) {
		return badParam("chat_template_kwargs", "chat_template_kwargs.%.40s: got %s, want %s", bad.Name, bad.Type, bad.Want)
	} else if err != nil {
		return err
	}
	release, err := g.encoding()
	if err != nil {
		return err
	}
	defer release()
	parts, err := template.Parts(g.ctx, g.messages, true)
	if err != nil {
		return err
	}
	most := g.h.generate.Options().Context
	prompt, fits, err := g.h.generate.EncodeParts(parts, most)
	switch {
	case err != nil:
		return err
	case !fits:
		return tooLong("messages", most)
	case len(prompt) == 0:
		return fail(http.StatusBadRequest, "invalid_request_error", "", "the conversation has no token")
	}
	if len(variables) > 0 { // a receipt cannot say them, and the messages alone give another prompt
		g.messages = nil
	}
	g.prompts = [][]int32{prompt}
	return nil
}

// variables returns what the template may read beside the messages. A template that does not read it writes
// what it writes without.
func (q *chatRequest) variables() (map[string]any, error) {
	all := map[string]any{}
	if q.Reasoning != nil && q.Reasoning.Effort != nil {
		all["reasoning_effort"] = *q.Reasoning.Effort
	}
	if q.ReasoningEffort != nil {
		all["reasoning_effort"] = *q.ReasoningEffort
	}
	if q.EnableThinking != nil {
		all["enable_thinking"] = *q.EnableThinking
	}
	for _, name := range slices.Sorted(maps.Keys(q.TemplateVariables)) { // so that of several errors it is always the same
		data := q.TemplateVariables[name]
		var v any
		var n fields.Int
		_ = json.Unmarshal(data, &v) // it has been parsed
		switch v.(type) {
		case nil, bool, string:
		case float64:
			if json.Unmarshal(data, &n) == nil {
				v = int(n)
			}
		default:
			return nil, badParam("chat_template_kwargs", "chat_template_kwargs.%.40s: got %.40s, want null, true, false, a number or a string", name, data)
		}
		all[name] = v
	}
	return all, nil
}

// chatForm is how answers of a conversation are written.
type chatForm struct{}

func (chatForm) id() string { return "chatcmpl-" }

func (chatForm) object(stream bool) string {
	if stream {
		return "chat.completion.chunk"
	}
	return "chat.completion"
}

// chatDelta is what a part of a stream adds.
type chatDelta struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
}

// chatLogprobs are the logarithms of a choice.
type chatLogprobs struct {
	Content []tokenLogprob `json:"content"`
	Refusal []tokenLogprob `json:"refusal"`
}

type chatEvent struct {
	Delta    chatDelta     `json:"delta"`
	Logprobs *chatLogprobs `json:"logprobs"`
	Reason   *string       `json:"finish_reason"`
}

func (chatForm) begin() any {
	empty := ""
	return chatEvent{Delta: chatDelta{Role: "assistant", Content: &empty}}
}

func (chatForm) delta(c *choice) any {
	return chatEvent{Delta: chatDelta{Content: &c.text}, Logprobs: chatLogprobsOf(c)}
}

func (chatForm) end(reason string) any { return chatEvent{Reason: &reason} }

func chatLogprobsOf(c *choice) *chatLogprobs {
	if c.logprobs == nil {
		return nil
	}
	return &chatLogprobs{Content: c.logprobs.tokens}
}

func (chatForm) whole(c *choice) any {
	type answer struct {
		Role    string  `json:"role"`
		Content string  `json:"content"`
		Refusal *string `json:"refusal"`
	}
	return struct {
		Index    int           `json:"index"`
		Message  answer        `json:"message"`
		Logprobs *chatLogprobs `json:"logprobs"`
		Reason   string        `json:"finish_reason"`
	}{c.index, answer{"assistant", c.text, nil}, chatLogprobsOf(c), c.reason}
}
