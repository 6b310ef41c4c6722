package encoder

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/internal/settings"
)

// TestLong: CountTokens tells which texts are cut, and RefuseLong makes these an error.
func TestLong(t *testing.T) {
	e := loadSmall(t, newSmall(""), "F32") // sees 8 tokens
	for text, want := range map[string]int{"": 2, "a b c": 5, "a b c a b c": 8, "a b c a b c a": 9, strings.Repeat("abc ", 100): 302} {
		if got := e.CountTokens(text); got != want || len(e.Tokens(text)) != min(want, 8) {
			t.Errorf("%q: %d tokens, want %d; the model sees %d", text, got, want, len(e.Tokens(text)))
		}
	}
	fits, long := "a b c a b c", "a b c a b c a b"
	same, err := e.Embed(t.Context(), []string{fits, long})
	if err != nil || !slices.Equal(same[0], same[1]) {
		t.Errorf("a text that is cut has another vector than its beginning: %v", err)
	}
	strict := e.With(Options{RefuseLong: true})
	if got, err := strict.Embed(t.Context(), []string{fits}); err != nil || !slices.Equal(got[0], same[0]) {
		t.Errorf("a text that fits: %v", err)
	}
	if _, err := strict.Embed(t.Context(), []string{fits, long}); !errors.Is(err, embedding.ErrLong) || !strings.Contains(err.Error(), "text 1: 10 tokens, want at most 8") {
		t.Errorf("a text that is too long: %v", err)
	}
}

// TestEnds: the tokens around a text have positions, however many the tokenizer puts there.
func TestEnds(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../testdata/tiny/distilbert-1")); err != nil {
		t.Fatal(err)
	}
	edit(t, filepath.Join(dir, configName), `"max_position_embeddings": 160`, `"max_position_embeddings": 2`)
	var bad *kernel.Error
	if _, err := Load(dir, LoadOptions{}); !errors.As(err, &bad) || bad.Arg() == "max_position_embeddings" { // but the table
		t.Errorf("two tokens around a text, and two positions: %v", err)
	}
	const first = `{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, `
	edit(t, filepath.Join(dir, "tokenizer.json"), `"single": [`, `"single": [`+first)
	if _, err := Load(dir, LoadOptions{}); !errors.As(err, &bad) || bad.Arg() != "max_position_embeddings" || bad.Got != "2 positions of tokens" {
		t.Errorf("three tokens around a text, and two positions: %v", err)
	}
}

// edit puts a text in place of the first of another one in a file.
func edit(t *testing.T, path, old, text string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil && !strings.Contains(string(data), old) {
		err = errors.New("no " + old)
	}
	if err = errors.Join(err, os.WriteFile(path, []byte(strings.Replace(string(data), old, text, 1)), 0o666)); err != nil {
		t.Fatal(path, err)
	}
}

// TestApart: a text of DeBERTa has no more tokens than a bias of each pair has memory for, whatever
// max_seq_length says.
func TestApart(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../testdata/tiny/reranker-deberta-6")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sentence_bert_config.json"), []byte(`{"max_seq_length": 1048576}`), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := LoadReranker(dir, LoadOptions{})
	if err != nil || r.MaxTokens() != settings.MostApart {
		t.Errorf("%d tokens, want %d (%v)", r.MaxTokens(), settings.MostApart, err)
	}
}
