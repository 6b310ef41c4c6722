package embedding

import (
	"math"
	"slices"
)

// pool writes the poolings of a text's rows x, [tokens, width], to v, one after the other. Rows
// before the first one do not count, except that weights of rows count them. All sums are of
// float64; a column is summed from the first token to the last. Without a row that counts, v is
// zeros.
func pool(v []float64, x []float32, poolings []Pooling, first int) {
	w := len(v) / len(poolings)
	if first*w >= len(x) {
		clear(v)
		return
	}
	for i, how := range poolings {
		poolOne(v[i*w:][:w], x[first*w:], how, first)
	}
}

// poolOne writes one pooling of rows, before which there are so many others.
func poolOne(v []float64, x []float32, how Pooling, before int) {
	w := len(v)
	switch how {
	case PoolFirst:
		widen(v, x[:w])
	case PoolLast:
		widen(v, x[len(x)-w:])
	case PoolMax:
		widen(v, x[:w])
		for row := range slices.Chunk(x, w) {
			for i, y := range row {
				v[i] = max(v[i], float64(y))
			}
		}
	case PoolWeightedMean:
		divide(v, sum(v, x, before+1, 1))
	case PoolMeanSqrt:
		divide(v, math.Sqrt(sum(v, x, 1, 0)))
	default:
		divide(v, sum(v, x, 1, 0))
	}
}

func widen(v []float64, x []float32) {
	for i, y := range x {
		v[i] = float64(y)
	}
}

// sum writes the sum of rows with the weights first, first+step, ... and returns the sum of the
// weights.
func sum(v []float64, x []float32, first, step int) (weights float64) {
	clear(v)
	weight := float64(first)
	for row := range slices.Chunk(x, len(v)) {
		for i, y := range row {
			v[i] += float64(weight * float64(y))
		}
		weights += weight
		weight += float64(step)
	}
	return weights
}

func divide(v []float64, by float64) {
	for i := range v {
		v[i] /= by
	}
}

// center makes the mean of v 0 and its variance 1, to which epsilon is added before the root. Sums
// go from the first number to the last.
func center(v []float64, epsilon float64) {
	mean, squares := 0.0, 0.0
	for _, y := range v {
		mean += y
	}
	mean /= float64(len(v))
	for i := range v {
		v[i] -= mean
		squares += float64(v[i] * v[i])
	}
	divide(v, math.Sqrt(squares/float64(len(v))+epsilon))
}

// normalise divides v by its L2 norm, which counts as at least 1e-12. The sum of the squares goes
// from the first number to the last.
func normalise(v []float64) {
	squares := 0.0
	for _, y := range v {
		squares += float64(y * y) // the conversion keeps the product from being fused
	}
	divide(v, max(math.Sqrt(squares), 1e-12))
}
