package dialect

import (
	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/request"
)

// tokens are the paths of tokenizers, in llama.cpp's and vLLM's form.
var tokens = []Path{
	{"POST /tokenize", func() Dialect { return &tokenize{} }, ""},
	{"POST /detokenize", func() Dialect { return &detokenize{} }, ""},
	{"GET /tokenizer_info", func() Dialect { return &tokenizerInfo{} }, ""},
}

type tokenize struct{ OpenAI }

// tokenizeRequest has a text as llama.cpp's server calls it, or as vLLM does.
type tokenizeRequest struct {
	Model            string  `json:"model"`
	Content          *string `json:"content"`
	Prompt           *string `json:"prompt"`
	AddSpecial       *bool   `json:"add_special"`        // default false
	AddSpecialTokens *bool   `json:"add_special_tokens"` // default true
}

// Read implements [Dialect].
func (*tokenize) Read(in *Input) (*request.Request, error) {
	var q tokenizeRequest
	if err := in.decode(&q); err != nil {
		return nil, err
	}
	text, special := q.Content, false
	if q.Content == nil {
		text, special = q.Prompt, true
	}
	if text == nil || q.Content != nil && q.Prompt != nil {
		return nil, fields.Errorf("content", "want one of content and prompt")
	}
	fields.Set(&special, q.AddSpecial)
	fields.Set(&special, q.AddSpecialTokens)
	return &request.Request{Model: q.Model, Work: &request.Tokenize{Text: *text, Special: special}}, nil
}

// Whole implements [Dialect].
func (*tokenize) Whole(r *request.Request) any {
	w := r.Work.(*request.Tokenize)
	return struct {
		Count  int     `json:"count"`
		Most   int     `json:"max_model_len"`
		Tokens []int32 `json:"tokens"`
	}{len(w.IDs), w.Most, w.IDs}
}

type detokenize struct{ OpenAI }

type detokenizeRequest struct {
	Model  string        `json:"model"`
	Tokens fields.Tokens `json:"tokens"`
}

// Read implements [Dialect].
func (*detokenize) Read(in *Input) (*request.Request, error) {
	var q detokenizeRequest
	if err := in.decode(&q); err != nil {
		return nil, err
	}
	if q.Tokens == nil {
		return nil, fields.Errorf("tokens", "tokens: got none, want a list of ids")
	}
	return &request.Request{Model: q.Model, Work: &request.Detokenize{IDs: q.Tokens}}, nil
}

// Whole implements [Dialect].
func (*detokenize) Whole(r *request.Request) any {
	text := r.Work.(*request.Detokenize).Text
	return struct {
		Content string `json:"content"`
		Prompt  string `json:"prompt"`
	}{text, text}
}

// tokenizerInfo is /tokenizer_info of vLLM, by which lm-eval finds that it can ask for tokens. It
// has no body: of several models the query names one.
type tokenizerInfo struct{ OpenAI }

// Read implements [Dialect].
func (*tokenizerInfo) Read(in *Input) (*request.Request, error) {
	if err := checkQuery(in, "model"); err != nil {
		return nil, err
	}
	return &request.Request{Model: in.Query.Get("model"), Work: &request.Tokenize{}}, nil
}

// Whole implements [Dialect].
func (*tokenizerInfo) Whole(r *request.Request) any {
	w := r.Work.(*request.Tokenize)
	answer := map[string]any{"bos_token": nil, "eos_token": nil, "chat_template": nil, "model_max_length": w.Most}
	for name, text := range map[string]string{"bos_token": w.BOS, "eos_token": w.EOS, "chat_template": w.Template} {
		if text != "" {
			answer[name] = text
		}
	}
	return answer
}
