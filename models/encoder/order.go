package encoder

import (
	"cmp"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gguf"
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
	if !r.sorted || r.dry != nil || r.err != nil || r.quantized(r.prefix+at(n.out, 0)+".weight") {
		return nil
	}
	norms := []string{n.norm}
	for i := range s.Layers {
		norms = append(norms, at(n.attentionNorm, i), at(n.mlpNorm, i))
	}
	size, order := make([]float64, s.Width), make([]int, s.Width)
	once := &reader{source: r.source, path: r.path, prefix: r.prefix}
	for _, name := range norms {
		if !r.Has(r.prefix + name + ".weight") {
			continue // the first layer of ModernBERT has no norm of its input
		}
		a := once.norm(name, s)
		for _, of := range [...][]float32{a.Weight, a.Bias} {
			for j, y := range of {
				size[j] += float64(y) * float64(y) // the product is exact, so that fused or not, the sum has the same bits
			}
		}
	}
	r.err = once.err
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(size[j], size[i]) })
	return order
}

// permuteColumns puts rows as long as order in its order: column i becomes what order[i] was. Without an order nothing changes.
func permuteColumns[E any](x []E, order []int) {
	row := make([]E, len(order))
	for ; order != nil && len(x) >= len(order); x = x[len(order):] { // x is empty after an error
		copy(row, x)
		for i, from := range order {
			x[i] = row[from]
		}
	}
}

// permuteRows is permuteColumns for rows of k numbers.
func permuteRows[E any](x []E, k int, order []int) {
	if order == nil || len(x) < k*len(order) {
		return
	}
	old := slices.Clone(x)
	for i, from := range order {
		copy(x[i*k:][:k], old[from*k:])
	}
}

// permuteColumns is that of all numbers.
func (x *numbers) permuteColumns(order []int) {
	permuteColumns(x.f32, order)
	permuteColumns(x.f16, order)
	permuteColumns(x.bf16, order)
}

// permuteRows is that of all numbers.
func (x *numbers) permuteRows(k int, order []int) {
	permuteRows(x.f32, k, order)
	permuteRows(x.f16, k, order)
	permuteRows(x.bf16, k, order)
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
func (folderSource) quantized(string) bool { return false }

// quantized tells whether the numbers of a tensor are codes in blocks.
func (f *ggufSource) quantized(name string) bool {
	t, _ := f.Tensor(name)
	return f.dtype(name) == kernel.Float32 && t.Type != gguf.F32
}
