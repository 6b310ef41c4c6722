package references

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const testdata = "../../testdata/minilm"

func TestReadMiniLM(t *testing.T) {
	r, err := ReadMiniLM(testdata)
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string][2]int{
		"texts": {len(r.Texts), 40}, "embeddings": {len(r.Embeddings), 40}, "cosine": {len(r.Cosine), 40},
		"queries": {len(r.Queries), 20}, "passages": {len(r.Passages), 200}, "layers": {len(r.Layers), 7},
	} {
		if n[0] != n[1] {
			t.Errorf("%d %s, want %d", n[0], name, n[1])
		}
	}
}

// TestUnknown changes a copy of the folder, and expects an error that names what was changed.
func TestUnknown(t *testing.T) {
	replace := func(name, from, to string) func(dir string) error {
		return func(dir string) error {
			path := filepath.Join(dir, name)
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, []byte(strings.Replace(string(data), from, to, 1)), 0o666)
		}
	}
	add := func(name string) func(dir string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), nil, 0o666) }
	}
	remove := func(name string) func(dir string) error {
		return func(dir string) error { return os.Remove(filepath.Join(dir, name)) }
	}
	for want, change := range map[string]func(dir string) error{
		"more.json: unknown file":         add("more.json"),
		`unknown field "texte"`:           replace("inputs.json", `"texts"`, `"texte"`),
		`unknown field "word"`:            replace("embeddings.json", `"text":`, `"word":`),
		`unknown field "top6"`:            replace("retrieval.json", `"top5"`, `"top6"`),
		`unknown tensor "embeddingz"`:     replace("embeddings.safetensors", `"embeddings"`, `"embeddingz"`),
		"layers.5 is missing":             replace("embeddings.safetensors", `"layers.5"`, `"layers.6"`),
		"text 1 of inputs.json":           replace("inputs.json", `"a"`, `"b"`),
		"query 0 of inputs.json":          replace("inputs.json", "how do I compress", "how do I squeeze"),
		"passages of inputs.json":         replace("inputs.json", "Package tar", "Package tat"),
		`rows of tensor "embeddings" for`: remove("embeddings.json"),
		"layers of inputs.json":           replace("inputs.json", `"layers": "The`, `"layers": "A`),
		`rows of tensor "queries" for 0`:  remove("retrieval.json"),
		"layers.* of embeddings.safetens": remove("embeddings.safetensors"),
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(testdata)); err != nil {
			t.Fatal(err)
		}
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadMiniLM(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	if _, err := ReadMiniLM(t.TempDir()); err == nil {
		t.Error("an empty folder gives no error")
	}
}
