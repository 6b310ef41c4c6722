package dialect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/attn-go/attn/models/answer"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/options"
	"github.com/attn-go/attn/models/server/internal/request"
)

// anthropicPaths are the paths of Anthropic's API.
var anthropicPaths = []Path{
	{"POST /v1/messages", func() Dialect { return &messages{} }, "model tools system messages"},
	{"POST /v1/messages/count_tokens", func() Dialect { return &countTokens{} }, ""},
}

// anthropic writes errors and streams as Anthropic's API does.
type anthropic struct{}

// anthropicTypes are the types of errors by their status.
var anthropicTypes = map[int]string{
	http.StatusUnauthorized: "authentication_error", http.StatusForbidden: "permission_error", http.StatusNotFound: "not_found_error",
	http.StatusRequestEntityTooLarge: "request_too_large", http.StatusTooManyRequests: "rate_limit_error", http.StatusInternalServerError: "api_error",
	http.StatusBadGateway: "api_error", http.StatusServiceUnavailable: "overloaded_error", http.StatusGatewayTimeout: "timeout_error",
}

// Fail implements [Errors].
func (anthropic) Fail(f *Failure) []byte {
	type body struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	data, _ := json.Marshal(struct { // texts have no error
		Type  string `json:"type"`
		Error body   `json:"error"`
	}{"error", body{cmp.Or(anthropicTypes[f.Status], "invalid_request_error"), f.Message}})
	return data
}

// Stream implements [Streamer].
func (anthropic) Stream() string { return EventStream }

// Break implements [Streamer].
func (a anthropic) Break(f *Failure) []byte {
	return fmt.Appendf(nil, "event: error\ndata: %s\n\n", a.Fail(f))
}

// messages is /v1/messages: the next message of a conversation.
type messages struct {
	anthropic
	itemStream
	b    *bytes.Buffer // of the event that is written
	err  error
	last *request.Event
}

// messagesRequest is the body of a request.
type messagesRequest struct {
	conversationRequest
	MaxTokens   *fields.Int  `json:"max_tokens"`
	Stop        fields.Texts `json:"stop_sequences"`
	Stream      bool         `json:"stream"`
	Temperature *float64     `json:"temperature"`
	TopK        *fields.Int  `json:"top_k"`
	TopP        *float64     `json:"top_p"`

	// Not in Anthropic's API.
	Seed    *fields.Int `json:"seed"`
	Receipt bool        `json:"receipt"` // whether to add a receipt
}

// Read implements [Dialect].
func (m *messages) Read(in *Input) (*request.Request, error) {
	var q messagesRequest
	if err := in.decode(&q); err != nil {
		return nil, err
	}
	if q.MaxTokens == nil {
		return nil, fields.Errorf("max_tokens", "max_tokens: got none, want the most tokens of the answer")
	}
	w := &request.Generate{Grow: q.Stream}
	s := &options.Sampling{
		Model: q.Model, Stream: q.Stream, Stop: q.Stop, MaxTokens: q.MaxTokens, Temperature: q.Temperature, TopK: q.TopK, TopP: q.TopP, Seed: q.Seed, Receipt: q.Receipt,
	}
	if err := q.read(in, s, w); err != nil {
		return nil, err
	}
	return generationBy(messagesNames, in, s, w)
}

// messagesNames are the names of fields that have others elsewhere.
var messagesNames = map[string]string{"stop": "stop_sequences", "response_format": "output_config.format"}

// anthropicUsage counts tokens. How many were in a cache depends on what others ask, so that no
// answer says it.
type anthropicUsage struct {
	Input   int `json:"input_tokens"`
	Created int `json:"cache_creation_input_tokens"`
	Read    int `json:"cache_read_input_tokens"`
	Output  int `json:"output_tokens"`
}

// anthropicMessage is an answer.
type anthropicMessage struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Role    string `json:"role"`
	Model   string `json:"model"`
	Content []any  `json:"content"`
	anthropicEnd
	Usage anthropicUsage `json:"usage"`
	marks
}

// anthropicEnd says why a message has ended.
type anthropicEnd struct {
	Reason *string `json:"stop_reason"`
	Stop   *string `json:"stop_sequence"`
}

// anthropicReasons are the ends of texts.
var anthropicReasons = map[decoder.End]string{
	decoder.EndToken: "end_turn", decoder.EndGrammar: "end_turn", decoder.EndText: "stop_sequence", decoder.EndMaxTokens: "max_tokens", decoder.EndContext: "model_context_window_exceeded",
}

