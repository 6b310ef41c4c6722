package suite

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/stats"
	"github.com/attn-go/attn/bench/internal/table"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/layer"
)

// Layer prints the speed of the multi-head module in comparison with the FMA peak, that of
// additive attention in comparison with the rate of tanh, and that of norms beside a copy.
func Layer(ctx context.Context, c *Config, out io.Writer) error {
	for _, t := range []struct {
		title, header string
		rows          func(ctx context.Context, tier string, threads int) ([]string, error)
	}{
		{"Multi-head self-attention with its four projections", "batch × tokens × width, heads\ttier\tthreads\ttime\tGFLOP/s\tpeak\t% of peak", multiHeadRows},
		{"Additive attention of projected queries and keys: time for each tanh, in comparison with a loop\nover a slice in L1 that only computes tanh. Calls with one query also wait for memory", "queries [B, Lq, hidden], keys, values\ttier\tthreads\ttime\tns/tanh\ttanh alone\t% of its rate", additiveRows},
		{"Norms of tokens in L2, in comparison with a copy of them", "tokens × width\tnorm\ttier\tthreads\ttime\tns/element\tcopied", normRows},
	} {
		rows := []string{t.header}
		for _, tier := range c.vectorTiers() {
			for _, threads := range c.Threads {
				more, err := t.rows(ctx, tier, threads)
				if err != nil {
					return err
				}
				rows = append(rows, more...)
			}
		}
		fmt.Fprintf(out, "\n%s\n\n", t.title)
		table.Write(out, rows...)
	}
	return nil
}

// A multiHeadShape is a module of self-attention to time.
type multiHeadShape struct{ batch, tokens, width, heads int }

var multiHeadShapes = []multiHeadShape{{1, 128, 768, 12}, {8, 128, 768, 12}, {1, 1024, 768, 12}}

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
	})
}

func multiHeadRows(ctx context.Context, tier string, threads int) (rows []string, err error) {
	p := machine.NewProbes().For(tier)
	for _, s := range multiHeadShapes {
		module, err := s.module()
		if err != nil {
			return nil, err
		}
		size := s.batch * s.tokens * s.width
		x := kernel.BLHD(numbers.Normals(size), s.batch, s.tokens, 1, s.width)
		y := kernel.BLHD(make([]float32, size), s.batch, s.tokens, 1, s.width)
		ns, peak, err := measureWithLimit(ctx, func() error {
			return module.Attend(y, x, x, x, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}})
		}, func() float64 { return stats.Median(p.Sample()) * float64(threads) })
		if err != nil {
			return nil, err
		}
		rate := s.flops() / ns
		rows = append(rows, fmt.Sprintf("%v\t%s\t%d\t%s\t%.1f\t%.1f\t%.1f%%", s, tier, threads, table.Duration(ns), rate, peak, 100*rate/peak))
	}
	return rows, nil
}
