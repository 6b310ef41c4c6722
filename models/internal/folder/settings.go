package folder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/internal/strict"
)

// transformerNames are what the file with the settings of a transformer is called, or was once. The
// first one counts.
var transformerNames = []string{
	"sentence_bert_config.json", "sentence_roberta_config.json", "sentence_distilbert_config.json", "sentence_camembert_config.json",
	"sentence_albert_config.json", "sentence_xlm-roberta_config.json", "sentence_xlnet_config.json",
}

// Settings that say how a model is loaded by PyTorch, and not what it computes.
var (
	modelArgs = strict.Object(strict.Table{}.Add(strict.Any, "add_pooling_layer", "attn_implementation", "device_map", "dtype",
		"low_cpu_mem_usage", "torch_dtype", "trust_remote_code", "use_safetensors"))
	processorArgs = strict.Object(strict.Table{}.Add(strict.Any, "padding", "padding_side", "trust_remote_code", "use_fast"))
	configArgs    = strict.Object(strict.Table{}.Add(strict.Any, "trust_remote_code", "use_cache"))
)

var transformerKeys = strict.Table{
	"do_lower_case":      flag,
	"module_output_name": strict.Only("null", `"token_embeddings"`, `"scores"`),
	"processing_kwargs":  strict.None,
	"unpad_inputs":       strict.Any, // changes the speed alone

	// Of models with a vector for every token.
	"query_length": strict.None, "document_length": strict.None, "query_expansion": strict.None,
}.
	Add(strict.Any, "max_seq_length", "transformer_task", "modality_config").
	Add(modelArgs, "model_args", "model_kwargs").
	Add(processorArgs, "tokenizer_args", "processor_kwargs").
	Add(configArgs, "config_args", "config_kwargs")

// classification is the transformer_task of cross-encoders.
const classification = "sequence-classification"

// classifies tells whether the modules make a cross-encoder.
func classifies(m *embedding.Modules) bool { return m.Task == classification }

// readTransformer reads sentence_bert_config.json, or what it was called before.
func (f *Folder) readTransformer(m *embedding.Modules) error {
	i := slices.IndexFunc(transformerNames, func(name string) bool { return f.has(path.Join(m.Transformer, name)) })
	if i < 0 {
		return nil
	}
	name := path.Join(m.Transformer, transformerNames[i])
	var c struct {
		Max      *int                       `json:"max_seq_length"`
		Lower    bool                       `json:"do_lower_case"`
		Task     string                     `json:"transformer_task"`
		Modality map[string]json.RawMessage `json:"modality_config"`
	}
	if _, err := f.known(name, transformerKeys); err != nil {
		return err
	}
	if err := f.JSON(name, &c); err != nil {
		return err
	}
	m.Lower, m.Task = c.Lower, c.Task
	if c.Max != nil {
		if *c.Max < 2 || *c.Max > mostWidth {
			return &kernel.Error{Where: f.Path(name) + ": max_seq_length", Got: fmt.Sprint(*c.Max), Want: fmt.Sprintf("2 to %d", mostWidth)}
		}
		m.MaxTokens = *c.Max
	}
	return f.checkTask(m, name, c.Task, c.Modality)
}

// outputs are what a transformer computes of a text, by its task.
var outputs = map[string]string{"": "last_hidden_state", "feature-extraction": "last_hidden_state", classification: "logits"}

// checkTask checks what a transformer is given and computes. Other modalities than text and message
// do not count, as no image or sound reaches the model.
func (f *Folder) checkTask(m *embedding.Modules, name, task string, modality map[string]json.RawMessage) error {
	output, ok := outputs[task]
	if m.Words && task == "fill-mask" {
		output, ok = "logits", true
	}
	switch {
	case task == "fill-mask" && !m.Words:
		return sparseModel(f.Path(name), "transformer_task", task)
	case !ok:
		return &kernel.Error{Where: f.Path(name) + ": transformer_task", Got: fmt.Sprintf("%q", task), Want: "feature-extraction, or sequence-classification for a cross-encoder"}
	case modality == nil:
		return nil
	}
	if _, ok := modality["message"]; ok { // a text would become a conversation by the chat template
		return &kernel.Error{Where: f.Path(name) + ": modality_config", Got: "message", Want: "text alone"}
	}
	var text struct {
		Method string `json:"method"`
		Output string `json:"method_output_name"`
	}
	if err := unmarshal(modality["text"], &text); err != nil || text.Method != "forward" || text.Output != output {
		return &kernel.Error{Where: f.Path(name) + ": modality_config.text", Got: string(modality["text"]), Want: fmt.Sprintf("the method forward with the output %s", output)}
	}
	return nil
}

