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
	"github.com/attn-go/attn/models/internal/ggufwriter"
	"github.com/attn-go/attn/models/internal/tinyfolders"
	"github.com/attn-go/attn/models/precision"
)

func tinyFolder(name string) string { return filepath.Join(filepath.Dir(tinyFolders), name) }

// TestEmbedderErrors: a model of embeddings does not generate, and one that generates has no
// pooling.
func TestEmbedderErrors(t *testing.T) {
	var bad *kernel.Error
	if _, err := Load(tinyFolder("embeddinggemma-2"), Options{}); !errors.As(err, &bad) || bad.Arg() != "use_bidirectional_attention" || !strings.Contains(bad.Want, "LoadEmbedder") {
		t.Errorf("a model of embeddings: %v", err)
	}
	if _, err := LoadEmbedder(tinyFolder("qwen3-2"), embedding.LoadOptions{}); !errors.As(err, &bad) || !strings.HasPrefix(bad.Where, "modules.json: ") {
		t.Errorf("a model that generates: %v", err)
	}
	var option *kernel.Error
	for _, o := range []embedding.LoadOptions{{Precision: precision.Int8}, {Context: -1}} {
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
	var arg *kernel.Error
	for want, o := range map[string]embedding.Options{
		"Options.Dimensions": {Dimensions: e.Width() + 1}, "Options.Prompt": {Prompt: "none"}, "Options.Overlap": {Split: true, Overlap: 126}, "Options.Threads": {Exec: kernel.Exec{Threads: -1}},
	} {
		if _, err := e.With(o).Embed(t.Context(), []string{text}); !errors.As(err, &arg) || arg.Arg() != want {
			t.Errorf("%+v: %v", o, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Embed(ctx, []string{text}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}

// TestEmbedderGGUF: a GGUF file has the ids and the bits of the folder that it was made of; see
// gguf.py in testdata/tiny.
func TestEmbedderGGUF(t *testing.T) {
	for _, name := range []string{"embeddinggemma-2", "qwen3-embedding-2"} {
		want, err := LoadEmbedder(tinyFolder(name), embedding.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := LoadEmbedder(filepath.Join(filepath.Dir(tinyFolders), "gguf", name+".gguf"), embedding.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r := readTiny(t, tinyFolder(name))
		a, err := got.EmbedTokens(t.Context(), r.IDs)
		if err != nil {
			t.Fatal(err)
		}
		b, err := want.EmbedTokens(t.Context(), r.IDs)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range r.Texts {
			// The expression of make.py splits a space and a quote, which Qwen 2's, for which the
			// file stands, does not.
			if ids := got.Tokens(text); !strings.Contains(text, ` "`) && !slices.Equal(ids, r.IDs[i]) {
				t.Errorf("%s: %q: ids %v, want %v", name, text, ids, r.IDs[i])
			}
			sameBits(t, name, a[i], b[i])
		}
	}
}

// TestInspectBothWays: what would not load has a problem.
func TestInspectBothWays(t *testing.T) {
	dir := copied(t, "qwen3-2")
	tinyfolders.SetKey(t, dir, "is_causal", false)
	file := ggufwriter.Read(t, filepath.Join(filepath.Dir(tinyFolders), "gguf", "qwen3-embedding-2.gguf"))
	file.Set("qwen3.attention.causal", false)
	for _, path := range []string{dir, file.Write(t, t.TempDir(), "model", 1)} {
		v, err := inspect(path, generates)
		if err != nil || len(v.Problems) != 1 || !strings.Contains(v.Problems[0].Error(), "LoadEmbedder") {
			t.Errorf("%s: %v, %v", path, v, err)
		}
	}
}

// TestBothWays: attention.causal of a GGUF file means what is_causal of a folder does: other
// vectors than with true.
func TestBothWays(t *testing.T) {
	vectors := func(path string) []float32 {
		t.Helper()
		e, err := LoadEmbedder(path, embedding.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		x, err := e.Embed(t.Context(), []string{"The cat sits on the mat."})
		if err != nil {
			t.Fatal(err)
		}
		return x[0]
	}
	dir := copied(t, "qwen3-embedding-2")
	causal := vectors(dir)
	tinyfolders.SetKey(t, dir, "is_causal", false)
	want := vectors(dir)
	if slices.Equal(want, causal) {
		t.Error("is_causal false changes nothing")
	}
	file := ggufwriter.Read(t, filepath.Join(filepath.Dir(tinyFolders), "gguf", "qwen3-embedding-2.gguf"))
	file.Set("tokenizer.ggml.add_eos_token", false) // as the folder has it
	file.Set("qwen3.attention.causal", true)
	sameBits(t, "attention.causal true", vectors(file.Write(t, t.TempDir(), "model", 1)), causal)
	file.Set("qwen3.attention.causal", false)
	sameBits(t, "attention.causal false", vectors(file.Write(t, t.TempDir(), "model", 1)), want)
}
