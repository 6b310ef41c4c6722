package bpe_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/testweights"
	"github.com/attn-go/attn/models/tokenizer/bpe"
)

// config returns the vocabulary of the model with another rule.
func config(t *testing.T, pre string) bpe.Config {
	t.Helper()
	f, err := gguf.Open(testweights.Path(t, testweights.SmolLM2))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tokens, err1 := f.Strings("tokenizer.ggml.tokens")
	merges, err2 := f.Strings("tokenizer.ggml.merges")
	kinds, err3 := f.Ints("tokenizer.ggml.token_type")
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	types := make([]bpe.Type, len(kinds))
	for i, k := range kinds {
		types[i] = bpe.Type(k)
	}
	return bpe.Config{Tokens: tokens, Types: types, Merges: merges, Pre: pre, WholePieces: pre == "llama-bpe"}
}

// The ids of random strings, with characters of all categories, are those of the reference
// implementation by every rule, see ../testdata/strings-bpe.py.
func TestStrings(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "testdata", "strings-bpe.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Pre, Text string
		IDs       []int32
		IDsPlain  []int32 `json:"ids_plain"`
	}
	if err := json.Unmarshal(data, &rows); err != nil {
		t.Fatal(err)
	}
	rules := map[string]*bpe.Tokenizer{}
	for _, x := range rows {
		tok := rules[x.Pre]
		if tok == nil {
			if tok, err = bpe.New(config(t, x.Pre)); err != nil {
				t.Fatal(err)
			}
			rules[x.Pre] = tok
		}
		if got := tok.Encode(x.Text, true); !slices.Equal(got, x.IDs) {
			t.Errorf("%s: %q: got ids %v, want %v", x.Pre, x.Text, got, x.IDs)
		}
		if got := tok.Encode(x.Text, false); !slices.Equal(got, x.IDsPlain) {
			t.Errorf("%s: %q without special tokens: got ids %v, want %v", x.Pre, x.Text, got, x.IDsPlain)
		}
	}
	if len(rules) != 4 {
		t.Errorf("strings for %d rules, want 4", len(rules))
	}
}
