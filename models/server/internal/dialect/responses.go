package dialect

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/options"
	"github.com/attn-go/attn/models/server/internal/request"
)

// responsesPaths are the paths of OpenAI's API for responses.
var responsesPaths = []Path{
	{"POST /v1/responses", func() Dialect { return &responses{} }, "model tools instructions input"},
	{"GET /v1/responses/{name}", func() Dialect { return &keptResponse{} }, ""},
	{"GET /v1/responses/{name}/input_items", func() Dialect { return &inputItems{} }, ""},
	{"DELETE /v1/responses/{name}", func() Dialect { return &keptResponse{remove: true} }, ""},
	{"POST /v1/responses/{name}/cancel", func() Dialect { return &keptResponse{cancel: true} }, ""},
}

// responses is /v1/responses: what a model has to say to items.
type responses struct {
	OpenAI
	itemStream
	responsesWriter
	in       *Input
	echo     responseEcho
	logprobs bool

	said  []chattemplate.Message // before the answer
	bytes int64                  // of it
}

// responsesRequest is the body of a request.
type responsesRequest struct {
	Model        string                       `json:"model"`
	Input        fields.TextOr[responsesItem] `json:"input"`
	Instructions *string                      `json:"instructions"`
	Previous     *string                      `json:"previous_response_id"`
	Store        *bool                        `json:"store"` // default true, if the server keeps any
	Stream       bool                         `json:"stream"`
	MaxTokens    *fields.Int                  `json:"max_output_tokens"`
	Temperature  *float64                     `json:"temperature"`
	TopP         *float64                     `json:"top_p"`
	Presence     *float64                     `json:"presence_penalty"`
	Frequency    *float64                     `json:"frequency_penalty"`
	TopLogprobs  *fields.Int                  `json:"top_logprobs"`
	Include      []string                     `json:"include"`
	Text         *responsesText               `json:"text"`
	Reasoning    *reasoning                   `json:"reasoning"`
	Metadata     json.RawMessage              `json:"metadata"`
	Tools        []responsesTool              `json:"tools"`
	Choice       *toolChoice                  `json:"tool_choice"`
	Parallel     *bool                        `json:"parallel_tool_calls"`

	// Said again in the answer, and not used.
	MaxCalls *fields.Int `json:"max_tool_calls"` // of tools of the server, which has none
	Safety   *string     `json:"safety_identifier"`
	CacheKey *string     `json:"prompt_cache_key"`

	// Not in OpenAI's API.
	Seed    *fields.Int  `json:"seed"`
	TopK    *fields.Int  `json:"top_k"`
	MinP    *float64     `json:"min_p"`
	Stop    fields.Texts `json:"stop"`
	Receipt bool         `json:"receipt"` // whether to add a receipt
}

// responsesText is text.
type responsesText struct {
	Format *responsesFormat `json:"format"`
}

