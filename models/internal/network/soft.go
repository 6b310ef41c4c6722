package network

import (
	"slices"

	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/tensors"
)

const softTable = ".embedding.weight"

// softRoot returns the beginning of the names of the parts that see and hear: "" if the class
// without a head was saved. ok is false if the model of texts was saved alone. One part without the
// other is an error when soft reads the other: transformers would make up its weights.
func (b *builder) softRoot(list []arch.Soft) (root string, ok bool) {
	for _, root := range [...]string{"model.", ""} {
		if slices.ContainsFunc(list, func(of arch.Soft) bool { _, ok := b.Info(root + of.Name + softTable); return ok }) {
			return root, true
		}
	}
	return "", false
}

// soft computes the embeddings of tokens for images and sounds, if the files have the parts that
// see and hear.
func (b *builder) soft(e *Embedding, list []arch.Soft) {
	root, ok := b.softRoot(list)
	if !ok {
		return
	}
	for _, of := range list {
		name := root + of.Name
		info, _ := b.Info(name + softTable)
		width := append(slices.Clone(info.Shape), 1, 1)[1]
		x := b.Floats(name+softTable, of.Count, width)
		weight := b.Floats(name+".hard_embedding_norm.weight", width)
		project := b.Floats(name+".embedding_projection.weight", e.Width, width)
		if b.Err() != nil || b.Dry != nil {
			return
		}
		y := make([]float32, of.Count*e.Width)
		last := Norm{Weight: slices.Repeat([]float32{1}, e.Width), Epsilon: float32(of.Epsilon)}
		first := Norm{Weight: weight, Epsilon: last.Epsilon}
		err := first.apply(b.Pack.Exec, x, x, nil, false)
		if err == nil {
			err = linear.Product(linear.DenseMatrix(y, of.Count, e.Width), linear.DenseMatrix(x, of.Count, width), linear.DenseMatrix(project, e.Width, width), linear.ProductOptions{Exec: b.Pack.Exec})
		}
		if err == nil {
			err = last.apply(b.Pack.Exec, y, y, nil, false)
		}
		if err != nil {
			b.Fail(err)
			return
		}
		tensors.PermuteColumns(y, b.Pack.Order)
		if e.Soft == nil {
			e.FirstSoft = of.First
		}
		e.Soft = append(e.Soft, y...)
	}
}
