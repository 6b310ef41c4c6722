package network

import (
	"cmp"
	"slices"

	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/tensors"
)

// A model of rounded weights has its columns in another order. 32 inputs of a product share the
// scale of the largest: one large column takes bits from the 31 beside it. So columns are sorted by
// their size, and large ones share a scale with one another. Norms, sums and products have no order
// of columns, so that the model is the same: the columns of embeddings, norms and weights that read
// states are permuted, and the rows of weights that write them. It is done once, when the model is
// read; the states of the last layer are put back into the order of the file.
//
// The size of a column is the root of the sum of weight² + bias² over the norms whose
// outputs are rounded: a norm's output is weight·z + bias, and z has mean 0 and variance
// 1 over the columns of a token.

// Columns returns the columns of states by size, the largest first: column i of a model
// is column order[i] of its file. It is nil, the order of the file, for weights that are
// quantized there: these keep their blocks.
func Columns(m *arch.Model, r *tensors.Reader) (order []int) {
	info, _ := r.Info(at(0, "attn_output.weight"))
	if _, blocks := info.Type.Format(); blocks || r.Err() != nil {
		return nil
	}
	var norms []string
	if m.Embed.Norm != nil && m.Embed.Width == 0 {
		norms = append(norms, "token_embd_norm")
	}
	for i, l := range m.Layers {
		if l.Order == arch.Post {
			norms = append(norms, at(i, "attn_output_norm"), at(i, "layer_output_norm"))
			continue
		}
		if !l.Bare {
			norms = append(norms, at(i, "attn_norm"))
		}
		norms = append(norms, at(i, "ffn_norm"))
	}
	size, once := make([]float64, m.Width), &tensors.Reader{Store: r.Store, Rename: r.Rename}
	for _, name := range norms {
		a := ReadNorm(m.Layers[0].Norm, once, name, m.Width)
		for _, of := range [...][]float32{a.Weight, a.Bias} {
			for j, y := range of {
				size[j] += float64(y) * float64(y) // the product is exact, so that fused or not, the sum has the same bits
			}
		}
	}
	r.Fail(once.Err())
	for i := range size {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(size[j], size[i]) })
	return order
}
