package server

import (
	"net/http"

	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/server/internal/fields"
)

// mostTop is the most tokens of top_logprobs, as in OpenAI's API.
const mostTop = 20

// chatRequest is a request for the next message of a conversation.
type chatRequest struct {
	sampling
	Messages            []message       `json:"messages"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	Logprobs            bool            `json:"logprobs"`
	TopLogprobs         *int            `json:"top_logprobs"`
	ResponseFormat      *responseFormat `json:"response_format"`

	Date *string `json:"date"` // for a template that writes one; not in OpenAI's API

	Tools             fields.Absent `json:"tools"`
	ToolChoice        fields.Absent `json:"tool_choice"`
	Functions         fields.Absent `json:"functions"`
	FunctionCall      fields.Absent `json:"function_call"`
	Audio             fields.Absent `json:"audio"`
	Prediction        fields.Absent `json:"prediction"`
	WebSearchOptions  fields.Absent `json:"web_search_options"`
	Modalities        fields.Unused `json:"modalities"`
	ParallelToolCalls fields.Unused `json:"parallel_tool_calls"`
}

// A message is one of a conversation.
type message struct {
	Role    string         `json:"role"`
	Content fields.Content `json:"content"`

	Name         fields.Unused `json:"name"`
	Refusal      fields.Unused `json:"refusal"`
	Annotations  fields.Unused `json:"annotations"`
	Audio        fields.Absent `json:"audio"`
	ToolCalls    fields.Absent `json:"tool_calls"`
	ToolCallID   fields.Absent `json:"tool_call_id"`
	FunctionCall fields.Absent `json:"function_call"`
}

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
	if q.MaxCompletionTokens != nil {
		q.MaxTokens = q.MaxCompletionTokens
	}
	if err := h.wantReceipt(q.Receipt); err != nil {
		return err
	}
	o, err := q.options(&x.s)
	if err != nil {
		return err
	}
	if o.Logprobs = q.Logprobs; q.TopLogprobs != nil {
		if o.TopLogprobs = *q.TopLogprobs; o.TopLogprobs < 0 || o.TopLogprobs > mostTop || !q.Logprobs {
			return badParam("top_logprobs", "top_logprobs: got %d, want 0 to %d, with logprobs", o.TopLogprobs, mostTop)
		}
	}
	release, err := x.limit(&o, q.ResponseFormat)
	if err != nil {
		return err
	}
	defer release()
	n, err := q.choices(1, x.s.Choices)
	if err != nil {
		return err
	}
	g := &generation{exchange: x, h: h, today: x.s.Date, n: n, o: o, stream: q.Stream, receipt: q.Receipt, usage: q.StreamOptions != nil && q.StreamOptions.IncludeUsage, form: chatForm{}}
	if q.Date != nil {
		if g.today, err = chattemplate.ParseDate(*q.Date); err != nil {
			return badParam("date", "date: got %.40q, want YYYY-MM-DD", *q.Date)
		}
	}
	if err := g.converse(q.Messages); err != nil {
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
func (g *generation) converse(messages []message) error {
	if n := len(messages); n < 1 || n > g.s.Messages {
		return badParam("messages", "messages: got %d, want 1 to %d", n, g.s.Messages)
	}
	if _, err := g.h.generate.Template(); err != nil {
		return badParam("model", "%q has no chat template, so that it has no conversations; /v1/completions continues texts", g.h.name)
	}
	g.messages = make([]chattemplate.Message, len(messages))
	for i, m := range messages {
		if m.Role == "developer" { // what newer models of OpenAI call it
			m.Role = "system"
		}
		if m.Role != "system" && m.Role != "user" && m.Role != "assistant" {
			return badParam("messages", "messages[%d].role: got %.40q, want system, user or assistant", i, m.Role)
		}
		g.messages[i] = chattemplate.Message{Role: m.Role, Content: string(m.Content)}
	}
	prompt, err := g.h.generate.EncodeChatOn(g.ctx, g.today, g.messages)
	if err == nil && len(prompt) == 0 {
		err = fail(http.StatusBadRequest, "invalid_request_error", "", "the conversation has no token")
	}
	g.prompts = [][]int32{prompt}
	return err
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
