// Package minilm has the sentence embeddings of MiniLM by GoMLX: go-huggingface's package
// models/transformer on the backend in pure Go.
package minilm

import (
	"fmt"
	"os"

	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/go-huggingface/hub"
	"github.com/gomlx/go-huggingface/models/transformer"
	"github.com/gomlx/go-huggingface/tokenizers"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
	zoo "github.com/gomlx/gomlx/ml/zoo/transformer"
)

// A Model is a sentence encoder of GoMLX.
type Model struct {
	tokenizer tokenizers.Tokenizer
	exec      *model.Exec
}

// Load loads a folder as Hugging Face has it. Nothing is downloaded.
func Load(folder string) (*Model, error) {
	if _, err := os.Stat(folder); err != nil {
		return nil, fmt.Errorf("%w: attn fetch downloads MiniLM", err)
	}
	m, err := transformer.LoadModel(hub.NewLocal(folder))
	if err != nil {
		return nil, err
	}
	tokenizer, err := m.GetTokenizer()
	if err != nil {
		return nil, err
	}
	backend, store := gobackend.GetBackend(), model.NewStore()
	if err := m.LoadStore(backend, store); err != nil {
		return nil, err
	}
	store.RootScope().SetParam(zoo.ParamGeluApproximate, false) // as PyTorch computes MiniLM
	exec, err := model.NewExec(backend, store, func(scope *model.Scope, tokens, lengths *graph.Node) *graph.Node {
		return m.SentenceEmbeddingGraph(scope, tokens, lengths)
	})
	if err != nil {
		return nil, err
	}
	return &Model{tokenizer, exec.SetMaxCache(-1)}, nil
}

// Embed returns the embeddings of texts, which it pads to the longest. GoMLX makes a graph for
// every new number of texts and tokens.
func (m *Model) Embed(texts []string) ([][]float32, error) {
	ids, lengths, longest := make([][]int32, len(texts)), make([]int32, len(texts)), 0
	for i, text := range texts {
		for _, id := range m.tokenizer.Encode(text) {
			ids[i] = append(ids[i], int32(id))
		}
		lengths[i], longest = int32(len(ids[i])), max(longest, len(ids[i]))
	}
	for i := range ids {
		ids[i] = append(ids[i], make([]int32, longest-len(ids[i]))...)
	}
	results, err := m.exec.Exec(ids, lengths)
	if err != nil {
		return nil, err
	}
	vectors, ok := results[0].Value().([][]float32)
	if !ok {
		return nil, fmt.Errorf("the embeddings are %v, not rows of float32", results[0].Shape())
	}
	return vectors, nil
}
