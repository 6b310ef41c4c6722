package encoder

import (
	"cmp"
	"slices"

	"github.com/attn-go/attn/models/internal/tensors"
)

// With LoadOptions.Int8 the model has its columns in another order. 32 inputs of a product share a scale, which is that of the
// largest: one large column takes bits from the 31 beside it. So columns are sorted by their size, and large ones share a
// scale with one another. Norms, sums and products have no order of columns, so that the model is the same: the columns of embeddings
// and norms are permuted, those of weights that read states, and the rows of weights that write them. It is done once, when the
// model is read; the states of the last layer are put back into the order of the file.
//
// The size of a column is the root of the sum of weight² + bias² over the norms whose outputs are rounded: a norm's output
// is weight·z + bias, and z has mean 0 and variance 1 over the columns of a token.

// columns returns the columns by size, the largest first: column i of the model is column order[i] of the file. It is nil, the
// order of the file, if they are not to be sorted, and for weights that are quantized in the file: these keep their blocks.
func (r *reader) columns(s *spec) []int {
	n := &s.names
	if !r.sorted || r.Dry != nil || r.Err() != nil || r.quantized(at(n.out, 0)+".weight") {
		return nil
	}
	norms := []string{n.norm}
	for i := range s.Layers {
		norms = append(norms, at(n.attentionNorm, i), at(n.mlpNorm, i))
	}
	size, order := make([]float64, s.Width), make([]int, s.Width)
	once := &reader{Reader: &tensors.Reader{Store: r.Store, Rename: r.Rename}}
	for _, name := range norms {
		if !r.Has(name + ".weight") {
			continue // the first layer of ModernBERT has no norm of its input
		}
		a := once.norm(name, s)
		for _, of := range [...][]float32{a.Weight, a.Bias} {
			for j, y := range of {
				size[j] += float64(y) * float64(y) // the product is exact, so that fused or not, the sum has the same bits
			}
		}
	}
	r.Fail(once.Err())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(size[j], size[i]) })
	return order
}

// inverse returns the order that undoes another one.
func inverse(order []int) []int {
	if order == nil {
		return nil
	}
	back := make([]int, len(order))
	for i, from := range order {
		back[from] = i
	}
	return back
}

// quantized tells whether the numbers of a tensor are codes in blocks.
func (r *reader) quantized(name string) bool {
	info, _ := r.Info(name)
	_, ok := info.Type.Format()
	return ok
}
