package decoder

import (
	"fmt"
	"path/filepath"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/decoder/internal/ranking"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/folder"
	"github.com/attn-go/attn/models/internal/settings"
	"github.com/attn-go/attn/models/reranking"
)

// LoadReranker reads a decoder as a reranker. The state of a pair's last token gives the score:
//
//   - in a folder of Qwen3ForSequenceClassification, or of another family, by its layer score
//   - in a folder whose modules.json has LogitScore, as sentence-transformers' CrossEncoder saves
//     it, by the logits of two tokens, such as yes and no. A chat template writes the query and the
//     passage
//   - in a folder of Qwen3-Reranker as it was published, by the same logits after its own prompt.
//     [Ranks] tells such a folder by its README.md or its name
//   - in a GGUF file of qwen3 with pooling_type 4, by its layer cls.output after its template for
//     rerankers, as in llama.cpp --rerank
//
// The path is found as with [Load], and the errors are the same.
func LoadReranker(model string, o embedding.LoadOptions) (*reranking.Reranker, error) {
	x, m, err := load(model, ranks, optionsOf(o))
	if err != nil {
		return nil, err
	}
	p, err := m.reranker(x.path)
	if err != nil {
		return nil, naming(x.path, err)
	}
	return reranking.New(*p), nil
}

// Ranks tells whether the folder of a decoder has a reranker, see [LoadReranker].
func Ranks(dir string) (bool, error) {
	var c struct {
		Type    string   `json:"model_type"`
		Classes []string `json:"architectures"`
	}
	if err := folder.ReadJSON(filepath.Join(folder.Transformer(dir), configFile), &c); err != nil {
		return false, err
	}
	a := settings.Decoders.OfType(c.Type)
	if a == nil {
		return false, nil
	}
	return ranking.Ranks(dir, a.GGUF, c.Classes)
}

// ranked returns what package ranking must know of the model.
func (n *network) ranked() ranking.Model {
	return ranking.Model{
		Architecture: n.config.Architecture, Vocab: n.config.Vocab, Tokenizer: n.Tokenizer, Template: n.Template,
		Fault: func(file, key, got, want string) error {
			return &kernel.Error{Where: file + ": " + key, Got: got, Want: want}
		},
	}
}

// classifierName is the classifier of a GGUF file; a folder calls it score.
const classifierName = "cls.output"

// rank loads the classifier of a reranker that has one.
func (l *loader) rank(r *ranking.Ranking, width int) {
	if r == nil || r.Answers {
		return
	}
	outputs := 1
	if info, _ := l.Info(classifierName + ".weight"); len(info.Shape) == 2 && info.Shape[0] > 0 {
		outputs = info.Shape[0]
	}
	r.Weights.Weight = l.Floats(classifierName+".weight", outputs, width)
	if l.Has(classifierName + ".bias") {
		r.Weights.Bias = l.Floats(classifierName+".bias", outputs)
	}
}

// reranker returns the parts of a reranker.
func (m *Model) reranker(path string) (*reranking.Parts, error) {
	h, err := m.rankingHead(path)
	if err != nil {
		return nil, err
	}
	p := &reranking.Parts{
		Model: &embedder{model: m}, Head: h,
		Vocab: m.config.Vocab, MaxTokens: min(m.options.Context, m.config.Context), Positions: m.options.Context,
	}
	if n := m.ranking.Limit; n > 0 {
		p.MaxTokens = min(n, p.MaxTokens)
	}
	p.Prompt, err = m.ranking.Prompt(m.network.ranked())
	return p, err
}

// rankingHead returns what makes scores of states.
func (m *Model) rankingHead(path string) (*reranking.Head, error) {
	r := m.ranking
	h := &reranking.Head{Pooling: embedding.PoolLast, Out: r.Weights, Padding: r.Padding, Identity: r.Identity}
	if !r.Answers {
		outputs := len(r.Weights.Weight) / m.config.Width
		if err := h.SetLabels(path, r.Labels, outputs); err != nil {
			return nil, err
		}
		h.Identity = r.Identity && outputs == 1
	} else if err := m.answerHead(path, h); err != nil {
		return nil, err
	}
	if r.First {
		h.Default = 0
	}
	return h, nil
}

// answerHead makes the classifier of rows of the output matrix.
func (m *Model) answerHead(path string, h *reranking.Head) error {
	tokens := []int32{m.ranking.Yes}
	if m.ranking.No >= 0 {
		tokens = append(tokens, m.ranking.No)
	}
	t, err := m.Tokenizer()
	if err != nil {
		return err
	}
	var names []string
	for _, id := range tokens {
		if int(id) >= m.config.Vocab {
			return &kernel.Error{Where: "LogitScore: true_token_id, false_token_id", Got: fmt.Sprint(id), Want: fmt.Sprintf("0 to %d", m.config.Vocab-1)}
		}
		names = append(names, t.Token(id))
	}
	if m.arch.Logits.Bias != arch.Absent {
		return &kernel.Error{Where: "LogitScore", Got: "an output matrix with biases", Want: "one without"}
	}
	h.Softcap = m.config.LogitSoftcap
	h.Out.Weight = make([]float32, len(tokens)*m.config.Width)
	if err := m.head.Parts[0].Rows(linear.DenseMatrix(h.Out.Weight, len(tokens), m.config.Width), tokens, kernel.Exec{}); err != nil {
		return err
	}
	if c := m.config.LogitScale; c != 0 {
		for i, w := range h.Out.Weight {
			h.Out.Weight[i] = float32(w * c)
		}
	}
	return h.SetLabels(path, names, len(tokens))
}
