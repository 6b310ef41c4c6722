package encoder

import (
	"math"
	"slices"

	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/folder"
)

// A dense is a layer that follows the pooling.
type dense struct {
	*linear.Linear
	width int
}

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

// finish writes the embedding of a text with the rows x: the pooling and what follows it.
func (e *Encoder) finish(out, x []float32, s *scratch) error {
	v := s.mean[:e.model.Width]
	pool(v, x, e.modules.Pooling)
	for _, a := range e.after {
		if a.dense == nil {
			normalise(v)
			continue
		}
		var err error
		if v, err = e.dense(a, v); err != nil {
			return err
		}
	}
	for i, y := range v {
		out[i] = float32(y)
	}
	return nil
}

// dense computes a layer of one row, whose numbers are rounded to float32.
func (e *Encoder) dense(a after, v []float64) ([]float64, error) {
	x, y := make([]float32, len(v)), make([]float32, a.dense.width)
	for i := range v {
		x[i] = float32(v[i])
	}
	if err := e.rowOf(y, x, a.dense.Linear, a.activation); err != nil {
		return nil, err
	}
	v = make([]float64, len(y))
	widen(v, y)
	return v, nil
}

// rowOf computes y = activation(l(x)) of any number of rows.
func (e *Encoder) rowOf(y, x []float32, l *linear.Linear, act activation) error {
	n, k := l.Shape()
	opts := linear.Options{Exec: e.opts.Exec, Int8: e.int8, Activation: act.fused}
	if err := l.Apply(linear.DenseMatrix(y, len(y)/n, n), linear.DenseMatrix(x, len(x)/k, k), opts); err != nil {
		return err
	}
	if act.after != nil {
		return act.after(y)
	}
	return nil
}
