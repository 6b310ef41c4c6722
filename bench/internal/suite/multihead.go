package suite

import (
	"context"
	"fmt"
	"math"

	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/bench/internal/stats"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/layer"
)

// Layer measures the multi-head module in comparison with the FMA peak, additive attention in
// comparison with the rate of tanh, and norms beside a copy.
func Layer(ctx context.Context, c *Config, f *results.File) error {
	if c.noVectors("layers", f) {
		return ctx.Err()
	}
	for _, measure := range []func(ctx context.Context, tier kernel.Tier, threads int, f *results.File) error{c.multiHeadRows, c.additiveRows, c.normRows} {
		for _, tier := range c.vectorTiers() {
			for _, threads := range c.Threads {
				if err := measure(ctx, tier, threads, f); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// A multiHeadShape is a module of self-attention to time.
type multiHeadShape struct{ batch, tokens, width, heads int }

var multiHeadShapes = []multiHeadShape{{1, 128, 768, 12}, {8, 128, 768, 12}, {1, 1024, 768, 12}}

func (s multiHeadShape) shape() string {
	return fmt.Sprintf("multi-head-%dx%dx%d", s.batch, s.tokens, s.width)
}
func (s multiHeadShape) isQuick() bool { return s == multiHeadShapes[0] }

// String returns batch, tokens, width and heads.
func (s multiHeadShape) String() string {
	return fmt.Sprintf("%d × %d × %d, %d", s.batch, s.tokens, s.width, s.heads)
}

func (s multiHeadShape) flops() float64 {
	n, l, w := float64(s.batch), float64(s.tokens), float64(s.width)
	return 2 * n * (4*l*w*w + 2*l*l*w)
}

// module returns the module with random weights and biases.
func (s multiHeadShape) module() (*layer.MultiHead, error) {
	w := numbers.Normals(3 * s.width * s.width)
	for i := range w {
		w[i] /= float32(math.Sqrt(float64(s.width)))
	}
	return layer.FromTorch(s.width, s.heads, layer.TorchWeights{
		InProjWeight: w, InProjBias: numbers.Normals(3 * s.width),
		OutProjWeight: w[:s.width*s.width], OutProjBias: numbers.Normals(s.width),
	}, kernel.Exec{})
}

func (c *Config) multiHeadRows(ctx context.Context, tier kernel.Tier, threads int, f *results.File) error {
	p := machine.NewProbes().For(tier)
	for _, s := range chosen(c, multiHeadShapes) {
		if err := c.begin(ctx, fmt.Sprintf("multi-head %v %s threads=%d", s, tier, threads)); err != nil {
			return err
		}
		module, err := s.module()
		if err != nil {
			return err
		}
		size := s.batch * s.tokens * s.width
		x := kernel.BLHD(numbers.Normals(size), s.batch, s.tokens, 1, s.width)
		y := kernel.BLHD(make([]float32, size), s.batch, s.tokens, 1, s.width)
		t, peak, spread, err := c.measureWithLimit(ctx, func() error {
			return module.Attend(y, x, x, x, &kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}})
		}, func() float64 { return stats.Median(p.Sample(threads)) })
		if err != nil {
			return err
		}
		rate := s.flops() / t.Ns
		f.MultiHead = append(f.MultiHead, results.Module{Batch: s.batch, Tokens: s.tokens, Width: s.width, Heads: s.heads,
			Tier: tier.String(), Threads: threads, Timing: t, GFLOPs: rate, Peak: peak, PeakSpread: spread, Percent: 100 * rate / peak})
	}
	return nil
}
