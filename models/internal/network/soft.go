package network

import (
	"slices"

	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/tensors"
)

// soft computes the embeddings of tokens for images and sounds, if the files have the parts that
// see and hear: the model of texts may have been saved alone.
func (b *builder) soft(e *Embedding, list []arch.Soft) {
	for _, of := range list {
		table := of.Name + ".embedding.weight"
		info, ok := b.Info(table)
		if !ok {
			return
		}
		width := append(slices.Clone(info.Shape), 1, 1)[1]
		x := b.Floats(table, of.Count, width)
		weight := b.Floats(of.Name+".hard_embedding_norm.weight", width)
		project := b.Floats(of.Name+".embedding_projection.weight", e.Width, width)
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
