package options

import (
	"errors"
	"math"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/server/internal/fields"
)

// Sampling has the fields of a request that say how a text is continued: first OpenAI's fields,
// from top_k on llama.cpp's and vLLM's.
type Sampling struct {
	Model            string         `json:"model"`
	Stream           bool           `json:"stream"`
	StreamOptions    *StreamOptions `json:"stream_options"`
	N                *fields.Int    `json:"n"`
	Seed             *fields.Int    `json:"seed"`
	Stop             fields.Texts   `json:"stop"`
	MaxTokens        *fields.Int    `json:"max_tokens"`
	MaxNewTokens     *fields.Int    `json:"max_completion_tokens"`
	Temperature      *float64       `json:"temperature"`
	TopP             *float64       `json:"top_p"`
	FrequencyPenalty *float64       `json:"frequency_penalty"`
	PresencePenalty  *float64       `json:"presence_penalty"`

	NPredict          *fields.Int    `json:"n_predict"`
	TopK              *fields.Int    `json:"top_k"`
	MinP              *float64       `json:"min_p"`
	RepetitionPenalty *float64       `json:"repetition_penalty"`
	RepeatPenalty     *float64       `json:"repeat_penalty"`
	RepeatLastN       *fields.Int    `json:"repeat_last_n"`
	StopTokens        *fields.Tokens `json:"stop_token_ids"`
	IgnoreEOS         bool           `json:"ignore_eos"`
	LogitBias         fields.Biases  `json:"logit_bias"`

	Limits
	Receipt bool `json:"receipt"` // whether to add a receipt, for each choice
}

// StreamOptions say which events of a stream have the usage.
type StreamOptions struct {
	IncludeUsage bool `json:"include_usage"`
	EachUsage    bool `json:"continuous_usage_stats"` // in every event, as vLLM has it
}

// Fields implements [fields.Tabled].
func (*StreamOptions) Fields() fields.Table { return fields.Stream }

// Options returns what the fields say, with the server's most tokens and its sampler for what they
// do not. least is the fewest tokens that an answer may be limited to. The error is a
// [*fields.Error].
func (s *Sampling) Options(most int, sampler decoder.Sampler, least int) (o decoder.GenerateOptions, err error) {
	o = decoder.GenerateOptions{MaxTokens: most, Sampler: sampler, StopText: s.Stop, Bias: s.LogitBias}
	for _, n := range []struct {
		name string
		to   *fields.Int
	}{{"n_predict", s.NPredict}, {"max_tokens", s.MaxTokens}, {"max_completion_tokens", s.MaxNewTokens}} { // the last one counts
		if fields.SetInt(&o.MaxTokens, n.to); n.to != nil && o.MaxTokens == -1 { // no limit but the context
			o.MaxTokens = math.MaxInt32
		}
		if n.to != nil && o.MaxTokens < least {
			return o, fields.Errorf(n.name, "%s: got %d, want %d or more, or -1 for no limit", n.name, o.MaxTokens, least)
		}
	}
	p := &o.Sampler
	fields.Set(&p.Temperature, s.Temperature)
	if fields.Set(&p.TopP, s.TopP); s.TopP != nil && *s.TopP == 0 {
		p.TopP = decoder.LeastTopP
	}
	fields.Set(&p.FrequencyPenalty, s.FrequencyPenalty)
	fields.Set(&p.PresencePenalty, s.PresencePenalty)
	if fields.SetInt(&p.TopK, s.TopK); p.TopK == -1 { // all, as in vLLM
		p.TopK = 0
	}
	fields.Set(&p.MinP, s.MinP)
	fields.Set(&p.RepetitionPenalty, s.RepetitionPenalty)
	fields.Set(&p.RepetitionPenalty, s.RepeatPenalty)
	if n := s.RepeatLastN; n != nil { // -1 is all of the text, as in llama.cpp, and 0 none of it
		if *n < -1 {
			return o, fields.Errorf("repeat_last_n", "repeat_last_n: got %d, want -1 or more", *n)
		}
		if fields.SetInt(&p.PenaltyWindow, n); *n <= 0 {
			p.PenaltyWindow = 0
		}
		if *n == 0 {
			p.RepetitionPenalty, p.FrequencyPenalty, p.PresencePenalty = 0, 0, 0
		}
	}
	if s.Seed != nil {
		p.Seed = uint64(*s.Seed)
	}
	return o, namedOption(o.Check())
}

// WrittenTopP returns a Sampler.TopP as requests write it.
func WrittenTopP(p float64) float64 {
	switch p {
	case 0:
		return 1
	case decoder.LeastTopP:
		return 0
	}
	return p
}

// optionFields are the fields that set options of package decoder.
var optionFields = map[string]string{
	"GenerateOptions.StopText": "stop", "Sampler.Temperature": "temperature", "Sampler.TopK": "top_k", "Sampler.TopP": "top_p", "Sampler.MinP": "min_p",
	"Sampler.RepetitionPenalty": "repetition_penalty", "Sampler.FrequencyPenalty": "frequency_penalty", "Sampler.PresencePenalty": "presence_penalty",
}

// namedOption returns an error about an option as one about the field that sets it.
func namedOption(err error) error {
	var bad *kernel.Error
	if !errors.As(err, &bad) {
		return err
	}
	name, index, _ := strings.Cut(bad.Arg(), "[")
	field := optionFields[name]
	if field == "" {
		return err
	}
	if index != "" {
		return fields.Errorf(field, "%s[%s: got %s, want %s", field, index, bad.Got, bad.Want)
	}
	return fields.Errorf(field, "%s: got %s, want %s", field, bad.Got, bad.Want)
}

// Outside returns the index of the first token that a vocabulary does not have, or -1.
func Outside(ids []int32, vocab int) int {
	for i, id := range ids {
		if id < 0 || int(id) >= vocab {
			return i
		}
	}
	return -1
}
