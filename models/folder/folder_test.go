package folder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/safetensors"
)

// put writes files: text, or tensors of one number each.
func put(t *testing.T, dir, name, text string, tensors ...string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if tensors == nil {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	var all []safetensors.Tensor
	for i, tensor := range tensors {
		all = append(all, safetensors.Tensor{Name: tensor, Shape: []int{1}, Data: []float32{float32(i)}})
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := safetensors.Write(f, nil, all); err != nil {
		t.Fatal(err)
	}
}

// TestOpen: one file or shards have the same tensors, old names are known, and what nobody asks for
// is reported.
func TestOpen(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	put(t, one, single, "", "a.LayerNorm.gamma", "b.beta", "c")
	put(t, two, "first.safetensors", "", "a.LayerNorm.gamma")
	put(t, two, "second.safetensors", "", "b.beta", "c")
	put(t, two, index, `{"weight_map": {"a.LayerNorm.gamma": "first.safetensors", "c": "second.safetensors", "b.beta": "second.safetensors"}}`)
	for _, dir := range []string{one, two} {
		f, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got := f.Names(); !slices.Equal(got, []string{"a.LayerNorm.weight", "b.beta", "c"}) {
			t.Errorf("tensors %q", got)
		}
		if _, err := f.Float32("a.LayerNorm.weight", 1); err != nil {
			t.Error(err)
		}
		var bad *Error
		if err := f.Unused(); !errors.As(err, &bad) || bad.Name != "b.beta" || !strings.Contains(bad.Got, "1 more") {
			t.Errorf("tensors that are not used: %v", err)
		}
		if _, err := f.Float32("c", 2); !errors.As(err, &bad) || bad.Got != "F32 [1]" || bad.Want != "F32, F16 or BF16 [2]" {
			t.Errorf("another shape: %v", err)
		}
		if _, err := f.Uint16("c", 1); !errors.As(err, &bad) || bad.Want != "F16 or BF16 [1]" {
			t.Errorf("another type: %v", err)
		}
		if f.Use("none") || !f.Use("b.beta") || !f.Use("c") || f.Unused() != nil {
			t.Errorf("all are used: %v", f.Unused())
		}
	}
}

// TestOpenErrors: folders that cannot be read say why.
func TestOpenErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		put  func(dir string)
		want string
	}{
		{"bin", func(dir string) { put(t, dir, "pytorch_model.bin", "") }, "save_pretrained"},
		{"two", func(dir string) {
			put(t, dir, single, "", "a")
			put(t, dir, index, `{"weight_map": {"a": "model.safetensors"}}`)
		}, "one of both"},
		{"outside", func(dir string) { put(t, dir, index, `{"weight_map": {"a": "../a.safetensors"}}`) }, "a file of the folder"},
		{"none", func(dir string) { put(t, dir, index, `{}`) }, "weight_map"},
		{"other", func(dir string) {
			put(t, dir, "x.safetensors", "", "a", "b")
			put(t, dir, index, `{"weight_map": {"a": "x.safetensors"}}`)
		}, "the 1 that"},
		{"twice", func(dir string) { put(t, dir, single, "", "LayerNorm.gamma", "LayerNorm.weight") }, "two tensors"},
	} {
		dir := t.TempDir()
		c.put(dir)
		_, err := Open(dir)
		var bad *Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder: %v", err)
	}
	dir := t.TempDir()
	put(t, dir, index, `{"weight_map": {"a": "x.safetensors"}}`)
	if _, err := Open(dir); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "x.safetensors") {
		t.Errorf("a shard is missing: %v", err)
	}
}

const (
	transformer = `{"path": "", "type": "sentence_transformers.models.Transformer"}`
	poolingAt   = `{"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}`
	denseAt     = `{"path": "2_Dense", "type": "sentence_transformers.base.modules.dense.Dense"}`
	normalizeAt = `{"path": "3_Normalize", "type": "sentence_transformers.models.Normalize"}`
)

