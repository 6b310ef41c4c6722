package dialect

import (
	"encoding/json"

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

	Tools      []tool          `json:"tools"`
	ToolChoice *toolChoice     `json:"tool_choice"`
	Parallel   *bool           `json:"parallel_tool_calls"`
	Documents  json.RawMessage `json:"documents"`

	// What a template may read: [chattemplate.Conversation].
	TemplateVariables map[string]json.RawMessage `json:"chat_template_kwargs"`
	thoughts

	Date *string `json:"date"` // for a template that writes one; not in OpenAI's API
}

// Read implements [Dialect].
func (c *chat) Read(in *Input) (*request.Request, error) {
	var q chatRequest
	if err := in.decode(&q); err != nil {
		return nil, err
	}
	w := &request.Generate{Conversation: &chattemplate.Conversation{Date: in.Date}, Grow: q.Stream}
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
	if docs := q.Documents; len(docs) > 0 && !fields.IsNull(docs) && string(docs) != "[]" {
		if docs[0] != '[' {
			return nil, fields.Errorf("documents", "documents: got %.40s, want a list", docs)
		}
		w.Conversation.Documents = docs
	}
	if err = (&setting{q.Tools, q.ToolChoice, q.Parallel, q.thoughts, ""}).set(w); err != nil {
		return nil, err
	}
	for name, v := range q.TemplateVariables {
		w.Conversation.Variables[name] = v
	}
	return r, nil
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
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	Calls     []callPart `json:"tool_calls,omitempty"`
}

// chatLogprobs are the logarithms of a choice.
type chatLogprobs struct {
	Content []tokenLogprob `json:"content"`
	Refusal []tokenLogprob `json:"refusal"`
}

type chatEvent struct {
	Index    int           `json:"index"`
	Delta    chatDelta     `json:"delta"`
	Logprobs *chatLogprobs `json:"logprobs"`
	Reason   *string       `json:"finish_reason"`
}

func (chatForm) begin(choice int) any {
	empty := ""
	return chatEvent{Index: choice, Delta: chatDelta{Role: "assistant", Content: &empty}}
}

func (chatForm) delta(e *request.Event) any {
	d := chatDelta{Content: &e.Text, Reasoning: e.Reasoning, Calls: callParts(e.Calls, true)}
	if e.Text == "" && (e.Reasoning != "" || len(e.Calls) > 0) {
		d.Content = nil
	}
	return chatEvent{Index: e.Choice, Delta: d, Logprobs: chatLogprobsOf(e)}
}

func (chatForm) end(choice int, reason string) any {
	return chatEvent{Index: choice, Reason: &reason}
}

func chatLogprobsOf(e *request.Event) *chatLogprobs {
	if e.Tokens == nil {
		return nil
	}
	return &chatLogprobs{Content: logprobsOf(e)}
}

func (chatForm) whole(e *request.Event) any {
	type answer struct {
		Role      string     `json:"role"`
		Content   *string    `json:"content"` // null beside calls alone
		Refusal   *string    `json:"refusal"`
		Reasoning string     `json:"reasoning_content,omitempty"`
		Calls     []callPart `json:"tool_calls,omitempty"`
	}
	a := answer{"assistant", &e.Text, nil, e.Reasoning, callParts(e.Calls, false)}
	if e.Text == "" && len(e.Calls) > 0 {
		a.Content = nil
	}
	return struct {
		Index    int           `json:"index"`
		Message  answer        `json:"message"`
		Logprobs *chatLogprobs `json:"logprobs"`
		Reason   string        `json:"finish_reason"`
	}{e.Choice, a, chatLogprobsOf(e), reasonOf(e)}
}
