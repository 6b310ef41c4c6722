package embed

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/attn-go/attn/models/embedding"
)

// A hit is a line with its cosine to the query.
type hit struct {
	score float64
	line  line
}

// rank writes the top lines that are nearest to the query, best first. Of equal lines the one that
// was read first comes first. After an interrupt it ranks the lines so far.
func (s *stream) rank(ctx context.Context, asker *embedding.Embedder, query string, top int, out io.Writer, p painter) error {
	if err := s.lengths.add(&line{file: "-query", text: query}); err != nil {
		return err
	}
	q, err := asker.Embed(ctx, []string{query})
	if err != nil {
		return err
	}
	var best []hit
	err = s.each(ctx, func(lines []line, vectors [][]float32) error {
		for i, l := range lines {
			best = append(best, hit{dot(q[0], vectors[i]), l})
		}
		slices.SortStableFunc(best, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
		best = best[:min(top, len(best))]
		return nil
	})
	_, failed := io.WriteString(out, p.hits(best))
	return errors.Join(err, failed)
}

// dot returns the scalar product, in float64, where the product of two float32 is exact.
func dot(x, y []float32) float64 {
	sum := 0.0
	for i := range x {
		sum += float64(float64(x[i]) * float64(y[i]))
	}
	return sum
}