// TestModules reads all modules that are known.
func TestModules(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "modules.json", "["+transformer+","+poolingAt+","+denseAt+","+normalizeAt+"]")
	put(t, dir, "1_Pooling/config.json", `{"word_embedding_dimension": 3, "pooling_mode_cls_token": false, "pooling_mode_lasttoken": true}`)
	put(t, dir, "2_Dense/config.json", `{"in_features": 3, "out_features": 2, "bias": false, "activation_function": "torch.nn.modules.linear.Identity"}`)
	put(t, dir, "sentence_bert_config.json", `{"max_seq_length": 9, "do_lower_case": false}`)
	put(t, dir, "config_sentence_transformers.json", `{"prompts": {"query": "q: ", "document": ""}, "default_prompt_name": "query", "similarity_fn_name": "cosine"}`)
	m, err := ReadModules(dir)
	if err != nil {
		t.Fatal(err)
	}
	if m.Pooling != Last || len(m.After) != 2 || *m.After[0].Dense != (Dense{"2_Dense", 3, 2, false, ""}) || m.After[1].Dense != nil {
		t.Errorf("got %+v", m)
	}
	if m.MaxTokens != 9 || m.Prompts["query"] != "q: " || m.DefaultPrompt != "query" || m.Similarity != "cosine" || !m.Listed {
		t.Errorf("got %+v", m)
	}
	if m, err := ReadModules(t.TempDir()); err != nil || m.Pooling != Mean || m.Listed || m.After != nil {
		t.Errorf("no files: %+v, %v", m, err)
	}
}

// TestModulesErrors: what is not known is an error, and so is a file that is missing.
func TestModulesErrors(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"pooling_mode_mean_sqrt_len_tokens": {"1_Pooling/config.json": `{"pooling_mode_mean_sqrt_len_tokens": true}`},
		"2 modes":                           {"1_Pooling/config.json": `{"pooling_mode_cls_token": true, "pooling_mode_max_tokens": true}`},
		"0 modes":                           {"1_Pooling/config.json": `{}`},
		"include_prompt":                    {"1_Pooling/config.json": `{"pooling_mode_cls_token": true, "include_prompt": false}`},
		"models.LSTM":                       {"modules.json": "[" + transformer + "," + poolingAt + `, {"type": "sentence_transformers.models.LSTM"}]`, "1_Pooling/config.json": `{"pooling_mode": "mean"}`},
		"1_Pooling":                         {"modules.json": "[" + transformer + "," + poolingAt + "]"},
		"module 0":                          {"modules.json": "[" + poolingAt + "," + transformer + "]"},
		"Transformer and Pooling at least":  {"modules.json": "[" + transformer + "]"},
		"do_lower_case":                     {"sentence_bert_config.json": `{"do_lower_case": true}`},
		"max_seq_length":                    {"sentence_bert_config.json": `{"max_seq_length": 1}`},
		"default_prompt_name":               {"config_sentence_transformers.json": `{"default_prompt_name": "query"}`},
		"in_features":                       {"modules.json": "[" + transformer + "," + poolingAt + "," + denseAt + "]", "1_Pooling/config.json": `{"pooling_mode": "mean"}`, "2_Dense/config.json": `{"out_features": 2}`},
	} {
		dir := t.TempDir()
		for file, text := range files {
			put(t, dir, file, text)
		}
		if _, err := ReadModules(dir); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestModulePaths: a module lies in the folder of the model or below it.
func TestModulePaths(t *testing.T) {
	for path, fits := range map[string]bool{"1_Pooling": true, "../1_Pooling": false, "/tmp": false, "1_Pooling/../../x": false} {
		dir := t.TempDir()
		list := `[{"path":"","type":"a.Transformer"},{"path":"` + path + `","type":"a.Pooling"}]`
		if err := os.WriteFile(filepath.Join(dir, "modules.json"), []byte(list), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := ReadModules(dir)
		if bad, ok := errors.AsType[*Error](err); (ok && bad.Name == "module 1") == fits {
			t.Errorf("%s: %v", path, err)
		}
	}
}
