package encoder

import (
	"math"
	"slices"
)

// pool computes the embedding of a text: the mean of its rows x, [tokens, width], divided by
// its L2 norm, which counts as at least 1e-12. All sums are of float64: those of a column from
// the first token to the last, that of the squares from the first column to the last. mean has
// room for width numbers.
func pool(out, x []float32, mean []float64) {
	clear(mean)
	for row := range slices.Chunk(x, len(out)) {
		for i, y := range row {
			mean[i] += float64(y)
		}
	}
	n, squares := float64(len(x)/len(out)), 0.0
	for i := range mean {
		mean[i] /= n
		squares += float64(mean[i] * mean[i]) // the conversion keeps the product from being fused
	}
	length := max(math.Sqrt(squares), 1e-12)
	for i := range out {
		out[i] = float32(mean[i] / length)
	}
}
