package decoder

import (
	"errors"
	"fmt"

	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/folder"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/inventory"
)

// Inspect says what [Load] or, for a model of embeddings, [LoadEmbedder] would read of a model, without reading the
// weights: all that is missing or does not fit, and the memory that is taken. The error is that of
// files that say too little for that.
func Inspect(model string, embedder bool) (*inventory.Inventory, error) {
	path, isFolder, err := find(model)
	if err != nil {
		return nil, err
	}
	if isFolder {
		return inspectFolder(path, embedder)
	}
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	v := &inventory.Inventory{}
	l := &loader{store: &file{f, map[string]bool{}}, dry: v}
	n, err := networkOfFile(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if n.config.Bidirectional {
		l.dense(f, &n.config)
	}
	return n.inspect(l, false)
}

func inspectFolder(dir string, embedder bool) (*inventory.Inventory, error) {
	at := dir
	if embedder {
		at = folder.Transformer(dir)
	}
	n, d, tied, err := networkOfFolder(at)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	d.dry = true
	v := &inventory.Inventory{}
	if embedder {
		modules, err := folder.ReadModules(dir)
		if err == nil {
			_, err = embedding.ReadSteps(dir, modules, n.config.Width, embedding.LoadOptions{})
		}
		v.Problem(err)
	}
	return n.inspect(&loader{store: d, dry: v}, tied)
}

// inspect notes all tensors that the model has.
func (n *network) inspect(l *loader, tied bool) (*inventory.Inventory, error) {
	v, c := l.dry, &n.config
	v.Size("layers", c.Layers)
	v.Size("width", c.Width)
	v.Size("heads", c.Heads)
	v.Size("heads of keys", c.KVHeads)
	v.Size("head size", c.HeadSize)
	v.Size("inner width", c.FFN)
	if c.Experts > 0 {
		v.Size("experts", c.Experts)
		v.Size("experts of a token", c.ExpertsUsed)
	}
	v.Size("tokens of a text", c.Context)
	v.Size("vocabulary", c.Vocab)
	v.TokenMemory = 8 * int64(c.Layers) * int64(c.KVHeads) * int64(c.HeadSize)
	v.Tokenizer, v.Template = n.tokenizerErr, n.templateErr
	_, err := n.model(l, tied, Options{})
	if errors.Is(err, errDry) && l.err == nil {
		v.Problem(l.unused())
	}
	return v, nil
}

// errDry ends the loading of a model of which nothing is read.
var errDry = errors.New("nothing is read")

// note adds the memory of the weights of a linear layer, as they are kept.
func (l *loader) note(tensors []gguf.Tensor) {
	for _, t := range tensors {
		if storage(t.Type) == gguf.F32 {
			if !t.Type.Converts() {
				l.fail(tensorError(t.Name, t.Type.String(), "a type that can be computed from"))
			}
			l.dry.Floats(t.Shape...)
			continue
		}
		l.dry.Memory += t.Type.Size(inventory.Elements(t.Shape))
	}
}
