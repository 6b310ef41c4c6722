package models_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/attn-go/attn/models"
)

// FuzzLook describes and inspects a folder with any config.json and modules.json beside the weights
// of a tiny model: it gets a description or an error.
func FuzzLook(f *testing.F) {
	for _, name := range []string{"bert-1", "model2vec-1", "embeddinggemma-2", "qwen3-2", "reranker-bert-1", "gte-new-1"} {
		dir := filepath.Join("testdata/tiny", name)
		config, err := os.ReadFile(filepath.Join(dir, "config.json"))
		if err != nil {
			f.Fatal(err)
		}
		modules, err := os.ReadFile(filepath.Join(dir, "modules.json"))
		if err != nil {
			modules = nil
		}
		f.Add(config, modules)
	}
	f.Add([]byte(nil), []byte(`[{"path":"0","type":"sentence_transformers.models.StaticEmbedding"}]`))
	f.Add([]byte(nil), []byte(`[{"path":"../x","type":"sentence_transformers.models.StaticEmbedding"}]`))
	dir := f.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/tiny/bert-1")); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, config, modules []byte) {
		for name, data := range map[string][]byte{"config.json": config, "modules.json": modules} {
			path := filepath.Join(dir, name)
			if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if data == nil {
				continue
			}
			if err := os.WriteFile(path, data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		r, err := models.Inspect(dir)
		if err == nil && (r.Kind == "" || r.Architecture == "" && r.Problems == nil) {
			t.Errorf("a model without a kind or architecture: %+v", r)
		}
	})
}
