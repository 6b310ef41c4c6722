package tokenizer

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
	"github.com/attn-go/attn/models/tokenizer/internal/normalize"
)

func miniLM(t testing.TB) *Tokenizer {
	t.Helper()
	tok, err := Load(testweights.Path(t, testweights.MiniLM))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// smolLM2 returns the model's metadata, with another rule.
func smolLM2(t testing.TB, pre string) metadata {
	t.Helper()
	f, err := gguf.Open(testweights.Path(t, testweights.SmolLM2))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var m metadata
	m.set("model", "gpt2")
	m.set("pre", pre)
	for _, key := range []string{"tokens", "token_type", "merges"} {
		value, ok := f.Value("tokenizer.ggml." + key)
		if !ok {
			t.Fatal(key)
		}
		m.set(key, value)
	}
	m.set("add_bos_token", false)
	return m
}

func smolLM2File(t testing.TB) *Tokenizer {
	t.Helper()
	f, err := gguf.Open(testweights.Path(t, testweights.SmolLM2))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tok, err := FromGGUF(f)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func readPath(t *testing.T, to any, path ...string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		t.Fatal(path, err)
	}
}

type miniLMTexts struct {
	Texts []struct {
		Text string
		IDs  []int32
	}
}

// The ids of MiniLM equal the references, for random strings with characters of all categories
// (testdata/strings-wordpiece.py), and the ones in the folder of -refs.
func TestMiniLM(t *testing.T) {
	tok := miniLM(t)
	paths := []string{filepath.Join("..", "testdata", "minilm", "embeddings.json"), filepath.Join("testdata", "strings-wordpiece.json")}
	if dir := references.Folder(""); dir != "" {
		if path := filepath.Join(dir, "embeddings.json"); exists(path) {
			paths = append(paths, path)
		}
	}
	for _, path := range paths {
		var f miniLMTexts
		readPath(t, &f, path)
		if len(f.Texts) == 0 {
			t.Fatalf("%s has no texts", path)
		}
		for _, x := range f.Texts {
			// The limit is sentence-transformers' for this model.
			if got := tok.Encode(x.Text, Options{Limit: 256}); !slices.Equal(got, x.IDs) {
				t.Errorf("%s: %q: got ids %v, want %v", path, x.Text, got, x.IDs)
			}
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// The ids of SmolLM2's vocabulary equal the reference implementation's for random strings with
// characters of all categories, by every rule (testdata/strings-bpe.py).
func TestRules(t *testing.T) {
	var rows []struct {
		Pre, Text string
		IDs       []int32
		IDsPlain  []int32 `json:"ids_plain"`
	}
	readPath(t, &rows, "testdata", "strings-bpe.json")
	rules := map[string]*Tokenizer{}
	for _, x := range rows {
		if x.Pre == "qwen2" {
			x.Pre = "stablelm2" // the same without NFC, as the references are
		}
		tok := rules[x.Pre]
		if tok == nil {
			tok = fromMetadata(t, smolLM2(t, x.Pre))
			rules[x.Pre] = tok
		}
		if got := tok.Encode(x.Text, Options{}); !slices.Equal(got, x.IDs) {
			t.Errorf("%s: %q: got ids %v, want %v", x.Pre, x.Text, got, x.IDs)
		}
		if got := tok.Encode(x.Text, Options{Plain: true}); !slices.Equal(got, x.IDsPlain) {
			t.Errorf("%s: %q without special tokens: got ids %v, want %v", x.Pre, x.Text, got, x.IDsPlain)
		}
	}
	if len(rules) != 4 {
		t.Errorf("strings for %d rules, want 4", len(rules))
	}
}

// The ids and texts of SmolLM2 equal the references, and the ones in the folder of -refs.
func TestSmolLM2(t *testing.T) {
	tok := smolLM2File(t)
	paths := []string{filepath.Join("..", "testdata", "smollm2", "tokens.json")}
	if dir := references.Folder(""); dir != "" {
		if path := filepath.Join(dir, "tokens.json"); exists(path) {
			paths = append(paths, path)
		}
	}
	for _, path := range paths {
		var f struct {
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
		readPath(t, &f, path)
		if len(f.Strings) == 0 || len(f.Decode) == 0 {
			t.Fatalf("%s has %d strings and %d lists of ids to decode", path, len(f.Strings), len(f.Decode))
		}
		check := func(what string, got, want any) {
			if s, ok := got.(string); ok && s != want.(string) {
				t.Errorf("%s: %s: got %q, want %q", path, what, got, want)
			}
			if ids, ok := got.([]int32); ok && !slices.Equal(ids, want.([]int32)) {
				t.Errorf("%s: %s: got %v, want %v", path, what, got, want)
			}
		}
		for _, x := range f.Strings {
			check(x.Text, tok.Encode(x.Text, Options{}), x.IDs)
			check(x.Text+" plain", tok.Encode(x.Text, Options{Plain: true}), x.IDsPlain)
			check(x.Text+" decoded", tok.Decode(x.IDsPlain, true), x.Decoded)
		}
		for _, x := range f.Decode {
			bytes, _ := hex.DecodeString(x.Bytes)
			check("text", tok.Decode(x.IDs, true), x.Text)
			check("text of bytes", normalize.Valid(string(bytes)), x.Text)
			check("without special tokens", tok.Decode(x.IDs, false), x.WithoutSpecial)
		}
	}
}
