package suite

import (
	"context"
	"fmt"

	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/norm"
)

// A normShape is a batch of tokens to normalise.
type normShape struct{ tokens, width int }

// normShapes are tokens of MiniLM and of SmolLM2, and wide ones. All lie in L2.
var normShapes = []normShape{{128, 384}, {128, 576}, {16, 4096}}

func (s normShape) shape() string { return fmt.Sprintf("norm-%dx%d", s.tokens, s.width) }
func (s normShape) isQuick() bool { return s == normShapes[0] }

func (s normShape) String() string { return fmt.Sprintf("%d × %d", s.tokens, s.width) }

// normRows times both norms, alone and with a residual. The limit is that of loads and stores: a
// copy of as many rows loads and stores every element once, while RMS loads it twice and the
// weight once, and Layer one more of both.
func (c *Config) normRows(ctx context.Context, tier kernel.Tier, threads int, file *results.File) error {
	for _, s := range chosen(c, normShapes) {
		n := s.tokens * s.width
		x, y, r := numbers.Normals(n), make([]float32, n), numbers.Normals(n)
		weight, bias := numbers.Normals(s.width), numbers.Normals(s.width)
		t := func(data []float32) kernel.Tensor { return kernel.BLHD(data, 1, s.tokens, 1, s.width) }
		plain := norm.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}}
		residual := plain
		residual.Residual = t(r)
		for _, f := range []struct {
			name string
			call func() error
		}{
			{"RMS", func() error { return norm.RMSNorm(t(y), t(x), weight, 1e-5, plain) }},
			{"RMS of a sum", func() error { return norm.RMSNorm(t(y), t(x), weight, 1e-5, residual) }},
			{"Layer", func() error { return norm.LayerNorm(t(y), t(x), weight, bias, 1e-5, plain) }},
			{"Layer of a sum", func() error { return norm.LayerNorm(t(y), t(x), weight, bias, 1e-5, residual) }},
		} {
			if err := c.begin(ctx, fmt.Sprintf("norm %v %s threads=%d", s, tier, threads)); err != nil {
				return err
			}
			times, _, err := c.alternate(ctx, []func() error{f.call, func() error { copy(y, x); return nil }})
			if err != nil {
				return err
			}
			file.Norms = append(file.Norms, results.Norm{Tokens: s.tokens, Width: s.width, Norm: f.name, Tier: tier.String(), Threads: threads, Timing: times[0],
				Element: times[0].Ns / float64(n), Copy: times[1].Ns / float64(n)})
		}
	}
	return nil
}
