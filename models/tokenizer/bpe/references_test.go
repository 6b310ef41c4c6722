package bpe_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/references"
	"github.com/attn-go/attn/models/internal/testweights"
	"github.com/attn-go/attn/models/tokenizer/bpe"
)

func load(t testing.TB) *bpe.Tokenizer {
	t.Helper()
	f, err := gguf.Open(testweights.Path(t, testweights.SmolLM2))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tok, err := bpe.FromGGUF(f)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

type tokens struct {
	Strings []struct {
		Text, Decoded string
		IDs           []int32
		IDsPlain      []int32 `json:"ids_plain"`
	}
	Decode []struct {
		IDs            []int32
		Bytes, Text    string
		WithoutSpecial string `json:"text_without_special"`
	}
}

// The ids are those of the given references, and of those in the folder of -refs.
func TestReferences(t *testing.T) {
	tok := load(t)
	checkTokens(t, tok, filepath.Join("..", "..", "testdata", "smollm2", "tokens.json"))
	dir := references.Folder("")
	if dir == "" {
		return
	}
	path := filepath.Join(dir, "tokens.json")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("NOT RUN: the ids of %s: there is no tokens.json", dir)
	}
	checkTokens(t, tok, path)
}

func checkTokens(t *testing.T, tok *bpe.Tokenizer, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var f tokens
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(path, err)
	}
	if len(f.Strings) == 0 || len(f.Decode) == 0 {
		t.Fatalf("%s has %d strings and %d lists of ids to decode", path, len(f.Strings), len(f.Decode))
	}
	for _, x := range f.Strings {
		if got := tok.Encode(x.Text, true); !slices.Equal(got, x.IDs) {
			t.Errorf("%s: %q: got ids %v, want %v", path, x.Text, got, x.IDs)
		}
		if got := tok.Encode(x.Text, false); !slices.Equal(got, x.IDsPlain) {
			t.Errorf("%s: %q without special tokens: got ids %v, want %v", path, x.Text, got, x.IDsPlain)
		}
		if got := tok.Text(x.IDsPlain, true); got != x.Decoded {
			t.Errorf("%s: %v: got text %q, want %q", path, x.IDsPlain, got, x.Decoded)
		}
	}
	for _, x := range f.Decode {
		if got := hex.EncodeToString(tok.Decode(x.IDs)); got != x.Bytes {
			t.Errorf("%s: %v: got bytes %s, want %s", path, x.IDs, got, x.Bytes)
		}
		if got := tok.Text(x.IDs, true); got != x.Text {
			t.Errorf("%s: %v: got text %q, want %q", path, x.IDs, got, x.Text)
		}
		if got := tok.Text(x.IDs, false); got != x.WithoutSpecial {
			t.Errorf("%s: %v without special tokens: got text %q, want %q", path, x.IDs, got, x.WithoutSpecial)
		}
	}
}
