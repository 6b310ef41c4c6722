package suite

import (
	"context"
	"fmt"

	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/kernel"
)

// An additiveShape is a call of additive attention to time: queries and keys have size
// hidden, and values have size values.
type additiveShape struct{ batch, queries, keys, hidden, values int }

// additiveShapes begin with a decoder's step for a batch of sequences. Its keys and values
// take 64 MiB; to read them takes longer than to compute its tanh. The second shape has
// small values, and the third a whole sequence of queries.
var additiveShapes = []additiveShape{{32, 1, 512, 512, 512}, {32, 1, 512, 512, 64}, {1, 128, 512, 512, 512}}

func (s additiveShape) shape() string {
	return fmt.Sprintf("additive-%dx%dx%dx%dx%d", s.batch, s.queries, s.keys, s.hidden, s.values)
}
func (s additiveShape) isQuick() bool { return s == additiveShapes[0] }

// String returns the shape of the queries, the number of keys and the size of values.
func (s additiveShape) String() string {
	return fmt.Sprintf("[%d, %d, %d], %d, %d", s.batch, s.queries, s.hidden, s.keys, s.values)
}

func (s additiveShape) tanhs() float64 {
	return float64(s.batch) * float64(s.queries) * float64(s.keys) * float64(s.hidden)
}

func (c *Config) additiveRows(ctx context.Context, tier kernel.Tier, threads int, f *results.File) error {
	tanh := machine.TanhProbe(tier)
	for _, s := range chosen(c, additiveShapes) {
		if err := c.begin(ctx, fmt.Sprintf("additive %v %s threads=%d", s, tier, threads)); err != nil {
			return err
		}
		tensor := func(l, d int) kernel.Tensor {
			return kernel.BHLD(numbers.Normals(s.batch*l*d), s.batch, 1, l, d)
		}
		q, k, v, y := tensor(s.queries, s.hidden), tensor(s.keys, s.hidden), tensor(s.keys, s.values), tensor(s.queries, s.values)
		weights := numbers.Normals(s.hidden)
		t, alone, _, err := c.measureWithLimit(ctx, func() error {
			return kernel.Additive(y, q, k, v, weights, &kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}, Scoring: kernel.Scoring{Scale: 0.125}})
		}, func() float64 { return tanh(threads) })
		if err != nil {
			return err
		}
		each := t.Ns / s.tanhs()
		f.Additive = append(f.Additive, results.Additive{Batch: s.batch, Queries: s.queries, Keys: s.keys, Hidden: s.hidden, Values: s.values,
			Tier: tier.String(), Threads: threads, Timing: t, Tanh: each, Alone: alone, Percent: 100 * alone / each})
	}
	return nil
}
