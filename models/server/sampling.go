package server

import (
	"encoding/json"
	"net/http"

	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/grammar"
	"github.com/attn-go/attn/models/server/internal/fields"
)

// sampling are the fields of a request that say how a text is continued, those of OpenAI's API and, from
// top_k on, llama.cpp's and vLLM's.
type sampling struct {
	Model            string         `json:"model"`
	Stream           bool           `json:"stream"`
	StreamOptions    *streamOptions `json:"stream_options"`
	N                *int           `json:"n"`
	Seed             *int64         `json:"seed"`
	Stop             fields.Texts   `json:"stop"`
	MaxTokens        *int           `json:"max_tokens"`
	Temperature      *float64       `json:"temperature"`
	TopP             *float64       `json:"top_p"`
	FrequencyPenalty *float64       `json:"frequency_penalty"`
	PresencePenalty  *float64       `json:"presence_penalty"`

	TopK              *int     `json:"top_k"`
	MinP              *float64 `json:"min_p"`
	RepetitionPenalty *float64 `json:"repetition_penalty"`
	RepeatPenalty     *float64 `json:"repeat_penalty"`
	RepeatLastN       *int     `json:"repeat_last_n"`

	Receipt bool `json:"receipt"` // one of package receipt, for each choice

	User             fields.Unused `json:"user"`
	Metadata         fields.Unused `json:"metadata"`
	Store            fields.Unused `json:"store"`
	ServiceTier      fields.Unused `json:"service_tier"`
	SafetyIdentifier fields.Unused `json:"safety_identifier"`
	PromptCacheKey   fields.Unused `json:"prompt_cache_key"`
	LogitBias        fields.Absent `json:"logit_bias"`
}

type streamOptions struct {
	IncludeUsage       bool          `json:"include_usage"`
	IncludeObfuscation fields.Unused `json:"include_obfuscation"`
}

// set sets to what a request says, if it does.
func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// options returns what the fields say, with the server's defaults.
func (s *sampling) options(settings *Settings) (o decoder.GenerateOptions, err error) {
	o = decoder.GenerateOptions{MaxTokens: settings.MaxTokens, Sampler: *settings.Sampler, StopText: s.Stop}
	set(&o.MaxTokens, s.MaxTokens)
	p := &o.Sampler
	set(&p.Temperature, s.Temperature)
	if set(&p.TopP, s.TopP); s.TopP != nil && *s.TopP == 0 {
		p.TopP = decoder.LeastTopP
	}
	set(&p.FrequencyPenalty, s.FrequencyPenalty)
	set(&p.PresencePenalty, s.PresencePenalty)
	set(&p.TopK, s.TopK)
	set(&p.MinP, s.MinP)
	set(&p.RepetitionPenalty, s.RepetitionPenalty)
	set(&p.RepetitionPenalty, s.RepeatPenalty)
	if n := s.RepeatLastN; n != nil { // -1 is all of the text, as in llama.cpp, and 0 none of it
		if *n < -1 {
			return o, badParam("repeat_last_n", "repeat_last_n: got %d, want -1 or more", *n)
		}
		if p.PenaltyWindow = max(0, *n); *n == 0 {
			p.RepetitionPenalty, p.FrequencyPenalty, p.PresencePenalty = 0, 0, 0
		}
	}
	if s.Seed != nil {
		p.Seed = uint64(*s.Seed)
	}
	switch {
	case o.MaxTokens < 1:
		return o, badParam("max_tokens", "max_tokens: got %d, want 1 or more", o.MaxTokens)
	case s.StreamOptions != nil && !s.Stream:
		return o, badParam("stream_options", "stream_options: got some, want them with stream only")
	}
	return o, o.Check()
}

// choices returns n, of which there are as many for each of so many prompts.
func (s *sampling) choices(prompts, most int) (int, error) {
	n := 1
	set(&n, s.N)
	if n < 1 || n > most/max(1, prompts) {
		return 0, badParam("n", "n: got %d for %d prompts, want 1 to %d for all prompts together", n, prompts, most)
	}
	return n, nil
}

// responseFormat says what a text must be.
type responseFormat struct {
	Type       string      `json:"type"` // text, json_object or json_schema
	JSONSchema *jsonSchema `json:"json_schema"`
}

type jsonSchema struct {
	Schema      json.RawMessage `json:"schema"`
	Name        fields.Unused   `json:"name"`
	Description fields.Unused   `json:"description"`
	Strict      fields.Unused   `json:"strict"` // a text always satisfies the schema
}

// anyObject is the schema of json_object.
const anyObject = `{"type": "object", "additionalProperties": true}`

// limit sets the grammar that a request asks for. Grammars take memory while a text grows, so that few
// requests at once may have one; release says that the request is over.
func (x *exchange) limit(o *decoder.GenerateOptions, f *responseFormat) (release func(), err error) {
	if f == nil || f.Type == "text" {
		return func() {}, nil
	}
	schema := []byte(anyObject)
	switch {
	case f.Type == "json_schema" && f.JSONSchema != nil && len(f.JSONSchema.Schema) > 0:
		schema = f.JSONSchema.Schema
	case f.Type == "json_schema":
		return nil, badParam("response_format", "response_format.json_schema.schema: got none, want a schema")
	case f.Type != "json_object":
		return nil, badParam("response_format", "response_format: got %.40q, want text, json_object or json_schema", f.Type)
	}
	select {
	case x.grammars <- struct{}{}:
	default:
		return nil, busy(http.StatusServiceUnavailable, "too many requests with a response_format are being answered")
	}
	release = func() { <-x.grammars }
	if o.Grammar, err = grammar.FromSchema(schema); err != nil {
		release()
		return nil, badParam("response_format", "response_format: %v", err)
	}
	return release, nil
}
