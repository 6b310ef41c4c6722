package static

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/internal/references"
	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
	"github.com/attn-go/attn/models/safetensors"
)

const tiny = "../testdata/tiny/"

// goldens are the sha256 of the bits of the vectors of models of testdata/tiny.
var goldens = map[string]string{
	"model2vec-1": "9395e02c166acd9c806e60957d646099cb7dc0a240de5c371077b65311112977",
	"model2vec-2": "6285f580cf69f7e967053e4cf97b77414d8e526fb4bc2cb6b20d8ce1548c111c",
}

// A refs is refs.json, which embedders.py writes.
type refs struct {
	Kind  string
	Texts []string
	IDs   [][]int32
}

func readRefs(t *testing.T, dir string) (r refs) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "refs.json"))
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestReferences compares ids and vectors with model2vec's: from testdata, or from the folder of
// -refs.
func TestReferences(t *testing.T) {
	if dir := references.Folder(""); dir != "" {
		if _, err := os.Stat(filepath.Join(dir, "refs.json")); err != nil || readRefs(t, dir).Kind != "static" {
			t.Skip("references of another kind of model")
		}
		compare(t, dir)
		return
	}
	for name := range goldens {
		compare(t, tiny+name)
	}
}

// compare allows 1.5 times the rms error of numpy in float32 against float64, over all texts.
func compare(t *testing.T, dir string) {
	r := readRefs(t, dir)
	e, err := Load(dir, embedding.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Open(filepath.Join(dir, "refs.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	vectors, err := e.Embed(t.Context(), r.Texts)
	if err != nil || len(vectors) == 0 {
		t.Fatal(err)
	}
	ours, theirs := 0.0, 0.0
	for i, text := range r.Texts {
		if ids := e.Tokens(text); !slices.Equal(ids, r.IDs[i]) {
			t.Errorf("%s: %q: ids %d, want %d", dir, text, ids, r.IDs[i])
		}
		name := fmt.Sprintf("%d.embedding", i)
		want, err := f.Float32(name)
		if err != nil || len(want) != len(vectors[i]) {
			t.Fatalf("%s: %d numbers, want %d (%v)", name, len(vectors[i]), len(want), err)
		}
		rms, err := f.Float32(name + ".error")
		if err != nil {
			t.Fatal(err)
		}
		for j, x := range want {
			d := float64(vectors[i][j]) - float64(x)
			ours += d * d / float64(len(want))
		}
		theirs += float64(rms[1]) * float64(rms[1])
	}
	t.Logf("%s: the rms error is %.3g times that of model2vec", dir, math.Sqrt(ours/theirs))
	if !(ours <= 1.5*1.5*theirs) {
		t.Errorf("%s: the rms error is %.3g times that of model2vec, want at most 1.5", dir, math.Sqrt(ours/theirs))
	}
}

// TestGolden expects the same bits on every tier and architecture.
func TestGolden(t *testing.T) {
	for name, want := range goldens {
		e, err := Load(tiny+name, embedding.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, tier := range kernel.Tiers() {
			vectors, err := e.With(embedding.Options{Exec: kernel.Exec{Tier: tier}}).EmbedTokens(t.Context(), readRefs(t, tiny+name).IDs)
			if err != nil {
				t.Fatal(err)
			}
			h := sha256.New()
			for _, v := range vectors {
				for _, x := range v {
					binary.Write(h, binary.LittleEndian, math.Float32bits(x))
				}
			}
			if got := hex.EncodeToString(h.Sum(nil)); got != want {
				t.Errorf("%s, %s: vectors have the hash %s, want %s", name, tier, got, want)
			}
		}
	}
}

// TestEmpty: a text without known tokens has zeros.
func TestEmpty(t *testing.T) {
	e, err := Load(tiny+"model2vec-1", embedding.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := e.Embed(t.Context(), []string{"", "a"})
	if err != nil || slices.ContainsFunc(vectors[0], func(x float32) bool { return x != 0 }) || !slices.ContainsFunc(vectors[1], func(x float32) bool { return x != 0 }) {
		t.Errorf("got %v, %v", vectors, err)
	}
}

// write makes a folder of a table of three rows.
func write(t *testing.T, change func(dir string, tensors *[]safetensors.Tensor)) string {
	t.Helper()
	dir := t.TempDir()
	tensors := []safetensors.Tensor{{Name: "embedding.weight", Shape: []int{3, 2}, Data: []float32{1, 2, 3, 4, 5, 6}}}
	files := map[string]string{
		"modules.json":   `[{"path": "", "type": "sentence_transformers.models.StaticEmbedding"}]`,
		"tokenizer.json": `{"model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "a": 1, "b": 2}}, "pre_tokenizer": {"type": "BertPreTokenizer"}}`,
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if change != nil {
		change(dir, &tensors)
	}
	f, err := os.Create(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(safetensors.Write(f, nil, tensors), f.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestStaticEmbedding: a module of sentence-transformers keeps unknown words, and normalises only
// if it says so.
func TestStaticEmbedding(t *testing.T) {
	e, err := Load(write(t, nil), embedding.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := e.Embed(t.Context(), []string{"a b", "zzz"})
	if err != nil || !slices.Equal(vectors[0], []float32{4, 5}) || !slices.Equal(vectors[1], []float32{1, 2}) {
		t.Errorf("got %v, %v", vectors, err)
	}
}

// TestStaticSettings: texts are cut as tokenizer.json says or not at all, and
// config_sentence_transformers.json counts.
func TestStaticSettings(t *testing.T) {
	long := strings.Repeat("a ", 600) + strings.Repeat("b ", 600)
	vector := func(files map[string]string) []float32 {
		t.Helper()
		e, err := Load(write(t, func(dir string, _ *[]safetensors.Tensor) {
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}), embedding.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		vectors, err := e.Embed(t.Context(), []string{long})
		if err != nil {
			t.Fatal(err)
		}
		return vectors[0]
	}
	const tokens = `{"truncation": {"direction": "Right", "max_length": 300, "strategy": "LongestFirst", "stride": 0}, "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "a": 1, "b": 2}}, "pre_tokenizer": {"type": "BertPreTokenizer"}}`
	for _, c := range []struct {
		files map[string]string
		want  []float32
	}{
		{nil, []float32{4, 5}},
		{map[string]string{"tokenizer.json": tokens}, []float32{3, 4}},
		{map[string]string{"tokenizer.json": strings.Replace(tokens, "Right", "Left", 1)}, []float32{5, 6}},
		{map[string]string{"config_sentence_transformers.json": `{"truncate_dim": 1}`}, []float32{4}},
	} {
		if got := vector(c.files); !slices.Equal(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.files, got, c.want)
		}
	}
}

// TestErrors: what does not fit is an error that names it.
func TestErrors(t *testing.T) {
	put := func(name, text string) func(string, *[]safetensors.Tensor) {
		return func(dir string, _ *[]safetensors.Tensor) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	add := func(x safetensors.Tensor) func(string, *[]safetensors.Tensor) {
		return func(_ string, all *[]safetensors.Tensor) { *all = append(*all, x) }
	}
	for want, change := range map[string]func(string, *[]safetensors.Tensor){
		"module 1":          put("modules.json", `[{"path": "", "type": "x.StaticEmbedding"}, {"type": "x.Dense"}]`),
		"of_ours":           put("config_sentence_transformers.json", `{"of_ours": 1}`),
		"module 0":          put("modules.json", `[{"path": "../x", "type": "x.StaticEmbedding"}]`),
		"module 0: of_ours": put("modules.json", `[{"path": "", "type": "x.StaticEmbedding", "of_ours": 1}]`),
		"extra":             add(safetensors.Tensor{Name: "extra", Shape: []int{1}, Data: []float32{1}}),
		"mapping":           add(safetensors.Tensor{Name: "mapping", Shape: []int{1}, Data: []float32{1}}),
		"weights":           add(safetensors.Tensor{Name: "weights", Shape: []int{2}, Data: []float32{1, 2}}),
		"embedding.weight": func(_ string, all *[]safetensors.Tensor) {
			(*all)[0].Shape = []int{6}
		},
		"tokenizer.json": func(_ string, all *[]safetensors.Tensor) {
			(*all)[0] = safetensors.Tensor{Name: "embeddings", Shape: []int{1, 2}, Data: []float32{1, 2}}
		},
	} {
		var bad *kernel.Error
		if _, err := Load(write(t, change), embedding.LoadOptions{}); !errors.As(err, &bad) || !strings.Contains(bad.Arg(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestConfigKeys: what model2vec writes into config.json changes nothing, and a key that is not
// known is an error.
func TestConfigKeys(t *testing.T) {
	// As model2vec 0.1 to 0.10 write it, with the keys that only some of them have.
	const all = `{"model_type": "model2vec", "architectures": ["StaticModel"], "tokenizer_name": "baai/bge-base-en-v1.5", "apply_pca": 256, "apply_zipf": null,
		"sif_coefficient": 0.0001, "hidden_dim": 256, "seq_length": 1000000, "normalize": true, "pooling": "mean", "embedding_dtype": "float32",
		"vocabulary_quantization": 3%s}`
	for _, c := range []struct{ more, key, got string }{
		{"", "", ""},
		{`, "max_length": 9, "transformers_version": "4.50.0"`, "", ""},
		{`, "token_mapping": [[0, 1]]`, "token_mapping", "[[0, 1]]"},
		{`, "Normalize": false`, "Normalize", "false"},
		{`, "is_decoder": true`, "is_decoder", "true"},
	} {
		_, err := Load(write(t, func(dir string, _ *[]safetensors.Tensor) {
			if err := os.WriteFile(filepath.Join(dir, "config.json"), fmt.Appendf(nil, all, c.more), 0o666); err != nil {
				t.Fatal(err)
			}
		}), embedding.LoadOptions{})
		bad, ok := errors.AsType[*kernel.Error](err)
		if c.key == "" && err != nil || c.key != "" && (!ok || bad.Arg() != c.key || bad.Got != c.got || !strings.Contains(bad.Where, "config.json: ")) {
			t.Errorf("%s: %v", c.more, err)
		}
	}
}

// TestMaxLength: texts are cut to max_length tokens before unknown words are dropped, as by
// model2vec 0.10, and what is no length is an error.
func TestMaxLength(t *testing.T) {
	text := strings.Repeat("☃ ", 300) + strings.Repeat("the cat ", 400)
	for value, want := range map[string]int{"": 512 - 300, "301": 1, "300": 0, "null": 800, "0": -1, `"x"`: -1, "1e9": -1} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(tiny+"model2vec-2")); err != nil {
			t.Fatal(err)
		}
		config := `{"model_type": "model2vec"}`
		if value != "" {
			config = fmt.Sprintf(`{"model_type": "model2vec", "max_length": %s}`, value)
		}
		if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o666); err != nil {
			t.Fatal(err)
		}
		e, err := Load(dir, embedding.LoadOptions{})
		if want < 0 {
			if bad, ok := errors.AsType[*kernel.Error](err); !ok || bad.Arg() != "max_length" {
				t.Errorf("max_length %s: %v", value, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := len(e.Tokens(text)); got != want {
			t.Errorf("max_length %s: %d tokens, want %d", value, got, want)
		}
	}
}

// TestPrecision: a precision that there is not is an error.
func TestPrecision(t *testing.T) {
	dir := write(t, func(string, *[]safetensors.Tensor) {})
	if _, err := Load(dir, embedding.LoadOptions{Precision: 99}); !errors.As(err, new(*kernel.Error)) {
		t.Error(err)
	}
}
