package decoder

import (
	"errors"

	"github.com/attn-go/attn/models/decoder/internal/ranking"
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
	n, l, err := networkOfFile(f, path)
	if err != nil {
		return nil, naming(path, err)
	}
	l.Dry = v
	if embedder {
		l.dense(&n.config)
	} else if n.config.Bidirectional {
		v.Problem(noGenerator(n.arch, gguf.KeyError))
	}
	return n.inspect(l, headIfThere)
}

func inspectFolder(dir string, embedder bool) (*inventory.Inventory, error) {
	at := dir
	if embedder {
		at = folder.Transformer(dir)
	}
	n, l, head, err := networkOfFolder(at)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	v := &inventory.Inventory{}
	l.Dry = v
	if embedder {
		head = headUnread
		modules, err := folder.ReadModules(dir)
		if err == nil {
			_, err = embedding.ReadSteps(dir, modules, n.config.Width, embedding.LoadOptions{})
		}
		v.Problem(err)
	} else if n.config.Bidirectional {
		v.Problem(noGenerator(n.arch, configError))
	}
	return n.inspect(l, head)
}

// InspectReranker is [Inspect] for what [LoadReranker] would read.
func InspectReranker(model string) (*inventory.Inventory, error) {
	path, isFolder, err := find(model)
	if err != nil {
		return nil, err
	}
	var n *network
	var l *loader
	head := headIfThere
	if isFolder {
		if n, l, head, err = networkOfFolder(folder.Transformer(path)); err != nil {
			return nil, err
		}
		defer l.Close()
		n.ranking, err = ranking.ReadFolder(path, n.ranked())
	} else {
		f, bad := gguf.Open(path)
		if bad != nil {
			return nil, bad
		}
		defer f.Close()
		if n, l, err = networkOfFile(f, path); err != nil {
			return nil, naming(path, err)
		}
		n.ranking, err = ranking.ReadFile(f, n.ranked())
	}
	v := &inventory.Inventory{}
	l.Dry = v
	v.Problem(err)
	if err == nil {
		_, err = n.ranking.Prompt(n.ranked())
		v.Problem(err)
	}
	v, err = n.inspect(l, head)
	v.Template = nil // a conversation is no work of a reranker
	return v, err
}

// inspect notes all tensors that the model has.
func (n *network) inspect(l *loader, head headSource) (*inventory.Inventory, error) {
	v, c := l.Dry, &n.config
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
	_, err := n.model(l, head, Options{})
	if errors.Is(err, errDry) {
		v.Problem(l.Unused())
	}
	return v, nil
}

// errDry ends the loading of a model of which nothing is read.
var errDry = errors.New("nothing is read")
