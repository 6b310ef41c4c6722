package embeddings_test

import (
	"context"
	"fmt"
	"log"

	"github.com/attn-go/attn/bridge/embeddings"
	"github.com/attn-go/attn/models/encoder"
	"github.com/attn-go/attn/models/weights"
	"github.com/philippgille/chromem-go"
	langchain "github.com/tmc/langchaingo/embeddings"
)

// A collection of chromem-go, which finds a note that has no word of the query.
func Example_chromem() {
	ctx := context.Background()
	folder, err := weights.Find(weights.MiniLM) // what attn fetch has downloaded, or a folder of yours
	if err != nil {
		log.Fatal(err)
	}
	encoder, err := encoder.Load(folder, encoder.LoadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	notes, err := chromem.NewDB().CreateCollection("notes", nil, embeddings.Func(encoder))
	if err != nil {
		log.Fatal(err)
	}
	embed := embeddings.Client{Encoder: encoder}.CreateEmbedding
	err = embeddings.Add(ctx, notes, embed, []chromem.Document{
		{ID: "1", Content: "A kitten sleeps on the sofa."},
		{ID: "2", Content: "The bank raises its rates."},
	})
	if err != nil {
		log.Fatal(err)
	}
	found, err := notes.Query(ctx, "interest on loans", 1, nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found[0].Content)
}

// An Embedder of langchaingo.
func Example_langchaingo() {
	ctx := context.Background()
	folder, err := weights.Find(weights.MiniLM)
	if err != nil {
		log.Fatal(err)
	}
	encoder, err := encoder.Load(folder, encoder.LoadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	embedder, err := langchain.NewEmbedder(embeddings.Client{Encoder: encoder})
	if err != nil {
		log.Fatal(err)
	}
	vector, err := embedder.EmbedQuery(ctx, "interest on loans")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(vector))
}
