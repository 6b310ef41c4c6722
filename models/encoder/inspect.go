package encoder

import (
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/inventory"
)

// Inspect says what [Load] or, if it has a classifier, [LoadReranker] would read of a model, without reading the
// weights: all that is missing or does not fit, and the memory that is taken. The error is that of
// files that say too little for that.
func Inspect(model string, reranker bool) (*inventory.Inventory, error) {
	x, err := open(model)
	if err != nil {
		return nil, err
	}
	defer x.close()
	v := &inventory.Inventory{}
	s := x.spec
	v.Size("layers", s.Layers)
	v.Size("width", s.Width)
	v.Size("heads", s.Heads)
	v.Size("inner width", s.Inner)
	v.Size("tokens of a text", x.maxTokens)
	v.Size("vocabulary", s.Vocab)
	m, r := readModelOf(x, &reader{source: x.source, path: x.path, prefix: s.prefixOf(x.source), dry: v})
	if reranker {
		_, err = x.head(&reader{source: x.source, path: x.path, dry: v})
	} else if !reranker {
		_, err = embedding.ReadSteps(x.path, x.modules, m.Width, LoadOptions{})
		sparse, bad := x.readSparse(m.Width)
		v.Problem(bad)
		if sparse != nil {
			v.Size("sparse weights", 1)
			v.Floats(m.Width)
		}
	}
	v.Problem(err)
	if r.err == nil { // otherwise not all tensors have been asked for
		v.Problem(x.Unused())
	}
	return v, nil
}

// problem notes an error if nothing is read, or returns it.
func (r *reader) problem(err error) error {
	if r.dry != nil {
		return r.dry.Problem(err)
	}
	return err
}

// checked notes a tensor, without reading it.
func (r *reader) checked(name string, kept kernel.DType, shape []int) {
	if err := r.check(name, shape...); err != nil {
		r.err = r.dry.Problem(err)
		r.Use(name) // so that it is reported once
		return
	}
	if kept == kernel.Float32 {
		r.dry.Floats(shape...)
	} else {
		r.dry.Memory += 2 * int64(inventory.Elements(shape))
	}
}
