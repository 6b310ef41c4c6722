package folder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
)

// put writes a file of text.
func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

const (
	transformer = `{"path": "", "type": "sentence_transformers.models.Transformer"}`
	poolingAt   = `{"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}`
	denseAt     = `{"path": "2_Dense", "type": "sentence_transformers.base.modules.dense.Dense"}`
	dropoutAt   = `{"path": "4_Dropout", "type": "sentence_transformers.models.Dropout"}`
	normAt      = `{"path": "5_LayerNorm", "type": "sentence_transformers.models.LayerNorm"}`
	normalizeAt = `{"path": "3_Normalize", "type": "sentence_transformers.models.Normalize"}`
)

// TestModules reads all modules that are known.
func TestModules(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "modules.json", "["+transformer+","+poolingAt+","+denseAt+","+normalizeAt+","+dropoutAt+","+normAt+"]")
	put(t, dir, "1_Pooling/config.json", `{"word_embedding_dimension": 3, "pooling_mode_cls_token": false, "pooling_mode_lasttoken": true, "pooling_mode_max_tokens": true, "include_prompt": false}`)
	put(t, dir, "2_Dense/config.json", `{"in_features": 3, "out_features": 2, "bias": false, "activation_function": "torch.nn.modules.linear.Identity", "use_residual": true}`)
	put(t, dir, "3_Normalize/config.json", `{"module_input_name": "sentence_embedding", "module_output_name": null}`)
	put(t, dir, "4_Dropout/config.json", `{"dropout": 0.1}`)
	put(t, dir, "5_LayerNorm/config.json", `{"dimension": 2}`)
	put(t, dir, "tokenizer_config.json", `{"model_max_length": 12}`)
	put(t, dir, "sentence_bert_config.json", `{"max_seq_length": 9, "do_lower_case": true, "model_args": {"torch_dtype": "float16"}}`)
	put(t, dir, "config_sentence_transformers.json", `{"truncate_dim": 5, "prompts": {"query": "q: ", "document": ""}, "default_prompt_name": "query", "similarity_fn_name": "cosine"}`)
	m, err := ReadModules(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.Poolings, []embedding.Pooling{embedding.PoolMax, embedding.PoolLast}) || !m.WithoutPrompt || len(m.After) != 3 || *m.After[0].Dense != (embedding.DenseModule{Folder: "2_Dense", In: 3, Out: 2, Residual: true}) ||
		m.After[1].Dense != nil || m.After[1].Norm != nil || *m.After[2].Norm != (embedding.NormModule{Folder: "5_LayerNorm", Width: 2}) {
		t.Errorf("got %+v", m)
	}
	if m.MaxTokens != 9 || m.TokenizerMax != 12 || !m.Lower || m.Dimensions != 5 || m.Prompts["query"] != "q: " || m.DefaultPrompt != "query" || m.Similarity != "cosine" || !m.Listed {
		t.Errorf("got %+v", m)
	}
	if m, err := ReadModules(t.TempDir()); err != nil || !slices.Equal(m.Poolings, []embedding.Pooling{embedding.PoolMean}) || m.Listed || m.After != nil {
		t.Errorf("no files: %+v, %v", m, err)
	}
}

