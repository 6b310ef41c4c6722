package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// Modules are what sentence-transformers does with a text beside the transformer itself.
type Modules struct {
	Listed  bool // the folder has modules.json
	Pooling Pooling
	After   []Module // of the pooling, in order

	// MaxTokens is max_seq_length of sentence_bert_config.json, 0 if it is not said.
	MaxTokens int

	// Prompts are texts by their names, such as "query", that are put before a text, of
	// config_sentence_transformers.json. DefaultPrompt is the name of the one that every text gets,
	// or "".
	Prompts       map[string]string
	DefaultPrompt string

	// Similarity is how vectors are meant to be compared: cosine, dot, euclidean, manhattan, or ""
	// if it is not said.
	Similarity string
}

// A Module follows the pooling: a linear layer or, if Dense is nil, the division by the L2 norm.
type Module struct{ Dense *Dense }

// A Dense is a linear layer, whose weights are linear.weight [Out, In] and linear.bias [Out] of
// Folder.
type Dense struct {
	Folder     string // in that of the model, with slashes
	In, Out    int
	Bias       bool
	Activation string // "" for none, or Tanh, ReLU, GELU ...: the name of the class in PyTorch
}

// ReadModules reads modules.json and what it names, sentence_bert_config.json and
// config_sentence_transformers.json, as far as they are there. Without modules.json there is one
// module, a pooling as 1_Pooling/config.json has it or, if that is missing too, the mean, which is
// what sentence-transformers takes then. A module or setting that is not known is an [*Error], and so is a
// transformer in another folder than that of the model.
func ReadModules(dir string) (*Modules, error) {
	f := &Folder{dir: dir}
	m := &Modules{Pooling: Mean}
	err := f.readList(m)
	if errors.Is(err, fs.ErrNotExist) && !f.has("modules.json") {
		if m.Pooling, err = f.pooling("1_Pooling"); errors.Is(err, fs.ErrNotExist) {
			m.Pooling, err = Mean, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if err := f.readLength(m); err != nil {
		return nil, err
	}
	return m, f.readPrompts(m)
}

// readList reads modules.json.
func (f *Folder) readList(m *Modules) error {
	var list []struct{ Path, Type string }
	if err := f.JSON("modules.json", &list); err != nil {
		return err
	}
	m.Listed = true
	path := f.Path("modules.json")
	for i, x := range list {
		kind := x.Type[strings.LastIndex(x.Type, ".")+1:]
		first, second := i == 0, i == 1
		if first != (kind == "Transformer") || second != (kind == "Pooling") {
			return &Error{path, fmt.Sprintf("module %d", i), fmt.Sprintf("%q", x.Type), "Transformer, Pooling, and then any of Dense and Normalize"}
		}
		var err error
		if x.Path != "" && !filepath.IsLocal(filepath.FromSlash(x.Path)) {
			return &Error{path, fmt.Sprintf("module %d", i), fmt.Sprintf("the path %q", x.Path), "the folder of the model, or one below it"}
		}
		switch kind {
		case "Transformer":
			if x.Path != "" && x.Path != "." {
				err = &Error{f.dir, "modules.json", "a transformer in the folder " + x.Path, "one in the folder itself"}
			}
		case "Pooling":
			m.Pooling, err = f.pooling(x.Path)
		case "Normalize":
			m.After = append(m.After, Module{})
		case "Dense":
			var d *Dense
			d, err = f.dense(x.Path)
			m.After = append(m.After, Module{d})
		default:
			err = &Error{path, fmt.Sprintf("module %d", i), fmt.Sprintf("%q", x.Type), "Transformer, Pooling, and then any of Dense and Normalize"}
		}
		if err != nil {
			return err
		}
	}
	if len(list) < 2 {
		return &Error{path, "the modules", fmt.Sprint(len(list)), "Transformer and Pooling at least"}
	}
	return nil
}

func (f *Folder) dense(at string) (*Dense, error) {
	c := struct {
		In         int    `json:"in_features"`
		Out        int    `json:"out_features"`
		Bias       *bool  `json:"bias"`
		Activation string `json:"activation_function"`
		Key        string `json:"module_input_name"`
		OutKey     string `json:"module_output_name"`
	}{}
	name := at + "/config.json"
	if err := f.JSON(name, &c); err != nil {
		return nil, err
	}
	for key, n := range map[string]int{"in_features": c.In, "out_features": c.Out} {
		if n < 1 || n > 1<<20 {
			return nil, &Error{f.Path(name), key, fmt.Sprint(n), "1 to 1048576"}
		}
	}
	for key, s := range map[string]string{"module_input_name": c.Key, "module_output_name": c.OutKey} {
		if s != "" && s != "sentence_embedding" {
			return nil, &Error{f.Path(name), key, fmt.Sprintf("%q", s), "sentence_embedding"}
		}
	}
	act := c.Activation[strings.LastIndex(c.Activation, ".")+1:]
	switch act {
	case "Identity":
		act = ""
	case "": // the default of sentence-transformers
		act = "Tanh"
	}
	return &Dense{Folder: at, In: c.In, Out: c.Out, Bias: c.Bias == nil || *c.Bias, Activation: act}, nil
}

// readLength reads sentence_bert_config.json.
func (f *Folder) readLength(m *Modules) error {
	const name = "sentence_bert_config.json"
	var c struct {
		Max   *int `json:"max_seq_length"`
		Lower bool `json:"do_lower_case"`
	}
	if err := f.JSON(name, &c); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if c.Lower {
		return &Error{f.Path(name), "do_lower_case", "true", "false: the tokenizer says what becomes lower case"}
	}
	if c.Max != nil {
		if *c.Max < 2 || *c.Max > 1<<20 {
			return &Error{f.Path(name), "max_seq_length", fmt.Sprint(*c.Max), "2 to 1048576"}
		}
		m.MaxTokens = *c.Max
	}
	return nil
}

// readPrompts reads config_sentence_transformers.json.
func (f *Folder) readPrompts(m *Modules) error {
	var c struct {
		Prompts    map[string]string `json:"prompts"`
		Default    *string           `json:"default_prompt_name"`
		Similarity *string           `json:"similarity_fn_name"`
	}
	const name = "config_sentence_transformers.json"
	if err := f.JSON(name, &c); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	m.Prompts = c.Prompts
	if c.Similarity != nil {
		m.Similarity = *c.Similarity
	}
	if c.Default != nil {
		if _, ok := c.Prompts[*c.Default]; !ok {
			return &Error{f.Path(name), "default_prompt_name", fmt.Sprintf("%q", *c.Default), "one of the prompts"}
		}
		m.DefaultPrompt = *c.Default
	}
	return nil
}
