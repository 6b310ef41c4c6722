package models_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/encoder"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/ggufwriter"
	"github.com/attn-go/attn/models/receipt"
)

// TestSplit: a GGUF file in several parts is the model of the whole one, and every part counts in
// its digests.
func TestSplit(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, name := range []string{"bert-1", "qwen3-embedding-2"} {
		whole := filepath.Join("testdata/tiny/gguf", name+".gguf")
		path := ggufwriter.Read(t, whole).Write(t, t.TempDir(), "m", 3)
		if want, got := vectorOf(t, whole), vectorOf(t, path); !slices.Equal(got, want) {
			t.Errorf("%s: another vector", name)
		}
		a, err := models.Inspect(whole)
		if err != nil {
			t.Fatal(err)
		}
		b, err := models.Inspect(path)
		if err != nil || len(b.Problems) > 0 || b.FileBytes != a.FileBytes || b.Kind != models.KindEmbedder {
			t.Errorf("%s: %+v, %v", name, b, err)
		}
		checkDigests(t, path)
	}
}

func vectorOf(t *testing.T, path string) []float32 {
	t.Helper()
	m, err := models.Open(path, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x, err := m.(models.Embeds).Embedder().Embed(t.Context(), []string{"The cat sits on the mat."})
	if err != nil {
		t.Fatal(err)
	}
	return x[0]
}

// checkDigests changes the last byte of each part.
func checkDigests(t *testing.T, path string) {
	parts, err := gguf.Parts(path)
	if err != nil || len(parts) != 3 {
		t.Fatal(parts, err)
	}
	seen := map[[32]byte]bool{}
	digest := func(changed int) {
		t.Helper()
		d, err := encoder.Digest(path, encoder.LoadOptions{})
		if err != nil || seen[d] {
			t.Errorf("part %d: the digest of before, %v", changed, err)
		}
		seen[d] = true
	}
	digest(-1)
	for i, part := range parts {
		before, err := receipt.Files(path, true)
		if err != nil || len(before) != 3 || before[i].Name != filepath.Base(part) {
			t.Fatal(before, err)
		}
		data, err := os.ReadFile(part)
		if err != nil {
			t.Fatal(err)
		}
		data[len(data)-1]++
		if err := os.WriteFile(part, data, 0o666); err != nil {
			t.Fatal(err)
		}
		after, err := receipt.Files(path, true)
		if err != nil {
			t.Fatal(err)
		}
		for j := range parts {
			if (before[j] != after[j]) != (i == j) {
				t.Errorf("part %d is changed: file %d was %v and is %v", i, j, before[j], after[j])
			}
		}
		digest(i)
	}
}
