// Package dialect translates what clients send to a [request.Request], and what comes of it to what
// they expect. It knows neither the server nor models. An API is a file: its paths, which [Paths]
// lists, a [Dialect] for each of them with the fields of a body, and how it writes errors. What
// becomes of fields that it does not use is a table of package fields.
package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/kept"
	"github.com/attn-go/attn/models/server/internal/request"
)

// A Dialect is the form of one request and of its answer.
type Dialect interface {
	Errors

	// Read returns what a body asks for. The error is a [*fields.Error].
	Read(in *Input) (*request.Request, error)

	// Whole returns an answer that is complete, as a value of JSON.
	Whole(r *request.Request) any
}

// A Streamer is a Dialect whose answers may come as a stream.
type Streamer interface {
	Dialect

	// Stream is the type of what follows.
	Stream() string

	// Event adds what is written for an event, perhaps nothing, and End what is written after the
	// last one.
	Event(b *bytes.Buffer, r *request.Request, e *request.Event) error
	End(b *bytes.Buffer, r *request.Request) error

	// Break returns what ends a stream that cannot go on.
	Break(f *Failure) []byte
}

// Errors is how an API writes errors.
type Errors interface {
	Fail(f *Failure) []byte
}

// An Input is what a client has sent, and what a server has for the fields that it lacks.
type Input struct {
	Body    []byte
	Name    string            // the rest of the path
	Query   url.Values        // behind it
	Unknown func(name string) // is told of fields that are not known

	Messages  int // most of a conversation, which Read checks
	MaxTokens int
	Sampler   decoder.Sampler
	Date      chattemplate.Date

	// Now is for the durations of answers that have them, nil if they have none, as behind a
	// gateway, whose answers have the same bytes from every server.
	Now func() time.Time

	// Kept has answers that the client may ask for again, on its Shelf; nil if there are none, as
	// behind a gateway, where the next request may come to another server.
	Kept  *kept.Shelf
	Shelf string
}

// decode reads the body's JSON.
func (in *Input) decode(to any) error { return fields.Decode(in.Body, to, in.Unknown) }

// A Path is where requests of a dialect come.
type Path struct {
	Pattern string // of an http.ServeMux; of its wildcards, name is Input.Name
	New     func() Dialect

	// Said are the fields that a prompt is written from, in their order, of which the last is a
	// list that grows from turn to turn; "" if there is none.
	Said string
}

// Paths are the paths of all dialects.
var Paths = slices.Concat(openAI, ranking, tokens, ollamaPaths, anthropicPaths, responsesPaths, teiPaths, llamaPaths)

// ErrorsOf returns how errors of a path are written that no dialect answers.
func ErrorsOf(path string) Errors {
	switch {
	case strings.HasPrefix(path, "/api/"):
		return ollama{}
	case strings.HasPrefix(path, "/v1/messages"):
		return anthropic{}
	}
	return OpenAI{}
}

// Conversation returns what the prompt of a body is written from, turn by turn: a model that has
// answered a body with the same first turns knows them. It is nil for what is no conversation.
func (p *Path) Conversation(body []byte) (turns [][]byte) {
	names := strings.Fields(p.Said)
	var q map[string]json.RawMessage // names are compared as they are written, as [fields.Decode] does
	var list []json.RawMessage
	if len(names) == 0 || json.Unmarshal(body, &q) != nil || json.Unmarshal(q[names[len(names)-1]], &list) != nil {
		return nil
	}
	var turn bytes.Buffer
	add := func(data []byte) {
		_ = json.Compact(&turn, data) // it has been parsed, or is not there
		turn.WriteByte(0)
	}
	for _, name := range names[:len(names)-1] {
		add(q[name])
	}
	for _, one := range list {
		add(one)
		turns = append(turns, bytes.Clone(turn.Bytes()))
		turn.Reset()
	}
	return turns
}

// A Failure is an error for a client, which each API writes in its form. What is no fault of the
// request says nothing of the inside.
type Failure struct {
	Status  int // of HTTP
	Message string
	Param   *string // the field that it is about
	Code    *string // what programs tell it by
}

// StatusGone is what logs have for a client that has gone, as nginx's do.
const StatusGone = 499

// Error returns the message.
func (f *Failure) Error() string { return f.Message }

// Fail returns a failure with a status and a code, "" for none.
func Fail(status int, code, format string, args ...any) *Failure {
	f := &Failure{Status: status, Message: fmt.Sprintf(format, args...)}
	if code != "" {
		f.Code = &code
	}
	return f
}

// Of sets the field that the failure is about.
func (f *Failure) Of(param string) *Failure {
	f.Param = &param
	return f
}

// What becomes of the fields of each object: [fields.Tabled].

func (*messagesRequest) Fields() fields.Table         { return fields.Messages }
func (*countRequest) Fields() fields.Table            { return fields.CountTokens }
func (*anthropicOutput) Fields() fields.Table         { return fields.AnthropicOutput }
func (*anthropicTurn) Fields() fields.Table           { return fields.AnthropicMessage }
func (*anthropicBlock) Fields() fields.Table          { return fields.AnthropicBlock }
func (*anthropicTool) Fields() fields.Table           { return fields.AnthropicTool }
func (*chatRequest) Fields() fields.Table             { return fields.Chat }
func (*completionRequest) Fields() fields.Table       { return fields.Completion }
func (*embeddingsRequest) Fields() fields.Table       { return fields.Embedding }
func (*message) Fields() fields.Table                 { return fields.Message }
func (*toolCall) Fields() fields.Table                { return fields.Call }
func (*called) Fields() fields.Table                  { return fields.Called }
func (*tool) Fields() fields.Table                    { return fields.Tool }
func (*function) Fields() fields.Table                { return fields.Function }
func (*namedTool) Fields() fields.Table               { return fields.NamedTool }
func (*toolChoice) Fields() fields.Table              { return fields.ToolChoice }
func (*named) Fields() fields.Table                   { return fields.Named }
func (*allowed) Fields() fields.Table                 { return fields.Allowed }
func (*ollamaOptions) Fields() fields.Table           { return fields.OllamaOptions }
func (*ollamaEmbedRequest) Fields() fields.Table      { return fields.OllamaEmbed }
func (*ollamaEmbeddingsRequest) Fields() fields.Table { return fields.OllamaEmbeddings }
func (*ollamaShowRequest) Fields() fields.Table       { return fields.OllamaShow }
func (*ollamaChatRequest) Fields() fields.Table       { return fields.OllamaChat }
func (*ollamaGenerateRequest) Fields() fields.Table   { return fields.OllamaGenerate }
func (*rerankRequest) Fields() fields.Table           { return fields.Rerank }
func (*responsesRequest) Fields() fields.Table        { return fields.Responses }
func (*responsesText) Fields() fields.Table           { return fields.ResponsesText }
func (*responsesFormat) Fields() fields.Table         { return fields.ResponsesFormat }
func (*responsesItem) Fields() fields.Table           { return fields.ResponsesItem }
func (*responsesTool) Fields() fields.Table           { return fields.ResponsesTool }
func (*teiRequest) Fields() fields.Table              { return fields.TEIEmbed }
func (*reasoning) Fields() fields.Table               { return fields.Reasoning }
func (*thinking) Fields() fields.Table                { return fields.Thinking }
func (*tokenizeRequest) Fields() fields.Table         { return fields.Tokenize }
func (*detokenizeRequest) Fields() fields.Table       { return fields.Detokenize }
