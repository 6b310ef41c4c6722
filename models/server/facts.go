package server

import (
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/decoder"
)

// modelEntry is a model in a list. The fields after OwnedBy are not in OpenAI's API.
type modelEntry struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`

	Kind           string            `json:"kind"`  // generator, embedder or reranker
	Tasks          []string          `json:"tasks"` // of chat, completion, embedding and rerank
	Architecture   string            `json:"architecture,omitempty"`
	Layers         int               `json:"layers,omitempty"`
	Context        int               `json:"max_model_len,omitempty"`
	Dimensions     int               `json:"dimensions,omitempty"`
	Vocabulary     int               `json:"vocab_size,omitempty"`
	CacheType      string            `json:"cache_type,omitempty"`
	CacheValueType string            `json:"cache_value_type,omitempty"` // if it is another one
	Activations    string            `json:"activations,omitempty"`      // float32 or int8
	Attention      string            `json:"attention,omitempty"`        // integers, if it computes with them
	Defaults       *modelDefaults    `json:"defaults,omitempty"`
	Prompts        map[string]string `json:"prompts,omitempty"` // for a client to put before texts, by their names
	Contract       int               `json:"contract"`
	Fingerprint    string            `json:"system_fingerprint"`
}

// modelDefaults are what a language model takes for fields that a request lacks.
type modelDefaults struct {
	MaxTokens   int     `json:"max_tokens"`
	Temperature float64 `json:"temperature"`
	TopK        int     `json:"top_k"`
	TopP        float64 `json:"top_p"`
	Seed        uint64  `json:"seed"`
	Date        string  `json:"date,omitempty"` // if the template asks for it
}

// entry returns what a model is.
func (x *exchange) entry(h *host) modelEntry {
	e := modelEntry{ID: h.name, Object: "model", Created: x.since().Unix(), OwnedBy: "attn", Architecture: h.architecture, Contract: kernel.Contract, Fingerprint: h.fingerprint}
	switch {
	case h.generate != nil:
		h.generatorFacts(&e, &x.s)
	case h.embed != nil:
		e.Kind, e.Tasks = "embedder", []string{"embedding"}
		e.Context, e.Dimensions, e.Vocabulary = h.embed.MaxTokens(), h.embed.Width(), h.embed.Vocab()
		if h.embed.Prompt() == "" { // otherwise each text has one, and would get a second
			e.Prompts = h.embed.Prompts()
		}
	default:
		e.Kind, e.Tasks, e.Context = "reranker", []string{"rerank"}, h.Model.rerank.MaxTokens()
	}
	return e
}

// generatorFacts adds what a language model is. One without a tokenizer continues tokens alone, which is
// no task for texts.
func (h *host) generatorFacts(e *modelEntry, s *Settings) {
	o, c := h.generate.Options(), h.generate.Config()
	e.Kind, e.Tasks, e.Context, e.Layers, e.Vocabulary = "generator", []string{}, o.Context, c.Layers, c.Vocab
	if e.Architecture == "" {
		e.Architecture = c.Architecture
	}
	if _, err := h.generate.Tokenizer(); err == nil {
		if _, err := h.generate.Template(); err == nil {
			e.Tasks = append(e.Tasks, "chat")
		}
		e.Tasks = append(e.Tasks, "completion")
	}
	e.CacheType, e.Activations = o.CacheType.String(), "float32"
	if o.ValueType() != o.CacheType {
		e.CacheValueType = o.CacheValueType.String()
	}
	if o.DynamicInt8 {
		e.Activations = "int8"
	}
	if o.DynamicInt12 {
		e.Attention = "integers"
	}
	e.Defaults = &modelDefaults{s.MaxTokens, s.Sampler.Temperature, s.Sampler.TopK, writtenTopP(s.Sampler.TopP), s.Sampler.Seed, ""}
	if h.generate.ReadsDate() {
		e.Defaults.Date = s.Date.String()
	}
}

// writtenTopP returns a Sampler.TopP as requests write it.
func writtenTopP(p float64) float64 {
	switch p {
	case 0:
		return 1
	case decoder.LeastTopP:
		return 0
	}
	return p
}
