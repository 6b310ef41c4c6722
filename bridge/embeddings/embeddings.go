// Package embeddings gives other Go programs the sentence embeddings of package encoder, such as
// all-MiniLM-L6-v2's: without cgo, without a server, and without a download when the program runs.
//
//   - [Func] is a chromem.EmbeddingFunc, for collections of chromem-go.
//   - [Client] is an embeddings.EmbedderClient, for embeddings.NewEmbedder of langchaingo.
//   - [Add] adds many documents to a collection of chromem-go, several of them in one call of
//     the model.
//
// The command search is a whole program: semantic search over a folder of documents.
package embeddings

import (
	"context"

	"github.com/attn-go/attn/models/encoder"
	"github.com/philippgille/chromem-go"
	"github.com/tmc/langchaingo/embeddings"
)

// Func returns the embedding function of a model for chromem-go. It may be called by several
// goroutines at once. chromem-go calls it from as many as the concurrency that
// Collection.AddDocuments is given: then one thread for each call is best, see
// encoder.Options.
func Func(e *encoder.Encoder) chromem.EmbeddingFunc {
	return func(ctx context.Context, text string) ([]float32, error) {
		vectors, err := e.Embed(ctx, []string{text})
		if err != nil {
			return nil, err
		}
		return vectors[0], nil
	}
}

// A Client is a client for langchaingo: embeddings.NewEmbedder makes an Embedder of it. It
// may be used by several goroutines at once.
type Client struct{ Encoder *encoder.Encoder }

var _ embeddings.EmbedderClient = Client{}

// CreateEmbedding returns the embeddings of texts, as encoder.Encoder.Embed does.
func (c Client) CreateEmbedding(ctx context.Context, texts []string) ([][]float32, error) {
	return c.Encoder.Embed(ctx, texts)
}

// batch is how many documents a call of the model gets.
const batch = 32

// Add adds documents to a collection. It calls the model once for 32 documents, while
// Collection.AddDocuments calls it once for each. embed is [Client.CreateEmbedding], or that
// of any other client. Documents that have an embedding keep it. Documents before an error
// are in the collection.
func Add(ctx context.Context, c *chromem.Collection, embed embeddings.EmbedderClientFunc, documents []chromem.Document) error {
	for len(documents) > 0 {
		part := documents[:min(batch, len(documents))]
		documents = documents[len(part):]
		if err := addBatch(ctx, c, embed, part); err != nil {
			return err
		}
	}
	return nil
}

// addBatch adds documents whose embeddings are computed in one call.
func addBatch(ctx context.Context, c *chromem.Collection, embed embeddings.EmbedderClientFunc, documents []chromem.Document) error {
	var texts []string
	for _, d := range documents {
		if len(d.Embedding) == 0 {
			texts = append(texts, d.Content)
		}
	}
	vectors, err := embed(ctx, texts)
	if err != nil {
		return err
	}
	for _, d := range documents {
		if len(d.Embedding) == 0 {
			d.Embedding, vectors = vectors[0], vectors[1:]
		}
		if err := c.AddDocument(ctx, d); err != nil {
			return err
		}
	}
	return nil
}
