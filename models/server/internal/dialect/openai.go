package dialect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/attn-go/attn/models/receipt"
	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/options"
	"github.com/attn-go/attn/models/server/internal/request"
)

// openAI are the paths of OpenAI's API.
var openAI = []Path{
	{"GET /v1/models", func() Dialect { return &about{all: true} }, ""},
	{"GET /v1/models/{name...}", func() Dialect { return &about{} }, ""},
	{"POST /v1/chat/completions", func() Dialect { return &chat{texts: texts{form: chatForm{}}} }, "model tools messages"},
	{"POST /v1/completions", func() Dialect { return &completions{texts{form: completionForm{}}} }, ""},
	{"POST /v1/embeddings", func() Dialect { return &embeddings{} }, ""},
	{"POST /v1/multi-vector", func() Dialect { return &embeddings{multi: true} }, ""},
}

// OpenAI writes errors as OpenAI's API does.
type OpenAI struct{}

// types are the types of errors by their status, for others than faults of a request.
var types = map[int]string{
	http.StatusTooManyRequests: "rate_limit_error", http.StatusServiceUnavailable: "overloaded_error", http.StatusGatewayTimeout: "timeout_error",
	http.StatusBadGateway: "server_error", http.StatusInternalServerError: "server_error", StatusGone: "client_closed_request",
}

// Fail implements [Errors].
func (OpenAI) Fail(f *Failure) []byte {
	type body struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	data, _ := json.Marshal(map[string]body{"error": {f.Message, cmp.Or(types[f.Status], "invalid_request_error"), f.Param, f.Code}}) // texts have no error
	return data
}

// Break implements [Streamer].
func (o OpenAI) Break(f *Failure) []byte { return fmt.Appendf(nil, "data: %s\n\n", o.Fail(f)) }

// Stream implements [Streamer].
func (OpenAI) Stream() string { return EventStream }

// EventStream is the type of server-sent events.
const EventStream = "text/event-stream"

// texts is how answers are written that are texts: of /v1/chat/completions and /v1/completions, by
// form.
type texts struct {
	OpenAI
	form
	usage bool // at the end of a stream
	each  bool // in all its events
}

// A form is what differs between the two.
type form interface {
	// begin is the first event of a choice of a stream, or nil.
	begin(choice int) any
	// delta is what an event adds to a choice of a stream.
	delta(e *request.Event) any
	// end is the last event of a choice.
	end(choice int, reason string) any
	// whole is a choice that is complete.
	whole(e *request.Event) any
	// object names what is written, as a whole or as a part of a stream, and id begins its id.
	object(stream bool) string
	id() string
}

// completion is an answer, whole or an event of a stream.
type completion struct {
	ID          string          `json:"id"`
	Object      string          `json:"object"`
	Created     int64           `json:"created"`
	Model       string          `json:"model"`
	Fingerprint string          `json:"system_fingerprint"`
	Choices     []any           `json:"choices"`
	Usage       json.RawMessage `json:"usage,omitempty"`

	Receipts []*receipt.Receipt `json:"receipts,omitempty"` // of the choices
}

// marks are what an answer has of this server alone, in other APIs than OpenAI's.
type marks struct {
	Fingerprint string             `json:"system_fingerprint"`
	Receipts    []*receipt.Receipt `json:"receipts,omitempty"`
}

func marksOf(r *request.Request) marks { return marks{r.Fingerprint, r.Receipts} }

