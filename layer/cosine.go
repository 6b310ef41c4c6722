package layer

import (
	"math"

	"github.com/attn-go/attn/kernel"
)

// Cosine is the cosine of the angle between query and key, q·k/(|q|·|k|) (Graves,
// Wayne, Danihelka: "Neural Turing Machines"), 0 if one of them is all zeros.
// Options.Scale is the sharpness. Queries and keys are float32.
type Cosine struct{}

// Attend implements [Similarity].
func (Cosine) Attend(out, q, k, v kernel.Tensor, opts kernel.Options) error {
	if err := checkFloats("q", &q); err != nil {
		return err
	}
	shape := q.Shape()
	n := elements(shape[:]...)
	if n > maxScratch {
		return fault("q", &q, "fewer queries, as they are copied")
	}
	if opts.Scale == 0 {
		opts.Scale = 1
	}
	s := borrow(n)
	defer s.giveBack()
	unit := kernel.BHLD(s.take(n), shape[0], shape[1], shape[2], shape[3])
	normalise(&unit, &q)
	s.scorer.rescore = (*scorer).divideByKeys
	return s.scorer.attend(out, unit, k, v, opts)
}

// normalise writes the rows of src, divided by their lengths, to dst.
func normalise(dst, src *kernel.Tensor) {
	eachRow(src.Shape(), func(b, h, l int) {
		x, y := row(src, b, h, l), row(dst, b, h, l)
		inv := inverseLength(x)
		for i := range y {
			y[i] = float32(float64(x[i]) * inv)
		}
	})
}

// divideByKeys divides the products with the queries, whose lengths are 1, by the
// lengths of the keys.
func (s *scorer) divideByKeys(t *kernel.ScoreTile) {
	for x := range t.Keys {
		inv := inverseLength(s.key(t, x))
		scores := t.Scores[x*t.Stride:][:len(t.Rows)]
		for r, score := range scores {
			scores[r] = float32(float64(score) * inv)
		}
	}
}

// inverseLength returns 1/|x|, or 0 if that is not a number. In float64 the squares are
// exact, so that it does not matter whether a compiler fuses them with the sum.
func inverseLength(x []float32) float64 {
	sum := 0.0
	for _, e := range x {
		sum += float64(e) * float64(e)
	}
	if sum == 0 {
		return 0
	}
	return 1 / math.Sqrt(sum)
}