// TestModulesErrors: what is not known is an error that names the file, and so is a file that is
// missing.
func TestModulesErrors(t *testing.T) {
	const (
		pooling  = "1_Pooling/config.json"
		settings = "config_sentence_transformers.json"
		bert     = "sentence_bert_config.json"
		mean     = `{"pooling_mode": "mean"}`
	)
	two := transformer + "," + poolingAt
	for _, c := range []struct {
		name  string
		files map[string]string
		path  string
	}{
		{"pooling_mode", map[string]string{pooling: `{"pooling_mode": "median"}`}, pooling},
		{"pooling_mode", map[string]string{pooling: `{"pooling_mode": ["mean", "median"]}`}, pooling},
		{"pooling_mode", map[string]string{pooling: `{"pooling_mode": []}`}, pooling},
		{"pooling_mode_of_ours", map[string]string{pooling: `{"pooling_mode_of_ours": false}`}, pooling},
		{"include_prompt", map[string]string{pooling: `{"include_prompt": 1}`}, pooling},
		{"module 2", map[string]string{"modules.json": "[" + two + `, {"type": "sentence_transformers.models.LSTM"}]`, pooling: mean}, "modules.json"},
		{"module 0", map[string]string{"modules.json": "[" + poolingAt + "," + transformer + "]"}, "modules.json"},
		{"module 0", map[string]string{"modules.json": `[{"path": "", "type": "of_ours.Transformer"}, ` + poolingAt + "]"}, "modules.json"},
		{"module 1", map[string]string{"modules.json": "[" + transformer + `, {"type": "sentence_transformers.sparse_encoder.models.SpladePooling"}]`}, "modules.json"},
		{"module 0: trust", map[string]string{"modules.json": `[{"type": "sentence_transformers.models.Transformer", "trust": 1}]`}, "modules.json"},
		{"the modules", map[string]string{"modules.json": "[" + transformer + "]"}, "modules.json"},
		{"the modules", map[string]string{"modules.json": "[]"}, "modules.json"},
		{"model_args", map[string]string{bert: `{"model_args": {"layers": 1}}`}, bert},
		{"max_seq_length", map[string]string{bert: `{"max_seq_length": 1}`}, bert},
		{"max_seq_length", map[string]string{"sentence_xlm-roberta_config.json": `{"max_seq_length": 1}`}, "sentence_xlm-roberta_config.json"},
		{"of_ours", map[string]string{bert: `{"of_ours": 1}`}, bert},
		{"processing_kwargs", map[string]string{bert: `{"processing_kwargs": {"text": {"max_length": 3}}}`}, bert},
		{"query_length", map[string]string{bert: `{"query_length": 32}`}, bert},
		{"transformer_task", map[string]string{bert: `{"transformer_task": "fill-mask"}`}, bert},
		{"transformer_task", map[string]string{bert: `{"transformer_task": "text-generation"}`}, bert},
		{"modality_config", map[string]string{bert: `{"modality_config": {"message": {}}}`}, bert},
		{"modality_config.text", map[string]string{bert: `{"modality_config": {"text": {"method": "forward", "method_output_name": "pooler_output"}}}`}, bert},
		{"model_max_length", map[string]string{"tokenizer_config.json": `{"model_max_length": -1}`}, "tokenizer_config.json"},
		{"default_prompt_name", map[string]string{settings: `{"default_prompt_name": "query"}`}, settings},
		{"default_prompt_name", map[string]string{settings: `{"model_type": "CrossEncoder", "prompts": {"p": "q"}, "default_prompt_name": "p"}`}, settings},
		{"truncate_dim", map[string]string{settings: `{"truncate_dim": 0}`}, settings},
		{"model_type", map[string]string{settings: `{"model_type": "SparseEncoder"}`}, settings},
		{"model_type", map[string]string{settings: `{"model_type": "MultiVectorEncoder"}`}, settings},
		{"similarity_fn_name", map[string]string{settings: `{"similarity_fn_name": "maxsim"}`}, settings},
		{"of_ours", map[string]string{settings: `{"of_ours": 1}`}, settings},
		{"in_features", map[string]string{"modules.json": "[" + two + "," + denseAt + "]", pooling: mean, "2_Dense/config.json": `{"out_features": 2}`}, "2_Dense/config.json"},
		{"of_ours", map[string]string{"modules.json": "[" + two + "," + denseAt + "]", pooling: mean, "2_Dense/config.json": `{"of_ours": 2}`}, "2_Dense/config.json"},
		{"module_input_name", map[string]string{"modules.json": "[" + two + "," + normalizeAt + "]", pooling: mean, "3_Normalize/config.json": `{"module_input_name": "token_embeddings"}`}, "3_Normalize/config.json"},
		{"of_ours", map[string]string{"modules.json": "[" + two + "," + dropoutAt + "]", pooling: mean, "4_Dropout/config.json": `{"of_ours": 2}`}, "4_Dropout/config.json"},
		{"dimension", map[string]string{"modules.json": "[" + two + "," + normAt + "]", pooling: mean, "5_LayerNorm/config.json": `{}`}, "5_LayerNorm/config.json"},
		{"architectures", map[string]string{"config.json": `{"architectures": ["BertForMaskedLM"]}`}, "config.json"},
	} {
		dir := t.TempDir()
		for file, text := range c.files {
			put(t, dir, file, text)
		}
		_, err := ReadModules(dir)
		if bad, ok := errors.AsType[*kernel.Error](err); !ok || bad.Arg() != c.name || !strings.HasPrefix(bad.Where, filepath.Join(dir, filepath.FromSlash(c.path))+": ") {
			t.Errorf("%s: %s: %v", c.path, c.name, err)
		}
	}
	dir := t.TempDir()
	put(t, dir, "modules.json", "["+two+"]")
	if _, err := ReadModules(dir); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "1_Pooling") {
		t.Errorf("no file of the pooling: %v", err)
	}
}

