package static

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/attn-go/attn/models/embedding"
)

// FuzzLoad reads any config.json, modules.json and weights beside a tokenizer: the folder is a
// table that runs, or gets an error.
func FuzzLoad(f *testing.F) {
	names := []string{"config.json", "modules.json", "model.safetensors"}
	dir := f.TempDir()
	for _, model := range []string{"model2vec-1", "model2vec-2"} {
		var files [3][]byte
		for i, name := range names {
			data, err := os.ReadFile(filepath.Join(tiny+model, name))
			if err != nil {
				f.Fatal(err)
			}
			files[i] = data
		}
		f.Add(files[0], files[1], files[2])
	}
	data, err := os.ReadFile(tiny + "model2vec-1/tokenizer.json")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "tokenizer.json"), data, 0o666)
	}
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, config, modules, weights []byte) {
		for i, data := range [][]byte{config, modules, weights} {
			if err := os.WriteFile(filepath.Join(dir, names[i]), data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := inspect(dir, ""); err != nil {
			if e, err := Load(dir, embedding.LoadOptions{}); err == nil {
				t.Errorf("a model that loads cannot be inspected: %v", e)
			}
			return
		}
		e, err := Load(dir, embedding.LoadOptions{})
		if err != nil {
			return
		}
		if v, err := e.Embed(t.Context(), []string{"the cat", ""}); err != nil || len(v) != 2 {
			t.Errorf("a model that loads does not run: %v", err)
		}
	})
}
