package ranking

import (
	"fmt"
	"slices"
	"strings"

	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/reranking"
)

// ggufRank is the pooling_type of rerankers.
const ggufRank = 4

// lastRanks are the architectures for which llama.cpp takes the state of the last token. For others
// it takes the state of the first token, which sees no other in a decoder, so that all scores would
// be equal.
var lastRanks = []string{"qwen3"}

// ReadFile reads how the model of a GGUF file scores pairs. Errors are a [*kernel.Error].
func ReadFile(f *gguf.File, m Model) (*Ranking, error) {
	key := m.Architecture + ".pooling_type"
	kind, err := f.Int(key)
	if err != nil {
		return nil, err
	}
	if kind != ggufRank {
		return nil, gguf.KeyError(key, fmt.Sprint(kind), "4, the classifier of a reranker")
	}
	if !slices.Contains(lastRanks, m.Architecture) {
		return nil, gguf.KeyError(key, fmt.Sprint(kind), fmt.Sprintf("a reranker of the architecture %s, whose score is that of the last token", strings.Join(lastRanks, ", ")))
	}
	r := &Ranking{Padding: -1, First: true}
	if key := m.Architecture + ".classifier.output_labels"; hasKey(f, key) {
		if r.Labels, err = f.Strings(key); err != nil {
			return nil, err
		}
	}
	template := ""
	const templateKey = "tokenizer.chat_template.rerank"
	if hasKey(f, templateKey) {
		if template, err = f.String(templateKey); err != nil {
			return nil, err
		}
	}
	r.Prompt = func(m Model) (reranking.Prompt, error) {
		tok, err := m.Tokenizer()
		if err != nil {
			return nil, err
		}
		if template == "" {
			return &reranking.TwoTexts{Tokenizer: tok}, nil
		}
		p, err := reranking.NewTemplate(tok, template, "")
		if err != nil {
			return nil, gguf.KeyError(templateKey, err.Error(), "a template for a query and a document")
		}
		return p, nil
	}
	return r, nil
}

func hasKey(f *gguf.File, key string) bool {
	_, ok := f.Value(key)
	return ok
}
