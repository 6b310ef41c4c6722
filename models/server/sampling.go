package server

import (
	"github.com/attn-go/attn/models/decoder"
)

// sampling are the fields of a request that say how a text is continued, those of OpenAI's API and, from
// top_k on, llama.cpp's and vLLM's.
type sampling struct {
	Model            string         `json:"model"`
	Stream           bool           `json:"stream"`
	StreamOptions    *streamOptions `json:"stream_options"`
	N                *int           `json:"n"`
	Seed             *int64         `json:"seed"`
	Stop             texts          `json:"stop"`
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

	User             unused `json:"user"`
	Metadata         unused `json:"metadata"`
	Store            unused `json:"store"`
	ServiceTier      unused `json:"service_tier"`
	SafetyIdentifier unused `json:"safety_identifier"`
	PromptCacheKey   unused `json:"prompt_cache_key"`
	LogitBias        absent `json:"logit_bias"`
}

type streamOptions struct {
	IncludeUsage       bool   `json:"include_usage"`
	IncludeObfuscation unused `json:"include_obfuscation"`
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
	set(&p.TopP, s.TopP)
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
