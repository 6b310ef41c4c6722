package dialect

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/options"
	"github.com/attn-go/attn/models/server/internal/request"
)

// chat is /v1/chat/completions: the next message of a conversation.
type chat struct{ texts }

// chatRequest is the body of a request.
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

// Read is that of [Dialect].
func (c *chat) Read(in *Input) (*request.Request, error) {
	var q chatRequest
	if err := in.decode(&q); err != nil {
		return nil, err
	}
	w := &request.Generate{Conversation: &request.Conversation{Date: in.Date}}
	r, err := c.read(in, &q.Sampling, w, 1)
	if err != nil {
		return nil, err
	}
	if err = readTop(&w.Options, q.Logprobs, q.TopLogprobs); err != nil {
		return nil, err
	}
	if q.Date != nil {
		if w.Conversation.Date, err = chattemplate.ParseDate(*q.Date); err != nil {
			return nil, fields.Errorf("date", "date: got %.40q, want YYYY-MM-DD", *q.Date)
		}
	}
	if n := len(q.Messages); n < 1 || n > in.Messages {
		return nil, fields.Errorf("messages", "messages: got %d, want 1 to %d", n, in.Messages)
	}
	if w.Conversation.Messages, err = messagesOf(q.Messages); err != nil {
		return nil, err
	}
	w.Conversation.Variables, err = q.variables()
	return r, err
}

// messagesOf returns the messages of a conversation.
func messagesOf(list []message) ([]chattemplate.Message, error) {
	all := make([]chattemplate.Message, len(list))
	for i, m := range list {
		if m.Role == "developer" { // what newer models of OpenAI call it
			m.Role = "system"
		}
		if m.Role != "system" && m.Role != "user" && m.Role != "assistant" {
			return nil, fields.Errorf("messages", "messages[%d].role: got %.40q, want system, user or assistant", i, m.Role)
		}
		all[i] = chattemplate.Message{Role: m.Role, Content: string(m.Content)}
	}
	return all, nil
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
			return nil, fields.Errorf("chat_template_kwargs", "chat_template_kwargs.%.40s: got %.40s, want null, true, false, a number or a string", name, data)
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

func (chatForm) delta(e *request.Event) any {
	return chatEvent{Delta: chatDelta{Content: &e.Text}, Logprobs: chatLogprobsOf(e)}
}

func (chatForm) end(reason string) any { return chatEvent{Reason: &reason} }

func chatLogprobsOf(e *request.Event) *chatLogprobs {
	if e.Tokens == nil {
		return nil
	}
	return &chatLogprobs{Content: logprobsOf(e)}
}

func (chatForm) whole(e *request.Event) any {
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
	}{e.Choice, answer{"assistant", e.Text, nil}, chatLogprobsOf(e), reasons[e.End]}
}
