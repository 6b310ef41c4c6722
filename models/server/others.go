package server

import (
	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/options"
	"github.com/attn-go/attn/models/tokenizer"
)

// models answers /v1/models.
func (x *exchange) models() error {
	list := []modelEntry{}
	for _, h := range x.hosts {
		list = append(list, x.entry(h))
	}
	return x.reply(struct {
		Object string       `json:"object"`
		Data   []modelEntry `json:"data"`
	}{"list", list})
}

// model answers /v1/models/NAME.
func (x *exchange) model() error {
	h, err := x.host(x.r.PathValue("name"))
	if err != nil {
		return err
	}
	return x.reply(x.entry(h))
}

// tokenizeRequest has a text as llama.cpp's server calls it, or as vLLM does.
type tokenizeRequest struct {
	Model            string  `json:"model"`
	Content          *string `json:"content"`
	Prompt           *string `json:"prompt"`
	AddSpecial       *bool   `json:"add_special"`        // default false
	AddSpecialTokens *bool   `json:"add_special_tokens"` // default true
}

// Fields is that of [fields.Tabled].
func (*tokenizeRequest) Fields() fields.Table { return fields.Tokenize }

type detokenizeRequest struct {
	Model  string        `json:"model"`
	Tokens fields.Tokens `json:"tokens"`
}

// Fields is that of [fields.Tabled].
func (*detokenizeRequest) Fields() fields.Table { return fields.Detokenize }

// tokenize answers /tokenize.
func (x *exchange) tokenize() error {
	var q tokenizeRequest
	if err := x.read(&q); err != nil {
		return err
	}
	h, err := x.host(q.Model)
	if err != nil {
		return err
	}
	text, special := q.Content, false
	if q.Content == nil {
		text, special = q.Prompt, true
	}
	if text == nil || q.Content != nil && q.Prompt != nil {
		return badParam("content", "want one of content and prompt")
	}
	fields.Set(&special, q.AddSpecial)
	fields.Set(&special, q.AddSpecialTokens)
	tok, err := h.tokenizer()
	if err != nil {
		return badParam("model", "%v", err)
	}
	release, err := x.encoding()
	if err != nil {
		return err
	}
	defer release()
	ids := tok.Encode(*text, tokenizer.Options{NoSpecial: !special})
	if ids == nil {
		ids = []int32{}
	}
	x.prompt = len(ids)
	return x.reply(struct {
		Count  int     `json:"count"`
		Most   int     `json:"max_model_len"`
		Tokens []int32 `json:"tokens"`
	}{len(ids), x.entry(h).Context, ids})
}

// detokenize answers /detokenize.
func (x *exchange) detokenize() error {
	var q detokenizeRequest
	if err := x.read(&q); err != nil {
		return err
	}
	h, err := x.host(q.Model)
	if err != nil {
		return err
	}
	tok, err := h.tokenizer()
	if err != nil {
		return badParam("model", "%v", err)
	}
	if i := options.Outside(q.Tokens, tok.Len()); i >= 0 {
		return badParam("tokens", "tokens[%d]: got %d, want 0 to %d", i, q.Tokens[i], tok.Len()-1)
	}
	text := tok.Decode(q.Tokens, true)
	return x.reply(struct {
		Content string `json:"content"`
		Prompt  string `json:"prompt"`
	}{text, text})
}
