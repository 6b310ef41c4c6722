// Command search is the command search of package embeddings with hugot in place of attn. Its
// model is a folder with an ONNX file, which the first run makes in the folder for temporary
// files if none is given.
//
//	go run ./search ../../../docs -query 'can I use my own threads?'
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/attn-go/attn/bridge/embeddings/hugot"
	"github.com/attn-go/attn/bridge/embeddings/hugot/internal/export"
	"github.com/attn-go/attn/bridge/embeddings/semantic"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/weights"
)

func main() {
	ctx, stop := command.Context()
	defer stop()
	command.Exit("search", semantic.Run(ctx, "search", load, os.Args[1:], os.Stdout, os.Stderr))
}

// load loads a model for hugot, which chooses the number of threads itself.
func load(ctx context.Context, model string, _ int) (func(ctx context.Context, texts []string) ([][]float32, error), error) {
	model, err := weights.Resolve(model)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(model, "model.onnx")); err != nil {
		to := filepath.Join(os.TempDir(), "attn-hugot-minilm")
		if err := os.MkdirAll(to, 0o777); err != nil {
			return nil, err
		}
		if _, err := os.Stat(filepath.Join(to, "model.onnx")); err != nil {
			if err := export.Folder(to, model); err != nil {
				return nil, err
			}
		}
		model = to
	}
	m, err := hugot.Load(ctx, model)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", model, err)
	}
	return m.CreateEmbedding, nil
}
