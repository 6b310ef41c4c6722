package layer

import (
	"math"

	"github.com/attn-go/attn/kernel"
)

// Cosine is the cosine of the angle between query and key, q·k/(|q|·|k|), or 0 if one of
// them is all zeros (Graves, Wayne, Danihelka: "Neural Turing Machines"). It lies between
// -1 and 1, so the weights differ little with the default Scale of 1: Options.Scale sets
// how sharp they are. Queries and keys are float32.
type Cosine struct{}

// Attend implements [Similarity]. It copies the queries to memory that is recycled.
func (Cosine) Attend(out, q, k, v kernel.Tensor, opts kernel.Options) error {
	if err := checkFloats("q", &q); err != nil {
		return err
	}
	if err := checkMemory(&out, &opts, qkv[:], &q, &k, &v); err != nil {
		return err
	}
	shape := q.Shape()
	n := product(shape[:]...)
	if opts.Scale == 0 {
		opts.Scale = 1
	}
	s := getScratch(n)
	if s == nil {
		return tensorError("q", &q, "fewer queries: memory for a copy of them")
	}
	defer s.release()
	normalised := kernel.BHLD(s.takeFloats(n), shape[0], shape[1], shape[2], shape[3])
	normalise(&normalised, &q)
	s.custom.compute = (*customScore).divideByKeyNorms
	return s.custom.attend(out, normalised, k, v, opts)
}

// normalise sets every row of dst to x/|x|, x being the same row of src.
func normalise(dst, src *kernel.Tensor) {
	eachRow(src.Shape(), func(b, h, l int) {
		x, y := row(src, b, h, l), row(dst, b, h, l)
		inv := inverseNorm(x)
		for i := range y {
			y[i] = float32(float64(x[i]) * inv)
		}
	})
}

// divideByKeyNorms divides the scores of every key by the norm of the key. The queries
// have been normalised.
func (c *customScore) divideByKeyNorms(t *kernel.ScoreTile) {
	for x := range t.Keys {
		inv := inverseNorm(c.key(t, x))
		scores := t.Scores[x*t.Stride:][:len(t.Rows)]
		for r, score := range scores {
			scores[r] = float32(float64(score) * inv)
		}
	}
}

// inverseNorm returns 1/|x|, or 0 if x is all zeros. A product of two float32 is exact in
// float64, so that it does not matter whether the compiler fuses it with the sum.
func inverseNorm(x []float32) float64 {
	sum := 0.0
	for _, e := range x {
		sum += float64(e) * float64(e)
	}
	if sum == 0 {
		return 0
	}
	return 1 / math.Sqrt(sum)
}
