package wordpiece_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/attn-go/attn/models/internal/references"
	"github.com/attn-go/attn/models/internal/testweights"
	"github.com/attn-go/attn/models/tokenizer/wordpiece"
)

const limit = 256 // of sentence-transformers for this model

func load(t testing.TB) *wordpiece.Tokenizer {
	t.Helper()
	tok, err := wordpiece.Load(testweights.Path(t, testweights.MiniLM))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

type text struct {
	Text string
	IDs  []int32
}

func readTexts(t *testing.T, path string) []text {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var f struct{ Texts []text }
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(path, err)
	}
	if len(f.Texts) == 0 {
		t.Fatalf("%s has no texts", path)
	}
	return f.Texts
}

func checkTexts(t *testing.T, tok *wordpiece.Tokenizer, path string) {
	t.Helper()
	for _, x := range readTexts(t, path) {
		if got := tok.Encode(x.Text, limit); !slices.Equal(got, x.IDs) {
			t.Errorf("%s: %q: got ids %v, want %v", path, x.Text, got, x.IDs)
		}
	}
}

// The ids are those of the given references, and of those in the folder of -refs.
func TestReferences(t *testing.T) {
	tok := load(t)
	checkTexts(t, tok, filepath.Join("..", "..", "testdata", "minilm", "embeddings.json"))
	dir := references.Folder("")
	if dir == "" {
		return
	}
	path := filepath.Join(dir, "embeddings.json")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("NOT RUN: the ids of %s: there is no embeddings.json", dir)
	}
	checkTexts(t, tok, path)
}