// TestHarmless: keys and classes that change no vector are no errors.
func TestHarmless(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"a pooling beside another class": {"config.json": `{"architectures": ["BertForMaskedLM"]}`, "1_Pooling/config.json": `{}`},
		"modules beside another class":   {"config.json": `{"architectures": ["BertForMaskedLM"]}`, "modules.json": "[" + transformer + "," + poolingAt + "]", "1_Pooling/config.json": `{}`},
		"a cross-encoder":                {"config.json": `{"architectures": ["BertForSequenceClassification"]}`, "modules.json": "[" + transformer + "]", "sentence_bert_config.json": `{"transformer_task": "sequence-classification", "module_output_name": "scores"}`},
		"its settings":                   {"modules.json": "[" + transformer + "]", "config_sentence_transformers.json": `{"model_type": "CrossEncoder", "activation_fn": "torch.nn.modules.linear.Identity", "prompts": {}, "default_prompt_name": null}`},
		"no limit":                       {"tokenizer_config.json": `{"model_max_length": 1000000000000000019884624838656}`, "sentence_bert_config.json": `{"max_seq_length": null, "do_lower_case": false, "unpad_inputs": true, "query_length": null}`},
	} {
		dir := t.TempDir()
		for file, text := range files {
			put(t, dir, file, text)
		}
		if m, err := ReadModules(dir); err != nil || m.MaxTokens != 0 || m.TokenizerMax != 0 {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

// TestTransformer: the transformer may have a folder of its own, with the settings that go with it.
func TestTransformer(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "modules.json", `[{"path": "0_Transformer", "type": "sentence_transformers.models.Transformer"}, `+poolingAt+"]")
	put(t, dir, "1_Pooling/config.json", `{}`)
	put(t, dir, "0_Transformer/sentence_bert_config.json", `{"max_seq_length": 7}`)
	put(t, dir, "0_Transformer/tokenizer_config.json", `{"max_len": 8}`)
	m, err := ReadModules(dir)
	if err != nil || m.Transformer != "0_Transformer" || m.MaxTokens != 7 || m.TokenizerMax != 8 || Transformer(dir) != filepath.Join(dir, "0_Transformer") {
		t.Errorf("got %+v at %s, %v", m, Transformer(dir), err)
	}
	if other := t.TempDir(); Transformer(other) != other {
		t.Errorf("without modules.json: %s", Transformer(other))
	}
}

// TestModulePaths: a module lies in the folder of the model or below it.
func TestModulePaths(t *testing.T) {
	for path, fits := range map[string]bool{"1_Pooling": true, "../1_Pooling": false, "/tmp": false, "1_Pooling/../../x": false} {
		dir := t.TempDir()
		list := `[{"path":"","type":"Transformer"},{"path":"` + path + `","type":"Pooling"}]`
		if err := os.WriteFile(filepath.Join(dir, "modules.json"), []byte(list), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := ReadModules(dir)
		if bad, ok := errors.AsType[*kernel.Error](err); (ok && bad.Arg() == "module 1") == fits {
			t.Errorf("%s: %v", path, err)
		}
	}
}