// readTokenizer reads the length of tokenizer_config.json, whose other keys are for package
// tokenizer. transformers writes 1e30 where there is no limit.
func (f *Folder) readTokenizer(m *embedding.Modules) error {
	name := path.Join(m.Transformer, "tokenizer_config.json")
	var c struct {
		Max *float64 `json:"model_max_length"`
		Old *float64 `json:"max_len"` // its name before
	}
	if err := f.JSON(name, &c); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if c.Max == nil {
		c.Max = c.Old
	}
	if c.Max == nil || *c.Max > mostWidth {
		return nil
	}
	if m.TokenizerMax = int(*c.Max); m.TokenizerMax < 2 || float64(m.TokenizerMax) != *c.Max {
		return &kernel.Error{Where: f.Path(name) + ": model_max_length", Got: fmt.Sprint(*c.Max), Want: "a whole number of 2 or more"}
	}
	return nil
}

// ReadSettings reads config_sentence_transformers.json of a folder, if there is one, as
// [ReadModules] does: prompts, the similarity and truncate_dim.
func ReadSettings(dir string, m *embedding.Modules) error { return (&Folder{dir: dir}).readSettings(m) }

// readSettings reads config_sentence_transformers.json.
func (f *Folder) readSettings(m *embedding.Modules) error {
	const name = "config_sentence_transformers.json"
	var c struct {
		Type       string            `json:"model_type"`
		Prompts    map[string]string `json:"prompts"`
		Default    *string           `json:"default_prompt_name"`
		Similarity string            `json:"similarity_fn_name"`
		Dimensions *int              `json:"truncate_dim"`
	}
	tables := []strict.Table{strict.SentenceTransformers}
	if m.Late != nil {
		tables = append(tables, lateKeys)
	}
	if _, err := f.known(name, tables...); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if err := f.JSON(name, &c); err != nil {
		return err
	}
	m.Prompts, m.Similarity = c.Prompts, c.Similarity
	bad := func(key, got, want string) error {
		return &kernel.Error{Where: f.Path(name) + ": " + key, Got: got, Want: want}
	}
	switch {
	case m.Late != nil:
		if c.Type != "ColBERT" {
			return bad("model_type", fmt.Sprintf("%q", c.Type), "ColBERT, as modules.json has no pooling")
		}
		if c.Dimensions != nil {
			return bad("truncate_dim", fmt.Sprint(*c.Dimensions), "null: vectors of tokens are not cut")
		}
		if c.Default != nil && c.Prompts[*c.Default] != "" {
			return bad("default_prompt_name", fmt.Sprintf("%q", *c.Default), "null: ColBERT has prefixes, and other prompts are not supported")
		}
		return f.readLate(name, m.Late)
	case m.Words:
		if c.Type != "SparseEncoder" && c.Type != "" {
			return bad("model_type", fmt.Sprintf("%q", c.Type), "SparseEncoder")
		}
	case c.Type == "SparseEncoder":
		return sparseModel(f.Path(name), "model_type", c.Type)
	case c.Type == "CrossEncoder":
		m.Task = classification
	case c.Type != "" && c.Type != "SentenceTransformer":
		return bad("model_type", fmt.Sprintf("%q", c.Type), "SentenceTransformer or CrossEncoder")
	}
	if c.Dimensions != nil {
		if m.Dimensions = *c.Dimensions; m.Dimensions < 1 {
			return bad("truncate_dim", fmt.Sprint(m.Dimensions), "1 or more, or null")
		}
	}
	if c.Default == nil {
		return nil
	}
	prompt, ok := c.Prompts[*c.Default]
	switch {
	case !ok:
		return bad("default_prompt_name", fmt.Sprintf("%q", *c.Default), "one of the prompts")
	case prompt != "" && classifies(m):
		return bad("default_prompt_name", fmt.Sprintf("%q", *c.Default), "null: the prompts of cross-encoders are not supported")
	}
	m.DefaultPrompt = *c.Default
	return nil
}

// checkHead reports a model without a pooling whose config.json names a class that ends in
// something else than states of tokens, such as BertForMaskedLM: nothing says how these become a
// vector, and SPLADE, for one, is such a folder. Classifiers are cross-encoders.
func (f *Folder) checkHead() error {
	const name = "config.json"
	var c struct {
		Architectures []string `json:"architectures"`
	}
	if err := f.JSON(name, &c); err != nil { // which is found by who reads all of it
		return nil
	}
	for _, class := range c.Architectures {
		if strings.Contains(class, "For") && !strings.HasSuffix(class, "ForSequenceClassification") && !strings.HasSuffix(class, "ForCausalLM") {
			return &kernel.Error{Where: f.Path(name) + ": architectures", Got: fmt.Sprintf("%q, which predicts words or the like, as SPLADE does, and no vector of a text", class), Want: "an embedder: " + modulesName + " or 1_Pooling/config.json say how the states of tokens become a vector"}
		}
	}
	return nil
}
