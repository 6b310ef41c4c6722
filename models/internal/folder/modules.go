package folder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/internal/strict"
)

// ReadModules reads modules.json and what it names, sentence_bert_config.json or what it was called
// before, such as sentence_roberta_config.json, config_sentence_transformers.json, and the length
// of tokenizer_config.json, as far as they are there, as version 6 of sentence-transformers does.
// Without modules.json there is one module, a pooling as 1_Pooling/config.json has it or, if that
// is missing too, the mean.
//
// Every key of these files is used or is known to change no vector. Any other one is a
// [*kernel.Error], and so is a module that is not known. Dropout does nothing outside of training,
// and is left out.
func ReadModules(dir string) (*embedding.Modules, error) {
	f := &Folder{dir: dir}
	m := &embedding.Modules{}
	err := f.readList(m)
	if errors.Is(err, fs.ErrNotExist) && !f.has(modulesName) {
		if err = f.readPooling("1_Pooling", m); errors.Is(err, fs.ErrNotExist) {
			m.Poolings, err = []embedding.Pooling{embedding.PoolMean}, f.checkHead()
		}
	}
	for _, read := range []func(m *embedding.Modules) error{f.readTransformer, f.readTokenizer, f.readSettings} {
		if err == nil {
			err = read(m)
		}
	}
	if err == nil && m.Poolings == nil && m.Late == nil && !m.Words && !classifies(m) {
		err = &kernel.Error{Where: f.Path(modulesName) + ": the modules", Got: "a Transformer alone", Want: "Transformer and Pooling at least"}
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Transformer returns the folder of the transformer of a model: from modules.json, or the model's
// own. An error of modules.json is left to [ReadModules].
func Transformer(dir string) string {
	if list, err := ReadList(dir); err == nil && len(list) > 0 && strings.HasSuffix(kindOf(list[0].Type), "Transformer") {
		return filepath.Join(dir, filepath.FromSlash(list[0].Path))
	}
	return dir
}

const modulesName = "modules.json"

const wantModules = "Transformer, Pooling, and then any of Dense, Dropout, LayerNorm and Normalize"

var moduleKeys = strict.Table{}.Add(strict.Any, "idx", "name", "path", "type", "kwargs")

// kindOf returns the class of a module of sentence-transformers, or what else it is.
func kindOf(class string) string {
	if strings.HasPrefix(class, "sentence_transformers.") || class == lateDense {
		return class[strings.LastIndex(class, ".")+1:]
	}
	return class
}

// lateDense is the class of PyLate's linear layers of tokens, which stand in place of a pooling.
const lateDense = "pylate.models.Dense.Dense"

// IsLate tells whether modules.json describes a model with a vector for each token, as PyLate has
// it.
func IsLate(dir string) bool {
	list, err := ReadList(dir)
	return err == nil && len(list) > 1 && list[1].Type == lateDense
}

// A Listed is what modules.json says of a module.
type Listed struct {
	Path string // of its folder in the model's, with slashes; "" for the model's own
	Type string // the class, such as sentence_transformers.models.Pooling
}

// ReadList reads modules.json. A key that is not known and a path out of the folder are a
// [*kernel.Error]; a file that is missing is an [fs.ErrNotExist].
func ReadList(dir string) ([]Listed, error) {
	f := &Folder{dir: dir}
	var all []map[string]json.RawMessage
	if err := f.JSON(modulesName, &all); err != nil {
		return nil, err
	}
	list := make([]Listed, len(all))
	for i, keys := range all {
		x := &list[i]
		if p := strict.Check(keys, moduleKeys); p != nil {
			return nil, &kernel.Error{Where: f.Path(modulesName) + ": " + fmt.Sprintf("module %d: %s", i, p.Key), Got: p.Got, Want: p.Want}
		}
		if err := errors.Join(unmarshal(keys["path"], &x.Path), unmarshal(keys["type"], &x.Type)); err != nil {
			return nil, fmt.Errorf("%s: module %d: %w", f.Path(modulesName), i, err)
		}
		if x.Path != "" && !filepath.IsLocal(filepath.FromSlash(x.Path)) {
			return nil, &kernel.Error{Where: f.Path(modulesName) + ": " + fmt.Sprintf("module %d", i), Got: fmt.Sprintf("the path %q", x.Path), Want: "the folder of the model, or one below it"}
		}
	}
	return list, nil
}

// readList reads modules.json and the modules.
func (f *Folder) readList(m *embedding.Modules) error {
	list, err := ReadList(f.dir)
	if err != nil {
		return err
	}
	m.Listed = true
	if len(list) == 0 {
		return &kernel.Error{Where: f.Path(modulesName) + ": the modules", Got: "none", Want: wantModules}
	}
	for i, x := range list {
		if err := f.readModule(m, i, x.Path, x.Type); err != nil {
			return err
		}
	}
	return nil
}

// unmarshal leaves a value as it is if the file does not have it.
func unmarshal(raw json.RawMessage, into any) error {
	if raw == nil {
		return nil
	}
	return json.Unmarshal(raw, into)
}

// readModule reads module i.
func (f *Folder) readModule(m *embedding.Modules, i int, at, class string) (err error) {
	kind := kindOf(class)
	first, second := i == 0, i == 1
	switch {
	case kind == "SparseStaticEmbedding" || kind == "SpladePooling" && (!second || !m.Words):
		return sparseModel(f.Path(modulesName), fmt.Sprintf("module %d", i), class)
	case first && kind == "MLMTransformer":
		m.Words, kind = true, "Transformer"
	case second && kind == "SpladePooling":
		return f.checkSplade(at)
	case m.Words:
		return &kernel.Error{Where: f.Path(modulesName) + ": " + fmt.Sprintf("module %d", i), Got: fmt.Sprintf("%q", class), Want: "MLMTransformer and SpladePooling alone"}
	case second && class == lateDense:
		m.Late = defaultLate()
	case first != (kind == "Transformer") || m.Late == nil && second != (kind == "Pooling") || m.Late != nil && class != lateDense:
		return &kernel.Error{Where: f.Path(modulesName) + ": " + fmt.Sprintf("module %d", i), Got: fmt.Sprintf("%q", class), Want: wantModules}
	}
	var next embedding.Module
	switch kind {
	case "Transformer":
		if m.Transformer = path.Clean(at); m.Transformer == "." {
			m.Transformer = ""
		}
		return nil
	case "Pooling":
		return f.readPooling(at, m)
	case "Dropout":
		_, err = f.known(at+"/config.json", strict.Table{"dropout": strict.Any})
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	case "Normalize":
		err = f.readNormalize(at)
	case "LayerNorm":
		next.Norm, err = f.layerNorm(at)
	case "Dense":
		next.Dense, err = f.dense(at)
	default:
		return &kernel.Error{Where: f.Path(modulesName) + ": " + fmt.Sprintf("module %d", i), Got: fmt.Sprintf("%q", class), Want: wantModules}
	}
	m.After = append(m.After, next)
	return err
}

// checkSplade checks how logits become weights: ln(1 + max(0, x)) of the largest ones.
func (f *Folder) checkSplade(at string) error {
	_, err := f.known(at+"/config.json", strict.Table{
		"pooling_strategy": strict.Only(`"max"`), "activation_function": strict.Only(`"relu"`), "word_embedding_dimension": strict.Any, "embedding_dimension": strict.Any, "chunk_size": strict.Any,
	})
	return err
}

// sparseModel is the error of a model whose vectors have a number for each token of the vocabulary.
func sparseModel(path, name, got string) error {
	return &kernel.Error{Where: path + ": " + name, Got: fmt.Sprintf("%q, a sparse model such as SPLADE, whose vectors have a number for every token of the vocabulary", got), Want: "a dense embedder, with Transformer and Pooling, or MLMTransformer and SpladePooling, or bge-m3"}
}

// known reads a file of JSON whose keys stand in tables.
func (f *Folder) known(name string, t ...strict.Table) (all map[string]json.RawMessage, err error) {
	if err := f.JSON(name, &all); err != nil {
		return nil, err
	}
	if p := strict.Check(all, t...); p != nil {
		return nil, &kernel.Error{Where: f.Path(name) + ": " + p.Key, Got: p.Got, Want: p.Want}
	}
	return all, nil
}
