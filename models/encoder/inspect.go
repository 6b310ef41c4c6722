package encoder

import (
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/inventory"
	"github.com/attn-go/attn/models/internal/tensors"
)

func init() {
	inventory.Encoder = func(model, kind string) (*inventory.Inventory, error) { return inspect(model, kind == "reranker") }
}

// inspect says what [Load] or, if it has a classifier, [LoadReranker] would read of a model,
// without reading the weights: all that is missing or does not fit, and the memory that is taken.
func inspect(model string, reranker bool) (*inventory.Inventory, error) {
	x, err := open(model, LoadOptions{})
	if err != nil {
		return nil, err
	}
	defer x.close()
	v := &inventory.Inventory{}
	m, layer := x.model, x.model.Layers[0]
	v.Size("layers", len(m.Layers))
	v.Size("width", m.Width)
	v.Size("heads", layer.Attention().Heads)
	v.Size("inner width", layer.Feed.(*arch.Dense).Inner)
	v.Size("tokens of a text", x.maxTokens)
	v.Size("vocabulary", m.Vocab)
	r, head := x.reader(), &tensors.Reader{Store: x.Store}
	r.Dry, head.Dry = v, v
	x.readModel(r)
	if reranker && x.modules.Late == nil {
		_, err = x.head(head)
	} else {
		var steps []embedding.Step
		steps, err = embedding.ReadSteps(x.path, x.modules, m.Outputs(), LoadOptions{})
		if x.modules.Late != nil && err == nil {
			_, err = x.lateEmbedder(embedding.Parts{Model: &runner{}, Tokenizer: x.tokenizer, Modules: x.modules, Steps: steps})
		}
		sparse, bad := x.readSparse(m.Outputs(), v)
		v.Problem(bad)
		if sparse != nil {
			v.Size("sparse weights", 1)
			v.Floats(m.Outputs())
		}
		tokens, bad := x.readTokens(m.Outputs())
		v.Problem(bad)
		if bad == nil && tokens != nil {
			n := tokens[0].Width()
			v.Size("width of a token's vector", n)
			v.Floats(n, m.Outputs())
		}
	}
	v.Problem(err)
	if r.Err() == nil { // otherwise not all tensors have been asked for
		v.Problem(x.Unused())
	}
	return v, nil
}
