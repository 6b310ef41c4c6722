package layer

import (
	"cmp"
	"math"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/position"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// Cosine is the cosine of the angle between query and key, q·k/(|q|·|k|), or 0 if query or key is
// all zeros (Graves, Wayne, Danihelka: "Neural Turing Machines"). It lies between -1 and 1, so the
// weights differ little with the default Scale of 1: Options.Scale sets how sharp they are. Queries
// and keys are float32.
//
// It is [Dot] of the rows x/|x| of q and k. Such a row is x[i]·inv, rounded to float32, with
// inv = 1/√(x[0]² + x[1]² + ...) in float64, where the sum is in ascending order and each operation
// rounds; inv is 0 if the sum is. Keys that no query sees are not read.
type Cosine struct{}

// Attend implements [Similarity]. It copies queries and keys to memory that is recycled.
func (Cosine) Attend(out, q, k, v kernel.Tensor, opts *kernel.Options) error {
	o := valueOf(opts)
	if bad := cmp.Or(
		viewOf(&q).CheckPlainFloats("q"), viewOf(&k).CheckPlainFloats("k"),
		checkMemory(&out, &o, qkv[:], &q, &k, &v), checkMask(&o.Scoring, &q, &k),
	); bad != nil {
		return (*kernel.Error)(bad.In("layer.Cosine.Attend"))
	}
	shapeQ, shapeK := q.Shape(), k.Shape()
	s := getScratch(product(shapeQ[:]...), product(shapeK[:]...))
	if s == nil {
		return (*kernel.Error)(memoryFailure("q", &q, "fewer queries and keys: memory for copies of them").In("layer.Cosine.Attend"))
	}
	defer s.release()
	unitQ, unitK := s.units(&q, &k, &o.Scoring, o.Scores.IsZero() || o.ScoreStage == kernel.ScoresMasked)
	return Dot{}.Attend(out, unitQ, unitK, v, &o)
}

// checkMask reports a mask that does not fit q and k. One with lists of keys counts their entries,
// and is left to the call.
func checkMask(o *kernel.Scoring, q, k *kernel.Tensor) *check.Failure {
	c := scoresOf(q, k)
	if s := scoringOf(o); !s.KeyRows.IsSet() {
		return s.Mask.Check(&c)
	}
	return nil
}

// scoresOf returns the shape of the scores of q and k.
func scoresOf(q, k *kernel.Tensor) view.Scores {
	shape := q.Shape()
	return view.Scores{Batch: shape[0], Heads: shape[1], Queries: shape[2], Keys: k.Shape()[2]}
}

// units returns copies of q and k with all rows normalised, but for keys that no query sees. Those
// are not read, if seenOnly. The mask has passed checkMask.
func (s *scratch) units(q, k *kernel.Tensor, o *kernel.Scoring, seenOnly bool) (unitQ, unitK kernel.Tensor) {
	unitQ, unitK = s.denseLike(q, q.Shape()[3]), s.denseLike(k, k.Shape()[3])
	eachRow(q.Shape(), func(b, h, l int) { normalise(row(&unitQ, b, h, l), row(q, b, h, l)) })
	c, shape := scoresOf(q, k), k.Shape()
	if isEmpty(shape) || isEmpty(q.Shape()) {
		return unitQ, unitK // other dimensions may be any numbers
	}
	if shape[0] != c.Batch || !position.Fits(o.QueryStart, c.Batch) || !position.Fits(o.KeyStart, c.Batch) {
		return unitQ, unitK // the call reports it
	}
	if s.visible = (mask.Mask{}); !scoringOf(o).KeyRows.IsSet() && o.Parents == nil { // otherwise all rows may be keys
		s.visible = mask.Mask(o.Mask)
	}
	s.visible.Resolve(&c)
	for b := range c.Batch {
		seen := s.seenKeys(b, &c, o, seenOnly)
		for j := seen.Lo; j < seen.Hi; j++ {
			if seenOnly && s.isSkipped(b, j, &c, o) {
				continue
			}
			for h := range shape[1] {
				normalise(row(&unitK, b, h, j), row(k, b, h, j))
			}
		}
	}
	return unitQ, unitK
}

// seenKeys returns a span of all keys of batch row b that a query sees, or of all that exist.
func (s *scratch) seenKeys(b int, c *view.Scores, o *kernel.Scoring, seenOnly bool) mask.Span {
	if !s.visible.IsSet() || !seenOnly {
		return mask.Span{Hi: s.visible.Length(b, c.Keys)}
	}
	seen := mask.Nothing
	for i := range c.Queries {
		seen = seen.Union(s.visible.Span(scoringOf(o).Query(b, i, c.Keys)))
	}
	return seen
}

// isSkipped tells whether a mask with gaps hides key j of batch row b from all queries.
func (s *scratch) isSkipped(b, j int, c *view.Scores, o *kernel.Scoring) bool {
	if !s.visible.HasGaps() {
		return false
	}
	for i := range c.Queries {
		q := scoringOf(o).Query(b, i, c.Keys)
		if s.visible.Next(q, s.visible.Span(q).And(mask.Span{Lo: j, Hi: j + 1})).Len() > 0 {
			return false
		}
	}
	return true
}

// normalise sets y to x/|x|.
func normalise(y, x []float32) {
	inv := inverseNorm(x)
	for i := range y {
		y[i] = float32(float64(x[i]) * inv)
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