// usage counts tokens.
type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`

	Details *usageDetails `json:"completion_tokens_details,omitempty"` // of answers with thinking
}

// usageDetails counts tokens of answers.
type usageDetails struct {
	Reasoning int `json:"reasoning_tokens"`
}

// read returns the request for w that the fields of s ask for. least is the fewest tokens that an
// answer may be limited to.
func (t *texts) read(in *Input, s *options.Sampling, w *request.Generate, least int) (r *request.Request, err error) {
	if o := s.StreamOptions; o != nil { // which do not matter without a stream
		t.usage, t.each = o.IncludeUsage, o.IncludeUsage && o.EachUsage
	}
	return generation(in, s, w, least)
}

// generation is what [texts] read, for every dialect.
func generation(in *Input, s *options.Sampling, w *request.Generate, least int) (r *request.Request, err error) {
	if w.Options, err = s.Options(in.MaxTokens, in.Sampler, least); err != nil {
		return nil, err
	}
	if w.Shape, err = s.Shape(); err != nil {
		return nil, err
	}
	w.Choices = 1
	fields.SetInt(&w.Choices, s.N)
	if w.IgnoreEnds = s.IgnoreEOS; s.StopTokens != nil {
		w.Stop = *s.StopTokens
	}
	return &request.Request{Model: s.Model, Stream: s.Stream, Receipt: s.Receipt, Work: w}, nil
}

// generationBy is generation for an API that has other names of some fields.
func generationBy(names map[string]string, in *Input, s *options.Sampling, w *request.Generate) (*request.Request, error) {
	r, err := generation(in, s, w, 1)
	var bad *fields.Error
	if errors.As(err, &bad) && names[bad.Field] != "" {
		to := names[bad.Field]
		message := strings.Replace(bad.Message, bad.Field, to, 1)
		if rest, ok := strings.CutPrefix(message, to+".json_schema."); ok { // in which the API has no schema
			message = to + "." + rest
		}
		return nil, fields.Errorf(to, "%s", message)
	}
	if w.Shape != nil {
		w.Shape.Field = cmp.Or(names[w.Shape.Field], w.Shape.Field)
	}
	return r, err
}

// body returns what an answer begins with.
func (t *texts) body(r *request.Request) *completion {
	return &completion{ID: t.id() + r.ID, Object: t.object(r.Stream), Created: r.Created.Unix(), Model: r.Model, Fingerprint: r.Fingerprint, Choices: []any{}}
}

func usageOf(r *request.Request) json.RawMessage {
	u := usage{Prompt: r.Prompt, Completion: r.Made, Total: r.Prompt + r.Made}
	if r.Thought > 0 {
		u.Details = &usageDetails{r.Thought}
	}
	data, _ := json.Marshal(u) // numbers have no error
	return data
}

// Whole implements [Dialect].
func (t *texts) Whole(r *request.Request) any {
	body := t.body(r)
	for _, e := range r.Whole() {
		body.Choices = append(body.Choices, t.whole(e))
	}
	body.Usage, body.Receipts = usageOf(r), r.Receipts
	return body
}

// Event implements [Streamer].
func (t *texts) Event(b *bytes.Buffer, r *request.Request, e *request.Event) error {
	add := func(choice any) error {
		body := t.body(r)
		body.Choices = append(body.Choices, choice)
		switch {
		case t.each:
			body.Usage = usageOf(r)
		case t.usage:
			body.Usage = json.RawMessage("null")
		}
		return addEvent(b, body)
	}
	var err error
	if first := t.begin(e.Choice); e.First && first != nil {
		err = add(first)
	}
	if err == nil && (e.Prompt || e.Text != "" || e.Reasoning != "" || len(e.Calls) > 0 || len(e.Tokens) > 0) {
		err = add(t.delta(e))
	}
	if reason := reasonOf(e); err == nil && reason != "" {
		err = add(t.end(e.Choice, reason))
	}
	return err
}

// End implements [Streamer]: an event with usage and receipts and without a choice, if either is
// wanted.
func (t *texts) End(b *bytes.Buffer, r *request.Request) error {
	if t.usage || len(r.Receipts) > 0 {
		body := t.body(r)
		if body.Receipts = r.Receipts; t.usage {
			body.Usage = usageOf(r)
		}
		if err := addEvent(b, body); err != nil {
			return err
		}
	}
	b.WriteString("data: [DONE]\n\n")
	return nil
}

// addEvent adds an event to a stream.
func addEvent(b *bytes.Buffer, body any) error {
	b.WriteString("data: ")
	err := json.NewEncoder(b).Encode(body) // with the end of a line
	b.WriteByte('\n')
	return err
}
