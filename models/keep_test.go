package models_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/lora"
)

// TestKeepPacked: a model that keeps its layers gives the same bits when it writes them and when it reads them, which it
// does as long as its files do not change.
func TestKeepPacked(t *testing.T) {
	for name, first := range map[string]string{
		"bert-1": "model.safetensors", "reranker-bert-1": "model.safetensors", "qwen3-2": "model.safetensors", "qwen3-embedding-2": "model.safetensors",
		"gguf/bert-1.gguf": "", "gguf/qwen3-embedding-2.gguf": "",
	} {
		t.Run(name, func(t *testing.T) {
			path := copyOf(t, "testdata/tiny/"+name)
			want := results(t, path, models.Options{})
			keep := models.Options{Embedding: embedding.LoadOptions{KeepPacked: true}, Generator: decoder.Options{KeepPacked: true}}
			file := filepath.Join(path, first) // the model itself if there is no first file
			packed := file + ".packed"
			var times []time.Time
			for range 2 {
				if got := results(t, path, keep); got != want {
					t.Fatalf("the results are %s, want %s", got, want)
				}
				info, err := os.Stat(packed)
				if err != nil {
					t.Fatal(err)
				}
				times = append(times, info.ModTime())
			}
			if times[0] != times[1] {
				t.Error("layers were packed again")
			}
			// Layers of a file that has changed are not used.
			if err := os.Chtimes(file, time.Time{}, time.Unix(1e9, 0)); err != nil {
				t.Fatal(err)
			}
			old := time.Unix(2e9, 0)
			if err := os.Chtimes(packed, time.Time{}, old); err != nil {
				t.Fatal(err)
			}
			if got := results(t, path, keep); got != want {
				t.Fatalf("after a change the results are %s, want %s", got, want)
			}
			if info, err := os.Stat(packed); err != nil || info.ModTime().Equal(old) {
				t.Errorf("layers of a file that has changed are used: %v", err)
			}
		})
	}
}

// copyOf copies a file or a folder into one of the test.
func copyOf(t *testing.T, name string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(name))
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if info.IsDir() {
		err = os.CopyFS(to, os.DirFS(name))
	} else if data, bad := os.ReadFile(name); bad == nil {
		err = os.WriteFile(to, data, 0o666)
	} else {
		err = bad
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// results returns all numbers that a model computes of some text.
func results(t *testing.T, path string, o models.Options) string {
	t.Helper()
	m, err := models.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	var numbers any
	switch m := m.(type) {
	case models.Embeds:
		numbers, err = m.Embedder().Embed(t.Context(), []string{"some text"})
	case models.Ranks:
		numbers, err = m.Reranker().Score(t.Context(), "some text", []string{"other text"})
	case models.Generates:
		s, bad := m.Generator().NewSession(1, 64)
		if bad != nil {
			t.Fatal(bad)
		}
		numbers, err = s.Forward(t.Context(), decoder.Step{Text: s.NewText(), Tokens: []int32{3, 4, 5}, Logits: decoder.LogitsLast})
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(numbers)
}

// TestKeepAdapted: layers that are kept are those of the adapters that are merged into them.
func TestKeepAdapted(t *testing.T) {
	for _, name := range []string{"bert-1", "llama-2"} {
		path := copyOf(t, "testdata/tiny/"+name)
		for _, list := range [][]lora.Adapter{nil, {{Path: "testdata/tiny/lora/" + name}}, {{Path: "testdata/tiny/lora/" + name, Scale: 2}}, nil} {
			options := func(keep bool) models.Options {
				return models.Options{Embedding: embedding.LoadOptions{LoRA: list, KeepPacked: keep}, Generator: decoder.Options{LoRA: list, KeepPacked: keep}}
			}
			want := results(t, path, options(false))
			for range 2 {
				if got := results(t, path, options(true)); got != want {
					t.Errorf("%s with %v: other results when they are kept", name, list)
				}
			}
		}
	}
}
