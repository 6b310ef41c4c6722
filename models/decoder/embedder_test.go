package decoder

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
)

func tinyFolder(name string) string { return filepath.Join(filepath.Dir(tinyFolders), name) }

// TestEmbedderErrors: a model of embeddings does not generate, and one that generates has no pooling.
func TestEmbedderErrors(t *testing.T) {
	var bad *ConfigError
	if _, err := Load(tinyFolder("embeddinggemma-2"), Options{}); !errors.As(err, &bad) || bad.Key != "use_bidirectional_attention" || !strings.Contains(bad.Want, "LoadEmbedder") {
		t.Errorf("a model of embeddings: %v", err)
	}
	if _, err := LoadEmbedder(tinyFolder("qwen3-2"), embedding.LoadOptions{}); !errors.As(err, &bad) || bad.File != "modules.json" {
		t.Errorf("a model that generates: %v", err)
	}
	var option *OptionError
	for _, o := range []embedding.LoadOptions{{Int8: true}, {Context: -1}} {
		if _, err := LoadEmbedder(tinyFolder("embeddinggemma-2"), o); !errors.As(err, &option) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestEmbedderOptions: texts with a prompt, fewer dimensions, texts that are cut or split.
func TestEmbedderOptions(t *testing.T) {
	e, err := LoadEmbedder(tinyFolder("embeddinggemma-2"), embedding.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text := "Café in the morning"
	prompted, err := e.With(embedding.Options{Prompt: "query"}).Embed(t.Context(), []string{text})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := e.Embed(t.Context(), []string{e.Prompts()["query"] + text, text})
	if err != nil || !slices.Equal(prompted[0], whole[0]) || slices.Equal(whole[0], whole[1]) {
		t.Errorf("the prompt is not that of the text: %v", err)
	}
	few, err := e.With(embedding.Options{Dimensions: 5}).Embed(t.Context(), []string{text})
	if err != nil || len(few[0]) != 5 {
		t.Fatalf("5 dimensions: %v, %v", few, err)
	}
	length := 0.0
	for i, x := range few[0] {
		length += float64(x) * float64(x)
		if r := float64(x) / float64(whole[1][i]) / (float64(few[0][0]) / float64(whole[1][0])); math.Abs(r-1) > 1e-5 { // float32 rounds both
			t.Errorf("number %d is not in proportion to that of the whole vector: %v", i, r)
		}
	}
	if math.Abs(length-1) > 1e-6 { // as above
		t.Errorf("5 dimensions have the squared length %v", length)
	}
	var arg *kernel.ArgumentError
	for want, o := range map[string]embedding.Options{
		"Options.Dimensions": {Dimensions: e.Width() + 1}, "Options.Prompt": {Prompt: "none"}, "Options.Overlap": {Split: true, Overlap: 126}, "Options.Threads": {Exec: kernel.Exec{Threads: -1}},
	} {
		if _, err := e.With(o).Embed(t.Context(), []string{text}); !errors.As(err, &arg) || arg.Arg != want {
			t.Errorf("%+v: %v", o, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Embed(ctx, []string{text}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}
