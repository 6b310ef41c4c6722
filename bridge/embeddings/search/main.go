// Command search finds passages by their meaning in the documents of a folder. Its embeddings come
// from all-MiniLM-L6-v2, which attn fetch downloads once. chromem-go keeps them in the user's cache
// folder, or where -db says: a second run computes only what is new.
//
//	go run ./bridge/embeddings/search docs -query 'can I use my own threads?'
package main

import (
	"context"
	"os"

	"github.com/attn-go/attn/bridge/embeddings"
	"github.com/attn-go/attn/bridge/embeddings/semantic"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/encoder"
)

func main() {
	ctx, stop := command.Context()
	defer stop()
	command.Exit("search", semantic.Run(ctx, "search", load, os.Args[1:], os.Stdout, os.Stderr))
}

// load loads a model.
func load(_ context.Context, model string, threads int) (func(ctx context.Context, texts []string) ([][]float32, error), error) {
	e, err := encoder.Load(model, encoder.LoadOptions{})
	if err != nil {
		return nil, err
	}
	return embeddings.Client{Encoder: e.With(encoder.Options{Exec: kernel.Exec{Threads: threads}})}.CreateEmbedding, nil
}