// responsesFormat says what a text must be.
type responsesFormat struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description *string         `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Strict      bool            `json:"strict"` // a text satisfies its schema in any case
}

// responsesNames are the names of fields that have others elsewhere.
var responsesNames = map[string]string{"max_tokens": "max_output_tokens", "response_format": "text.format"}

// logprobsIncluded is what include has for logarithms.
const logprobsIncluded = "message.output_text.logprobs"

// included are the values of include. There is no reasoning that is not said openly.
var included = []string{logprobsIncluded, "reasoning.encrypted_content"}

// Read implements [Dialect].
func (d *responses) Read(in *Input) (*request.Request, error) {
	var q responsesRequest
	if err := in.decode(&q); err != nil {
		return nil, err
	}
	d.in = in
	c := &chattemplate.Conversation{Date: in.Date, Variables: map[string]any{}}
	if err := d.converse(&q, c); err != nil {
		return nil, err
	}
	w := &request.Generate{Conversation: c, Grow: q.Stream}
	tools := make([]tool, len(q.Tools))
	for i, t := range q.Tools {
		tools[i] = tool{t.Type, t.function}
	}
	if err := (&setting{tools, q.Choice, q.Parallel, thoughts{Reasoning: q.Reasoning}, "parameters"}).set(w); err != nil {
		return nil, err
	}
	s := &options.Sampling{
		Model: q.Model, Stream: q.Stream, MaxTokens: q.MaxTokens, Temperature: q.Temperature, TopP: q.TopP, PresencePenalty: q.Presence, FrequencyPenalty: q.Frequency, TopK: q.TopK, MinP: q.MinP, Seed: q.Seed, Stop: q.Stop, Receipt: q.Receipt,
	}
	if q.Text != nil && q.Text.Format != nil {
		s.ResponseFormat = &options.Format{Type: q.Text.Format.Type, Schema: q.Text.Format.Schema}
	}
	r, err := generationBy(responsesNames, in, s, w)
	if err != nil {
		return nil, err
	}
	for _, name := range q.Include {
		if !slices.Contains(included, name) {
			return nil, fields.Errorf("include", "include: got %.60q, want %s", name, strings.Join(included, " or "))
		}
		d.logprobs = d.logprobs || name == logprobsIncluded
	}
	d.echo = q.echo(in, &w.Options)
	return r, readTop(&w.Options, d.logprobs, q.TopLogprobs)
}

// converse sets the messages of a conversation: the kept ones, then the request's.
func (d *responses) converse(q *responsesRequest, c *chattemplate.Conversation) error {
	in, most := d.in, d.in.Kept.Most()
	if store := q.Store != nil && *q.Store; most == 0 && (store || q.Previous != nil) {
		field := "store"
		if q.Previous != nil {
			field = "previous_response_id"
		}
		return fields.Errorf(field, "%s: this server keeps no responses: want the whole conversation in input, and store false", field)
	}
	if q.Previous != nil {
		before, ok := in.Kept.Get(in.Shelf, *q.Previous)
		if !ok {
			return noResponse(*q.Previous).Of("previous_response_id")
		}
		d.said, d.bytes = before.(*keptAnswer).said, before.(*keptAnswer).bytes
	}
	before := len(d.said)
	var err error
	if d.said, err = addInput(d.said[:before:before], &q.Input); err != nil {
		return err
	}
	if n := len(d.said); n < 1 || n > in.Messages {
		return fields.Errorf("input", "input: got %d messages, those of previous responses included, want 1 to %d", n, in.Messages)
	}
	if d.bytes += int64(len(in.Body)) + memoryOf(d.said[before:]...); q.stores(in) && d.bytes > most/2 {
		return fields.Errorf("store", "store: the conversation has %d bytes, want at most %d, or store false", d.bytes, most/2)
	}
	if q.Instructions != nil && *q.Instructions != "" {
		c.Messages = []chattemplate.Message{{Role: "system", Content: *q.Instructions}}
	}
	c.Messages = append(c.Messages, d.said...)
	return nil
}

// stores tells whether the answer is kept.
func (q *responsesRequest) stores(in *Input) bool {
	return in.Kept.Most() > 0 && (q.Store == nil || *q.Store)
}

// noResponse is the error for a response that is not kept.
func noResponse(id string) *Failure {
	return Fail(http.StatusNotFound, "response_not_found", "there is no response %.80q: it was not kept, or not for as long", id)
}

// keptAnswer is what is kept of an answer.
type keptAnswer struct {
	said  []chattemplate.Message // with the answer
	bytes int64
	body  json.RawMessage

	logprobs bool // the body has them
}

// memoryOf returns the bytes that messages take beside their texts.
func memoryOf(list ...chattemplate.Message) (n int64) {
	for _, m := range list {
		n += 128 + 64*int64(len(m.Calls))
	}
	return n
}

// keep keeps an answer, if it is to be, and returns its JSON.
func (d *responses) keep(r *request.Request, answer *response, items []item) json.RawMessage {
	body, _ := json.Marshal(answer) // it has no error
	if !d.echo.Store {
		return body
	}
	said := spoken(items)
	d.bytes += int64(len(body)) + memoryOf(said)
	d.in.Kept.Put(d.in.Shelf, answer.ID, &keptAnswer{append(d.said[:len(d.said):len(d.said)], said), d.bytes, body, d.logprobs}, d.bytes)
	return body
}

// Whole implements [Dialect].
func (d *responses) Whole(r *request.Request) any {
	items, e := wholeOf(r)
	return d.keep(r, d.answer(r, items, e.End), items)
}

// Event implements [Streamer].
func (d *responses) Event(b *bytes.Buffer, r *request.Request, e *request.Event) error {
	d.b, d.r = b, r
	if e.First {
		begun := d.answer(r, nil, decoder.EndNone)
		d.write("response.created", map[string]any{"response": begun})
		d.write("response.in_progress", map[string]any{"response": begun})
	}
	d.add(&d.responsesWriter, e)
	d.last = e.End
	return d.err
}

// End implements [Streamer].
func (d *responses) End(b *bytes.Buffer, r *request.Request) error {
	d.b = b
	d.itemStream.end(&d.responsesWriter)
	answer := d.answer(r, d.items, d.last)
	d.write("response."+answer.Status, map[string]any{"response": d.keep(r, answer, d.items)})
	return d.err
}

// Break implements [Streamer].
func (d *responses) Break(f *Failure) []byte {
	var b bytes.Buffer
	d.b = &b
	body := map[string]any{"code": f.Code, "message": f.Message, "param": f.Param} // as OpenAI's events have it
	json.Unmarshal(d.Fail(f), &body)                                               // and as Open Responses has it: "error"
	d.write("error", body)
	return b.Bytes()
}
