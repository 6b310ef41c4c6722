package embeddings_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/attn-go/attn/bridge/embeddings"
	"github.com/attn-go/attn/models/encoder"
	"github.com/attn-go/attn/models/weights"
	"github.com/philippgille/chromem-go"
	langchain "github.com/tmc/langchaingo/embeddings"
)

var load = sync.OnceValues(func() (*encoder.Encoder, error) {
	path, err := weights.Find(weights.MiniLM)
	if err != nil {
		return nil, err
	}
	return encoder.Load(path, encoder.LoadOptions{})
})

// miniLM loads the model. If it is missing, the test is skipped.
func miniLM(t testing.TB) *encoder.Encoder {
	t.Helper()
	if _, err := weights.Find(weights.MiniLM); err != nil {
		t.Skipf("NOT RUN: %v", err)
	}
	e, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// retrieval has queries, and the passages that PyTorch's embeddings find.
func retrieval(t testing.TB) (queries []query, documents []chromem.Document) {
	t.Helper()
	data, err := os.ReadFile("../../models/testdata/minilm/retrieval.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Queries  []query
		Passages []struct {
			ID   json.Number
			Text string
		}
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for _, p := range all.Passages {
		documents = append(documents, chromem.Document{ID: p.ID.String(), Content: p.Text})
	}
	return all.Queries, documents
}

type query struct {
	Text   string
	Top5   []json.Number `json:"top5"`
	Scores []float32
}

// TestChromem: a collection that embeds its documents by Func, and one that Add has filled,
// find what PyTorch's embeddings find.
func TestChromem(t *testing.T) {
	e := miniLM(t)
	queries, documents := retrieval(t)
	if testing.Short() {
		documents = documents[:10]
	}
	db := chromem.NewDB()
	one, err := db.CreateCollection("one by one", nil, embeddings.Func(e))
	if err != nil {
		t.Fatal(err)
	}
	if err := one.AddDocuments(t.Context(), documents, 2); err != nil {
		t.Fatal(err)
	}
	many, err := db.CreateCollection("many", nil, embeddings.Func(e))
	if err != nil {
		t.Fatal(err)
	}
	if err := embeddings.Add(t.Context(), many, embeddings.Client{e}.CreateEmbedding, documents); err != nil {
		t.Fatal(err)
	}
	for _, d := range documents {
		x, _ := one.GetByID(t.Context(), d.ID)
		y, _ := many.GetByID(t.Context(), d.ID)
		if len(x.Embedding) != e.Width() || !slices.Equal(x.Embedding, y.Embedding) {
			t.Fatalf("the embeddings of document %s are not the same", d.ID)
		}
	}
	if testing.Short() {
		return
	}
	for _, q := range queries {
		results, err := many.Query(t.Context(), q.Text, 5, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range results {
			if d := r.Similarity - q.Scores[i]; r.ID != q.Top5[i].String() || d > 1e-5 || d < -1e-5 {
				t.Errorf("%q: result %d is %s with %v, want %s with %v", q.Text, i, r.ID, r.Similarity, q.Top5[i], q.Scores[i])
			}
		}
	}
}

// TestLangchain: an Embedder of langchaingo. By default it replaces newlines by spaces, which
// makes no difference to the model.
func TestLangchain(t *testing.T) {
	e := miniLM(t)
	embedder, err := langchain.NewEmbedder(embeddings.Client{e}, langchain.WithBatchSize(2))
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"a text\nof two lines", "another", ""}
	want, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	got, err := embedder.EmbedDocuments(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("text %d has another embedding", i)
		}
	}
	q, err := embedder.EmbedQuery(t.Context(), texts[0])
	if err != nil || !slices.Equal(q, want[0]) {
		t.Errorf("the query has another embedding than the document, error %v", err)
	}
}

// TestCancel: a context that ends stops the computation.
func TestCancel(t *testing.T) {
	e := miniLM(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := embeddings.Func(e)(ctx, "text"); !errors.Is(err, context.Canceled) {
		t.Errorf("Func: %v", err)
	}
	c, err := chromem.NewDB().CreateCollection("c", nil, embeddings.Func(e))
	if err != nil {
		t.Fatal(err)
	}
	if err := embeddings.Add(ctx, c, embeddings.Client{e}.CreateEmbedding, []chromem.Document{{ID: "1", Content: "text"}}); !errors.Is(err, context.Canceled) || c.Count() != 0 {
		t.Errorf("Add: %v, %d documents", err, c.Count())
	}
}

// TestAdd with a model of one number: batches, documents that have an embedding, and errors.
func TestAdd(t *testing.T) {
	var calls []int
	embed := func(_ context.Context, texts []string) ([][]float32, error) {
		calls = append(calls, len(texts))
		vectors := make([][]float32, len(texts))
		for i := range vectors {
			vectors[i] = []float32{1}
		}
		return vectors, nil
	}
	documents := make([]chromem.Document, 40)
	for i := range documents {
		documents[i] = chromem.Document{ID: string(rune('a' + i)), Content: "text"}
	}
	documents[3].Embedding = []float32{-1}
	c, err := chromem.NewDB().CreateCollection("c", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := embeddings.Add(t.Context(), c, embed, documents); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(calls, []int{31, 8}) || c.Count() != 40 {
		t.Errorf("calls with %v texts, %d documents", calls, c.Count())
	}
	for i, want := range map[int]float32{2: 1, 3: -1, 4: 1} {
		if d, err := c.GetByID(t.Context(), documents[i].ID); err != nil || d.Embedding[0] != want {
			t.Errorf("document %d: %v, error %v", i, d.Embedding, err)
		}
	}
	if err := embeddings.Add(t.Context(), c, embed, []chromem.Document{{Content: "no id"}}); err == nil {
		t.Error("no error for a document without an id")
	}
}
