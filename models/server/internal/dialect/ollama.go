package dialect

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/options"
	"github.com/attn-go/attn/models/server/internal/request"
)

// ollamaPaths are the paths of Ollama's API.
var ollamaPaths = []Path{
	{"POST /api/chat", func() Dialect { return &ollamaChat{} }, "model tools messages"},
	{"POST /api/generate", func() Dialect { return &ollamaGenerate{} }, ""},
	{"POST /api/embed", func() Dialect { return &ollamaEmbed{} }, ""},
	{"POST /api/embeddings", func() Dialect { return &ollamaEmbed{old: true} }, ""},
	{"GET /api/tags", func() Dialect { return &ollamaModels{} }, ""},
	{"GET /api/ps", func() Dialect { return &ollamaModels{loaded: true} }, ""},
	{"POST /api/show", func() Dialect { return &ollamaShow{} }, ""},
	{"GET /api/version", func() Dialect { return &ollamaVersion{} }, ""},
}

// ollama writes errors and streams as Ollama does.
type ollama struct{}

// Fail implements [Errors].
func (ollama) Fail(f *Failure) []byte {
	data, _ := json.Marshal(map[string]string{"error": f.Message}) // texts have no error
	return data
}

// Break implements [Streamer].
func (o ollama) Break(f *Failure) []byte { return append(o.Fail(f), '\n') }

// Stream implements [Streamer].
func (ollama) Stream() string { return "application/x-ndjson" }

// ollamaOptions is options, with the names of llama.cpp.
type ollamaOptions struct {
	Seed             *fields.Int  `json:"seed"`
	NumPredict       *fields.Int  `json:"num_predict"`
	Temperature      *float64     `json:"temperature"`
	TopK             *fields.Int  `json:"top_k"`
	TopP             *float64     `json:"top_p"`
	MinP             *float64     `json:"min_p"`
	RepeatLastN      *fields.Int  `json:"repeat_last_n"`
	RepeatPenalty    *float64     `json:"repeat_penalty"`
	PresencePenalty  *float64     `json:"presence_penalty"`
	FrequencyPenalty *float64     `json:"frequency_penalty"`
	Stop             fields.Texts `json:"stop"`
}

// ollamaText is what requests for texts have.
type ollamaText struct {
	Model       string          `json:"model"`
	Stream      *bool           `json:"stream"` // default true
	Format      json.RawMessage `json:"format"` // "json" or a schema
	Options     ollamaOptions   `json:"options"`
	Think       json.RawMessage `json:"think"` // whether, or how much
	Logprobs    bool            `json:"logprobs"`
	TopLogprobs *fields.Int     `json:"top_logprobs"`
	Receipt     bool            `json:"receipt"` // whether to add a receipt
}

// read returns the request for w.
func (q *ollamaText) read(in *Input, w *request.Generate) (*request.Request, error) {
	o := &q.Options
	s := &options.Sampling{
		Model: q.Model, Stream: true, Receipt: q.Receipt, Seed: o.Seed, Stop: o.Stop, NPredict: o.NumPredict, Temperature: o.Temperature, TopK: o.TopK, TopP: o.TopP,
		MinP: o.MinP, RepeatLastN: o.RepeatLastN, RepeatPenalty: o.RepeatPenalty, PresencePenalty: o.PresencePenalty, FrequencyPenalty: o.FrequencyPenalty,
	}
	fields.Set(&s.Stream, q.Stream)
	if n := o.NumPredict; n != nil && *n == -2 { // fills the context, as -1 does here
		*n = -1
	}
	switch string(q.Format) {
	case `"json"`:
		s.Structured = &options.Structured{Object: true}
	case `""`:
	default:
		s.JSONSchema = q.Format
	}
	r, err := generationBy(ollamaNames, in, s, w)
	if err != nil {
		return nil, err
	}
	r.Tagged = true
	return r, readTop(&w.Options, q.Logprobs, q.TopLogprobs)
}

// ollamaNames are the names of fields that have others elsewhere.
var ollamaNames = func() map[string]string {
	names := map[string]string{"n_predict": "options.num_predict", "response_format": "format", "json_schema": "format", "structured_outputs": "format"}
	for name := range fields.OllamaOptions {
		names[name] = "options." + name
	}
	return names
}()

// think returns what think says.
func (q *ollamaText) think() (t thoughts, err error) {
	if len(q.Think) == 0 || json.Unmarshal(q.Think, &t.EnableThinking) == nil {
		return t, nil
	}
	switch _ = json.Unmarshal(q.Think, &t.ReasoningEffort); {
	case t.ReasoningEffort == nil, !slices.Contains([]string{"low", "medium", "high"}, *t.ReasoningEffort):
		return t, fields.Errorf("think", `think: got %.40s, want true, false, "low", "medium" or "high"`, q.Think)
	}
	t.EnableThinking = new(bool)
	*t.EnableThinking = true
	return t, nil
}

// An ollamaClock measures an answer.
type ollamaClock struct{ total func() time.Duration }

// start begins. Answers that have no durations take none.
func (c *ollamaClock) start(in *Input) {
	if c.total = func() time.Duration { return 0 }; in.Now != nil {
		begin := in.Now()
		c.total = func() time.Duration { return max(0, in.Now().Sub(begin)) }
	}
}

// ollamaEnd is what the last line of an answer has beside the others. What is 0 is left out, as
// Ollama does.
type ollamaEnd struct {
	Reason         string        `json:"done_reason"`
	Total          time.Duration `json:"total_duration,omitempty"`
	Prompt         int           `json:"prompt_eval_count,omitempty"`
	PromptDuration time.Duration `json:"prompt_eval_duration,omitempty"`
	Made           int           `json:"eval_count,omitempty"`
	MadeDuration   time.Duration `json:"eval_duration,omitempty"`
	marks
}

// end returns the end of an answer.
func (c *ollamaClock) end(r *request.Request, reason string) *ollamaEnd {
	e := &ollamaEnd{Reason: reason, Total: c.total(), Prompt: r.Prompt, Made: r.Made, marks: marksOf(r)}
	e.PromptDuration = min(r.First, e.Total)
	e.MadeDuration = e.Total - e.PromptDuration
	return e
}

// ollamaTime writes a time as Ollama does.
func ollamaTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