func anthropicEndOf(e *request.Event) anthropicEnd {
	reason := anthropicReasons[e.End]
	if e.Called && reasonOf(e) == "tool_calls" {
		reason = "tool_use"
	}
	end := anthropicEnd{Reason: &reason}
	if reason == "stop_sequence" {
		end.Stop = &e.Stop
	}
	return end
}

// message returns an answer without content.
func (*messages) message(r *request.Request) *anthropicMessage {
	return &anthropicMessage{ID: "msg_" + r.ID, Type: "message", Role: "assistant", Model: r.Model, Content: []any{}, Usage: anthropicUsage{Input: r.Prompt}, marks: marksOf(r)}
}

// An answerBlock is a block of an answer, of which the fields are there that its type has.
type answerBlock struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature *string         `json:"signature,omitempty"` // nobody checks it here
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
}

// answerBlockOf returns an item as a block.
func answerBlockOf(it *item) answerBlock {
	switch it.itemKind {
	case thoughtItem:
		return answerBlock{Type: "thinking", Thinking: &it.text, Signature: new(string)}
	case callItem:
		return answerBlock{Type: "tool_use", ID: it.id, Name: it.name, Input: answer.Whole(it.text)}
	}
	return answerBlock{Type: "text", Text: &it.text}
}

// Whole implements [Dialect].
func (m *messages) Whole(r *request.Request) any {
	items, e := wholeOf(r)
	answer := m.message(r)
	for _, it := range items {
		answer.Content = append(answer.Content, answerBlockOf(&it))
	}
	answer.anthropicEnd, answer.Usage.Output = anthropicEndOf(e), r.Made
	return answer
}

// write adds an event, whose type comes first in it.
func (m *messages) write(kind string, body any) {
	if m.err == nil {
		m.err = addNamed(m.b, kind, body)
	}
}

// Event implements [Streamer].
func (m *messages) Event(b *bytes.Buffer, r *request.Request, e *request.Event) error {
	m.b = b
	if e.First {
		m.write("message_start", map[string]any{"message": m.message(r)})
		m.write("ping", struct{}{})
	}
	m.add(m, e)
	m.last = e
	return m.err
}

// blockEvent is an event of a block.
type blockEvent struct {
	Index int `json:"index"`
	Block any `json:"content_block,omitempty"`
	Delta any `json:"delta,omitempty"`
}

func (m *messages) begin(i int, it *item) {
	m.write("content_block_start", blockEvent{Index: i, Block: answerBlockOf(it)})
}

// blockDeltas are the types of what blocks grow by, and the fields that have it.
var blockDeltas = map[itemKind][2]string{textItem: {"text_delta", "text"}, thoughtItem: {"thinking_delta", "thinking"}, callItem: {"input_json_delta", "partial_json"}}

func (m *messages) grow(i int, by *item) {
	names := blockDeltas[by.itemKind]
	m.write("content_block_delta", blockEvent{Index: i, Delta: map[string]string{"type": names[0], names[1]: by.text}})
}

func (m *messages) end(i int, _ *item) { m.write("content_block_stop", blockEvent{Index: i}) }

// End implements [Streamer].
func (m *messages) End(b *bytes.Buffer, r *request.Request) error {
	m.b = b
	m.itemStream.end(m)
	m.write("message_delta", struct {
		Delta anthropicEnd   `json:"delta"`
		Usage anthropicUsage `json:"usage"`
		marks
	}{anthropicEndOf(m.last), anthropicUsage{Input: r.Prompt, Output: r.Made}, marksOf(r)})
	m.write("message_stop", struct{}{})
	return m.err
}

// addNamed adds a server-sent event that has a type, also as the first field of its data.
func addNamed(b *bytes.Buffer, kind string, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	comma := ","
	if string(data) == "{}" {
		comma = ""
	}
	fmt.Fprintf(b, "event: %s\ndata: {\"type\":%q%s%s\n\n", kind, kind, comma, data[1:])
	return nil
}

// countTokens is /v1/messages/count_tokens: how many tokens a prompt has.
type countTokens struct{ anthropic }

// countRequest is the body of a request.
type countRequest struct{ conversationRequest }

// Read implements [Dialect].
func (*countTokens) Read(in *Input) (*request.Request, error) {
	var q countRequest
	if err := in.decode(&q); err != nil {
		return nil, err
	}
	w := &request.Generate{Count: true, Choices: 1}
	return &request.Request{Model: q.Model, Work: w}, q.read(in, &options.Sampling{}, w)
}

// Whole implements [Dialect].
func (*countTokens) Whole(r *request.Request) any { return map[string]int{"input_tokens": r.Prompt} }
