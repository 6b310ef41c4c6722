package decoder

import (
	"errors"

	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/internal/inventory"
)

func init() {
	uses := map[string]use{"embedder": embeds, "reranker": ranks, "generator": generates}
	inventory.Decoder = func(model, kind string) (*inventory.Inventory, error) { return inspect(model, uses[kind]) }
}

// inspect says what [Load], [LoadEmbedder] or [LoadReranker] would read of a model, without reading
// the weights: all that is missing or does not fit, and the memory that is taken.
func inspect(model string, u use) (*inventory.Inventory, error) {
	x, err := open(model, u, Options{})
	if err != nil {
		return nil, err
	}
	defer x.close()
	v := &inventory.Inventory{}
	x.Dry = v
	if err = x.prepare(); err == nil && u == embeds && x.file == nil {
		_, err = embedding.ReadSteps(x.path, x.modules, x.config.Width, embedding.LoadOptions{})
	} else if err == nil && u == ranks {
		_, err = x.ranking.Prompt(x.ranked())
	}
	v.Problem(err)
	x.describe(v)
	if name, n := x.guessing(x.arch, u); n > 0 {
		v.Size(name, n)
	}
	if u == ranks {
		v.Template = nil // a conversation is no work of a reranker
	}
	_, err = x.model(x.loader, x.head, Options{})
	if errors.Is(err, errDry) {
		v.Problem(x.Unused())
	}
	return v, nil
}

// describe notes the sizes of a model.
func (n *network) describe(v *inventory.Inventory) {
	c := &n.config
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
	v.TokenMemory, v.TextMemory = 4*n.kept(), n.textMemory
	v.Tokenizer, v.Template = n.tokenizerErr, n.templateErr
}

// textMemory returns how many bytes a text of so many tokens takes in a cache of float32.
func (n *network) textMemory(tokens int) int64 {
	l := n.layoutOf(&Options{Context: tokens, PageSize: defaultPage})
	page, _ := l.pageBytes() // of sizes that are checked
	return int64(l.pages(tokens)) * int64(page)
}

// errDry ends the loading of a model of which nothing is read.
var errDry = errors.New("nothing is read")
