package embedding

import (
	"math"
	"slices"

	"github.com/attn-go/attn/models/folder"
)

// pool writes the pooling of a text's rows x, [tokens, width], to v. All sums are of float64: those
// of a column from the first token to the last.
func pool(v []float64, x []float32, how folder.Pooling) {
	w := len(v)
	switch how {
	case folder.First:
		widen(v, x[:w])
	case folder.Last:
		widen(v, x[len(x)-w:])
	case folder.Max:
		widen(v, x[:w])
		for row := range slices.Chunk(x, w) {
			for i, y := range row {
				v[i] = max(v[i], float64(y))
			}
		}
	default:
		mean(v, x, how == folder.WeightedMean)
	}
}

func widen(v []float64, x []float32) {
	for i, y := range x {
		v[i] = float64(y)
	}
}

// mean writes the mean of rows. With weights that of row i = 1, 2, ... is i.
func mean(v []float64, x []float32, weighted bool) {
	clear(v)
	weight, sum := 1.0, 0.0
	for row := range slices.Chunk(x, len(v)) {
		for i, y := range row {
			v[i] += float64(weight * float64(y))
		}
		sum += weight
		if weighted {
			weight++
		}
	}
	for i := range v {
		v[i] /= sum
	}
}

// normalise divides v by its L2 norm, which counts as at least 1e-12. The sum of the squares goes
// from the first number to the last.
func normalise(v []float64) {
	squares := 0.0
	for _, y := range v {
		squares += float64(y * y) // the conversion keeps the product from being fused
	}
	length := max(math.Sqrt(squares), 1e-12)
	for i := range v {
		v[i] /= length
	}
}
