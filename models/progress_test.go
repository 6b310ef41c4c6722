package models_test

import (
	"testing"

	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/embedding"
)

// TestProgress: loading a model of every kind and format reports from 0 to all bytes of its
// tensors, in order.
func TestProgress(t *testing.T) {
	for _, name := range []string{"bert-1", "reranker-bert-1", "qwen3-2", "qwen3-embedding-2", "gguf/bert-1.gguf", "gguf/qwen3-embedding-2.gguf", "model2vec-1"} {
		var done []int64
		total := int64(0)
		report := func(n, of int64) { done, total = append(done, n), of }
		path := "testdata/tiny/" + name
		if _, err := models.Open(path, models.Options{Embedding: embedding.LoadOptions{Progress: report}, Generator: decoder.Options{Progress: report}}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r, err := models.Inspect(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(done) < 3 || done[0] != 0 || done[len(done)-1] != total || total != r.FileBytes {
			t.Errorf("%s: %d of %d, want 0 to the %d bytes of the tensors", name, done, total, r.FileBytes)
		}
		for i := 1; i < len(done); i++ {
			if done[i] < done[i-1] {
				t.Errorf("%s: %d", name, done)
				break
			}
		}
	}
}
