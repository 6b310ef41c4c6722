// Package hugot has the embeddings of hugot (github.com/knights-analytics/hugot) on its backend in
// pure Go, in the form of package embeddings, to compare it with attn. It is a module of its own,
// so that nobody else gets its dependencies.
package hugot

import (
	"context"

	"github.com/knights-analytics/hugot"
	"github.com/knights-analytics/hugot/pipelines"
)

// A Model is a sentence encoder of hugot.
type Model struct {
	session  *hugot.Session
	pipeline *pipelines.FeatureExtractionPipeline
}

// Load loads a model from a folder with model.onnx and tokenizer.json. Close frees it.
func Load(ctx context.Context, folder string) (*Model, error) {
	session, err := hugot.NewGoSession(ctx)
	if err != nil {
		return nil, err
	}
	pipeline, err := hugot.NewPipeline(session, hugot.FeatureExtractionConfig{
		ModelPath: folder,
		Name:      "embeddings",
		Options:   []hugot.FeatureExtractionOption{pipelines.WithNormalization()},
	})
	if err != nil {
		session.Destroy()
		return nil, err
	}
	return &Model{session, pipeline}, nil
}

// CreateEmbedding returns the embeddings of texts.
func (m *Model) CreateEmbedding(ctx context.Context, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	out, err := m.pipeline.RunPipeline(ctx, texts)
	if err != nil {
		return nil, err
	}
	return out.Embeddings, nil
}

// Close frees the model.
func (m *Model) Close() error { return m.session.Destroy() }
