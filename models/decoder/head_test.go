package decoder

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/internal/tinyfolders"
	"github.com/attn-go/attn/models/internal/tinyllama"
	"github.com/attn-go/attn/models/safetensors"
)

const embedTokens, lmHead = "model.embed_tokens.weight", "lm_head.weight"

// retensored writes the tensors of a folder again, after change.
func retensored(t *testing.T, dir string, change func(all map[string]safetensors.Tensor)) {
	t.Helper()
	path, all := filepath.Join(dir, "model.safetensors"), map[string]safetensors.Tensor{}
	f, err := safetensors.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range f.Names() {
		info, _ := f.Info(name)
		x, err := f.Float32(name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = safetensors.Tensor{Name: name, Shape: info.Shape, Data: x}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	change(all)
	var list []safetensors.Tensor
	for name, x := range all {
		x.Name = name
		list = append(list, x)
	}
	var file bytes.Buffer
	if err := safetensors.Write(&file, nil, list); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, file.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestHead: where tie_word_embeddings and the tensors do not agree, what transformers takes counts,
// and a folder whose logits nobody can know is an error. Without the key it is false for llama.
func TestHead(t *testing.T) {
	logits := func(dir string) ([]float32, error) {
		m, err := Load(dir, Options{})
		if err != nil {
			return nil, err
		}
		s := session(t, m, 1, 20)
		return forward(t, s, Step{Text: s.NewText(), Tokens: prompt(20, 1), Logits: LogitsAll})[0], nil
	}
	own, err := logits(tinyFolder("llama-2"))
	if err != nil {
		t.Fatal(err)
	}
	same := copied(t, "llama-2")
	retensored(t, same, func(all map[string]safetensors.Tensor) { all[lmHead] = all[embedTokens] })
	tied, err := logits(same)
	if err != nil {
		t.Fatal(err)
	}
	nothing := func(map[string]safetensors.Tensor) {}
	for _, x := range []struct {
		name   string
		tie    any // nil: no such key
		change func(all map[string]safetensors.Tensor)
		want   []float32 // nil: an error
	}{
		{"false, a head", false, nothing, own},
		{"no key, a head", nil, nothing, own},
		{"true, a head of other numbers", true, nothing, own},
		{"true, the same twice", true, func(all map[string]safetensors.Tensor) { all[lmHead] = all[embedTokens] }, tied},
		{"true, no head", true, func(all map[string]safetensors.Tensor) { delete(all, lmHead) }, tied},
		{"true, by the name of the head alone", true, func(all map[string]safetensors.Tensor) {
			all[lmHead] = all[embedTokens]
			delete(all, embedTokens)
		}, tied},
		{"false, no head", false, func(all map[string]safetensors.Tensor) { delete(all, lmHead) }, nil},
		{"no key, no head", nil, func(all map[string]safetensors.Tensor) { delete(all, lmHead) }, nil},
	} {
		dir := copied(t, "llama-2")
		tinyfolders.SetKey(t, dir, "tie_word_embeddings", x.tie)
		retensored(t, dir, x.change)
		got, err := logits(dir)
		v, inspectErr := inspect(dir, generates)
		if inspectErr != nil {
			t.Fatal(inspectErr)
		}
		if x.want == nil {
			if e := (*kernel.Error)(nil); !errors.As(err, &e) || e.Arg() != "tie_word_embeddings" {
				t.Errorf("%s: got %v, want an error of tie_word_embeddings", x.name, err)
			}
			if len(v.Problems) != 1 {
				t.Errorf("%s: inspect finds %v, want that error", x.name, v.Problems)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		sameBits(t, x.name, got, x.want)
		if len(v.Problems) != 0 {
			t.Errorf("%s: inspect finds %v", x.name, v.Problems)
		}
	}
}

// TestHeadOfEmbedder: an embedder computes no logits, and its folder needs no head, whatever
// the key says.
func TestHeadOfEmbedder(t *testing.T) {
	var want [][]float32
	for _, tie := range []any{false, true, nil} {
		dir := copied(t, "qwen3-embedding-2")
		tinyfolders.SetKey(t, dir, "tie_word_embeddings", tie)
		e, err := LoadEmbedder(dir, embedding.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.Embed(t.Context(), []string{"a cat"})
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		sameBits(t, "a vector", got[0], want[0])
	}
}

// TestHeadOfFile: an embedder of a GGUF file does not keep an output matrix either, and does not
// need its scales.
func TestHeadOfFile(t *testing.T) {
	memory := func(change func(f *tinyllama.File)) int64 {
		f := tinyllama.New(nil)
		f.Set("llama.pooling_type", uint32(3))
		change(f)
		v, err := inspect(f.Write(t), embeds)
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Problems) != 0 {
			t.Error(v.Problems)
		}
		return v.Memory
	}
	want := memory(func(*tinyllama.File) {})
	if got := memory(func(f *tinyllama.File) {
		f.Matrix("output.weight", tinyVocab, tinyWidth)
		f.Vector("output.scale", 1)
		f.Vector("output.input_scale", 1)
	}); got != want {
		t.Errorf("%d bytes with an output matrix, want %d", got, want)
	}
}

// TestNamesOfFiles: tensors of a folder are not known by the names that GGUF files have.
func TestNamesOfFiles(t *testing.T) {
	for name, shape := range map[string][]int{
		"rope_freqs.weight": {4}, "blk.0.attn_qkv.weight": {24, 8}, "blk.0.ffn_gate_up.weight": {200, 8},
	} {
		dir := copied(t, "llama-2")
		retensored(t, dir, func(all map[string]safetensors.Tensor) {
			n := 1
			for _, size := range shape {
				n *= size
			}
			all[name] = safetensors.Tensor{Shape: shape, Data: make([]float32, n)}
		})
		_, err := Load(dir, Options{})
		if e := (*kernel.Error)(nil); !errors.As(err, &e) || !strings.Contains(e.Where, name) || e.Want != "only tensors that this architecture is known to have" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
