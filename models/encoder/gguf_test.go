package encoder

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/ggufwriter"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/models/reranking"
	"github.com/attn-go/attn/models/safetensors"
)

// ggufFolder has GGUF files of models of testdata/tiny, with weights of float32; see gguf.py there.
const ggufFolder = "../testdata/tiny/gguf"

// TestGGUF: a file has the ids and the bits of the folder that it was made of.
func TestGGUF(t *testing.T) {
	for _, name := range []string{"bert-1", "jina-bert-1", "nomic_bert-1", "xlm-roberta-1"} {
		dir := "../testdata/tiny/" + name
		want, err := Load(dir, LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Load(filepath.Join(ggufFolder, name+".gguf"), LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got.MaxTokens() != want.MaxTokens() || got.Width() != want.Width() || got.Vocab() != want.Vocab() {
			t.Errorf("%s: %d tokens, width %d, %d ids; want %d, %d, %d", name, got.MaxTokens(), got.Width(), got.Vocab(), want.MaxTokens(), want.Width(), want.Vocab())
		}
		r := readTiny(t, dir)
		a, err := got.EmbedTokens(t.Context(), r.IDs)
		if err != nil {
			t.Fatal(err)
		}
		b, err := want.EmbedTokens(t.Context(), r.IDs)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range r.Texts {
			// A GGUF file cannot say that a tokenizer normalises with NFKC, as this xlm-roberta's
			// does.
			if ids := got.Tokens(text); name != "xlm-roberta-1" && !slices.Equal(ids, r.IDs[i]) {
				t.Errorf("%s: %q: ids %d, want %d", name, text, ids, r.IDs[i])
			}
			if !equalBits(a[i], b[i]) {
				t.Errorf("%s: text %d has other bits", name, i)
			}
		}
	}
}

// TestGGUFReranker: so have rerankers, whose classifier is in the file.
func TestGGUFReranker(t *testing.T) {
	for _, name := range []string{"reranker-bert-1", "reranker-xlm-roberta-1"} {
		want, err := LoadReranker("../testdata/tiny/"+name, LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(ggufFolder, name+".gguf")
		got := untyped(t, path) // GGUF files do not say it: of BERT they have types, but the tokenizers of these folders give none
		passages := []string{"Hello, world!", "a b c", ""}
		a, err := got.Score(t.Context(), "The cat sits.", passages)
		if err != nil {
			t.Fatal(err)
		}
		b, err := want.Score(t.Context(), "The cat sits.", passages)
		if err != nil || !equalBits(a, b) {
			t.Errorf("%s: scores %v, want %v (%v)", name, a, b, err)
		}
		var bad *kernel.Error
		if _, err := Load(path, LoadOptions{}); !errors.As(err, &bad) || bad.Want != "an embedding model; this one is for LoadReranker" {
			t.Errorf("%s as a model of embeddings: %v", name, err)
		}
	}
	var bad *kernel.Error
	if _, err := LoadReranker(filepath.Join(ggufFolder, "bert-1.gguf"), LoadOptions{}); !errors.As(err, &bad) || bad.Got != "one without a known classifier" {
		t.Errorf("a model without a classifier: %v", err)
	}
	const table = "position_embd.weight"
	w := ggufwriter.Read(t, filepath.Join(ggufFolder, "reranker-bert-1.gguf"))
	for i := range w.Tensors {
		if x := &w.Tensors[i]; x.Name == table {
			x.Data = x.Data[:2*len(x.Data)/x.Shape[0]]
			x.Shape = []int{2, x.Shape[1]}
		}
	}
	if _, err := LoadReranker(w.Write(t, t.TempDir(), "bert", 1), LoadOptions{}); !errors.As(err, &bad) || bad.Arg() != table || bad.Got != "2 positions of tokens" {
		t.Errorf("three tokens around two texts, and two positions: %v", err)
	}
}

// untyped loads a reranker whose model is given no types of tokens.
func untyped(t *testing.T, path string) *reranking.Reranker {
	x, err := open(path, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.close()
	p, err := x.reranker(LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p.Typed = false
	return reranking.New(*p)
}

// TestGGUFExperts: a file of nomic with experts has the bits of the folder that it was made of,
// with the mean of all tokens, once that adds nothing to the sum of experts.
func TestGGUFExperts(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../testdata/tiny/nomic-moe-4")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "model.safetensors")
	f, err := safetensors.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []safetensors.Tensor
	added := 0
	for _, name := range f.Names() {
		x, err := f.Float32(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".experts.bias") {
			clear(x)
			added++
		}
		info, _ := f.Info(name)
		all = append(all, safetensors.Tensor{Name: name, Shape: info.Shape, Data: x})
	}
	var file bytes.Buffer
	err = errors.Join(safetensors.Write(&file, nil, all), os.WriteFile(path, file.Bytes(), 0o666),
		os.WriteFile(filepath.Join(dir, "1_Pooling", "config.json"), []byte(`{"word_embedding_dimension": 24, "pooling_mode": "mean"}`), 0o666))
	if err != nil || added != 2 {
		t.Fatal(added, err)
	}
	var vectors [2][][]float32
	for i, path := range []string{filepath.Join(ggufFolder, "nomic-moe-4.gguf"), dir} {
		e, err := Load(path, LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if vectors[i], err = e.EmbedTokens(t.Context(), readTiny(t, "../testdata/tiny/nomic-moe-4").IDs); err != nil {
			t.Fatal(err)
		}
	}
	for i, v := range vectors[0] {
		if !equalBits(v, vectors[1][i]) {
			t.Errorf("text %d: the file gives %v, the folder %v", i, v[:3], vectors[1][i][:3])
		}
	}
}

// FuzzGGUF: a file that is changed is a model or an error, with memory of its size.
func FuzzGGUF(f *testing.F) {
	for _, name := range []string{"bert-1", "nomic_bert-1"} {
		data, err := os.ReadFile(filepath.Join(ggufFolder, name+".gguf"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[:len(data)-len(data)%64])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := gguf.New(data)
		if err != nil {
			return
		}
		x := &origin{Store: tensors.OfGGUF(file, "f"), path: "f"}
		if x.readGGUF(file) != nil {
			return
		}
		x.read(LoadOptions{})
	})
}

// TestGGUFKeys: a key that is not known is an error, whatever its value, and so is one that is with
// another value than the one that is computed.
func TestGGUFKeys(t *testing.T) {
	w := ggufwriter.Read(t, filepath.Join(ggufFolder, "bert-1.gguf"))
	dir := t.TempDir()
	for _, c := range []struct {
		key   string
		value any
		good  bool
	}{
		{"bert.attention.head_count_kv", []int32{3, 3, 3}, true}, {"bert.rope.scaling.type", "none", true}, {"bert.logit_scale", float32(1), true}, {"general.mystery", true, true},
		{"bert.attention.causal", true, false}, {"bert.mystery", false, false}, {"bert.attention.max_alibi_bias", float32(8), false}, {"bert.rope.freq_base", float32(10000), false},
		{"bert.attention.head_count_kv", uint32(1), false}, {"bert.attention.key_length", uint32(7), false}, {"bert.feed_forward_length", []int32{40, 41, 40}, false},
	} {
		changed := ggufwriter.File{Metadata: slices.Clone(w.Metadata), Tensors: w.Tensors}
		changed.Set(c.key, c.value)
		_, err := Load(changed.Write(t, dir, "bert", 1), LoadOptions{})
		if bad, ok := errors.AsType[*kernel.Error](err); c.good && err != nil || !c.good && (!ok || bad.Arg() != c.key) {
			t.Errorf("%s %v: %v", c.key, c.value, err)
		}
	}
}
