package encoder

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/safetensors"
)

// splade returns a copy of a tiny folder with other tensors and another key of config.json.
func splade(t *testing.T, name string, tied bool, change func(all map[string]safetensors.Tensor)) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("../testdata/tiny", name))); err != nil {
		t.Fatal(err)
	}
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
		all[name] = safetensors.Tensor{Shape: info.Shape, Data: x}
	}
	f.Close()
	change(all)
	var list []safetensors.Tensor
	for name, x := range all {
		x.Name = name
		list = append(list, x)
	}
	var file bytes.Buffer
	config := map[string]any{}
	data, err := os.ReadFile(filepath.Join(dir, configName))
	if err := errors.Join(err, json.Unmarshal(data, &config), safetensors.Write(&file, nil, list), os.WriteFile(path, file.Bytes(), 0o666)); err != nil {
		t.Fatal(err)
	}
	config["tie_word_embeddings"] = tied
	data, err = json.Marshal(config)
	if err := errors.Join(err, os.WriteFile(filepath.Join(dir, configName), data, 0o666)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestWords: a head that predicts words has the matrix that the file has, or the embedding. Here
// the matrix is the embedding with the rows of words in the other order, as the bias is, so that
// each word gets the weights of another.
func TestWords(t *testing.T) {
	for name, x := range map[string]struct{ decoder, embedding, bias string }{
		"splade-4":            {"cls.predictions.decoder", "bert.embeddings.word_embeddings.weight", "cls.predictions.bias"},
		"splade-distilbert-4": {"vocab_projector", "distilbert.embeddings.word_embeddings.weight", "vocab_projector.bias"},
	} {
		var words int
		weights := func(dir string) ([]float32, error) {
			e, err := Load(dir, embedding.LoadOptions{})
			if err != nil {
				return nil, err
			}
			words = e.Vocab()
			s, err := e.SparseTokens(t.Context(), [][]int32{{2, 7, 30, 8, 3}})
			out := make([]float32, words)
			for i, id := range s[0].Tokens {
				out[id] = s[0].Weights[i]
			}
			return out, err
		}
		nothing := func(map[string]safetensors.Tensor) {}
		want, err := weights(splade(t, name, true, nothing))
		if err != nil || slices.Max(want) == 0 {
			t.Fatal(want, err)
		}
		backwards := func(x safetensors.Tensor) safetensors.Tensor {
			old := x.Data
			width := len(old) / words
			var all []float32
			for i := words - 1; i >= 0; i-- {
				all = append(all, old[i*width:][:width]...)
			}
			x.Data = all
			return x
		}
		own := func(all map[string]safetensors.Tensor) {
			all[x.decoder+".weight"] = backwards(all[x.embedding])
			all[x.bias] = backwards(all[x.bias])
		}
		other := slices.Clone(want)
		slices.Reverse(other)
		for what, c := range map[string]struct {
			tied   bool
			change func(all map[string]safetensors.Tensor)
			want   []float32 // nil: an error
		}{
			"the same twice":          {true, func(all map[string]safetensors.Tensor) { all[x.decoder+".weight"] = all[x.embedding] }, want},
			"a matrix of its own":     {false, own, other},
			"said to be tied, is not": {true, own, other},
			"no matrix":               {false, nothing, nil},
			"two biases": {true, func(all map[string]safetensors.Tensor) {
				bias := all[x.bias]
				bias.Data = slices.Clone(bias.Data)
				bias.Data[0]++
				all[x.decoder+".bias"] = bias
			}, nil},
		} {
			if what == "two biases" && x.decoder+".bias" == x.bias {
				continue
			}
			dir := splade(t, name, c.tied, c.change)
			got, err := weights(dir)
			if bad := (*kernel.Error)(nil); !slices.Equal(got, c.want) || c.want == nil && !errors.As(err, &bad) || c.want != nil && err != nil {
				t.Errorf("%s, %s: %v, %v", name, what, got, err)
			}
			if v, err := inspect(dir, false); err != nil || (len(v.Problems) > 0) != (c.want == nil) {
				t.Errorf("%s, %s: inspect: %v, %+v", name, what, err, v)
			}
		}
	}
}

// TestLateSettings: what vectors of tokens do not use is an error, in a folder and in Options.
func TestLateSettings(t *testing.T) {
	const name = "config_sentence_transformers.json"
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../testdata/tiny/colbert-4")); err != nil {
		t.Fatal(err)
	}
	e, err := Load(dir, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ids := [][]int32{e.QueryTokens("who sits?")}
	for arg, o := range map[string]Options{"Dimensions": {Dimensions: 2}, "Split": {Split: true}, "RefuseLong": {RefuseLong: true}, "Overlap": {Overlap: 1}} {
		for _, vectors := range []func(context.Context, [][]int32) ([]embedding.TokenVectors, error){e.With(o).QueryVectors, e.With(o).DocumentVectors} {
			if bad := (*kernel.Error)(nil); !errors.As(func() error { _, err := vectors(t.Context(), ids); return err }(), &bad) || bad.Where != "Options."+arg {
				t.Errorf("%s: %v", arg, bad)
			}
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	for key, more := range map[string]map[string]any{"truncate_dim": {"truncate_dim": 4}, "default_prompt_name": {"prompts": map[string]string{"a": "b"}, "default_prompt_name": "a"}} {
		config := map[string]any{}
		if err := json.Unmarshal(data, &config); err != nil {
			t.Fatal(err)
		}
		maps.Copy(config, more)
		text, err := json.Marshal(config)
		if err := errors.Join(err, os.WriteFile(filepath.Join(dir, name), text, 0o666)); err != nil {
			t.Fatal(err)
		}
		if bad := (*kernel.Error)(nil); !errors.As(func() error { _, err := Load(dir, LoadOptions{}); return err }(), &bad) || !strings.HasSuffix(bad.Where, key) {
			t.Errorf("%s: %v", key, bad)
		}
	}
}
