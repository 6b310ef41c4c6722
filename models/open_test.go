package models_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/internal/folder"
	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
)

// TestOpen: every folder of testdata/tiny is found out and loaded.
func TestOpen(t *testing.T) {
	kinds := map[string]models.Kind{"decoder": models.KindGenerator, "encoder": models.KindEmbedder, "embedder": models.KindEmbedder, "static": models.KindEmbedder, "reranker": models.KindReranker, "multivector": models.KindReranker, "sparse": models.KindEmbedder}
	folders, err := filepath.Glob("testdata/tiny/*/config.json")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no models: %v", err)
	}
	for _, path := range folders {
		dir := filepath.Dir(path)
		name := filepath.Base(dir)
		var refs struct{ Kind string }
		if err := folder.ReadJSON(filepath.Join(dir, "refs.json"), &refs); err != nil {
			t.Fatal(err)
		}
		want, ok := kinds[refs.Kind]
		if !ok {
			t.Fatalf("%s: the kind %q", name, refs.Kind)
		}
		m, err := models.Open(dir, models.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_, embeds := m.(models.Embeds)
		_, ranks := m.(models.Ranks)
		_, generates := m.(models.Generates)
		if m.About().Kind != want || embeds != (want == models.KindEmbedder) || ranks != (want == models.KindReranker) || generates != (want == models.KindGenerator) {
			t.Errorf("%s: got %+v, want a model of the kind %s", name, m.About(), want)
		}
		if refs.Kind == "multivector" { // which is an embedder, too
			if e, err := models.OpenEmbedder(dir, embedding.LoadOptions{}); err != nil || !e.HasTokenVectors() {
				t.Errorf("%s as an embedder: %v", name, err)
			}
			continue
		}
		checkKinds(t, dir, want)
	}
}

// TestDescriptionIsNoModel: a program cannot take what Describe returns, which is not loaded, for a
// model.
func TestDescriptionIsNoModel(t *testing.T) {
	if m, is := any(&models.Description{}).(models.Model); is {
		t.Errorf("%T is a models.Model", m)
	}
}

// TestOpenRankFile: a GGUF file with pooling_type 4 is a reranker for all that ask, of an encoder
// and of a decoder.
func TestOpenRankFile(t *testing.T) {
	for _, path := range []string{"testdata/tiny/gguf/reranker-bert-1.gguf", "testdata/tiny/gguf/reranker-qwen3-reranker-6.gguf"} {
		checkKinds(t, path, models.KindReranker)
		r, err := models.Inspect(path)
		if err != nil || r.Kind != models.KindReranker || len(r.Problems) > 0 {
			t.Errorf("%s: %+v (%v)", path, r, err)
		}
	}
}

// checkKinds: what a model is not for is an error that says what it is.
func checkKinds(t *testing.T, dir string, kind models.Kind) {
	_, embeds := models.OpenEmbedder(dir, embedding.LoadOptions{})
	_, ranks := models.OpenReranker(dir, embedding.LoadOptions{})
	_, generates := models.OpenGenerator(dir, decoder.Options{})
	for k, err := range map[models.Kind]error{models.KindEmbedder: embeds, models.KindReranker: ranks, models.KindGenerator: generates} {
		if k == kind && err != nil || k != kind && (!errors.Is(err, models.ErrKind) || !strings.Contains(err.Error(), fmt.Sprintf("of the kind %s, want the kind %s; the command ", kind, k))) {
			t.Errorf("%s as a %s: %v", dir, k, err)
		}
	}
}

// TestOpenErrors: errors name what is not supported, and what is.
func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := models.Open(dir, models.Options{}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "GGUF") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := models.Open(filepath.Join(dir, "none"), models.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
	path := filepath.Join(dir, "config.json")
	if err := os.WriteFile(path, []byte(`{"model_type": "gpt2"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	var bad *kernel.Error
	if _, err := models.Open(dir, models.Options{}); !errors.As(err, &bad) || bad.Arg() != "model_type" || bad.Got != `"gpt2"` || !strings.Contains(bad.Want, "modernbert") || !strings.Contains(bad.Want, "qwen3") {
		t.Errorf("an architecture that is not known: %v", err)
	}
	if _, err := models.Open(path, models.Options{}); !errors.As(err, &bad) || !strings.HasPrefix(bad.Where, path+": ") || !strings.Contains(bad.Want, dir) {
		t.Errorf("a file of a folder: %v", err)
	}
	if err := os.WriteFile(path, []byte(`{`), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := models.Open(dir, models.Options{}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("no JSON: %v", err)
	}
	if _, err := models.Open(path, models.Options{}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a file that is no GGUF file: %v", err)
	}
}

// TestTablePath: the weights of a StaticEmbedding lie in the folder of the model or below it.
func TestTablePath(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "modules.json"), []byte(`[{"path":"../x","type":"sentence_transformers.models.StaticEmbedding"}]`), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := models.Inspect(dir)
	var bad *kernel.Error
	if !errors.As(err, &bad) || bad.Arg() != "module 0" {
		t.Errorf("a path outside of the folder: %v", err)
	}
}
