package suite

import (
	"context"
	"fmt"
	"sync"

	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/problem"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/bench/internal/stats"
	"github.com/attn-go/attn/kernel"
)

// An option is a setting whose cost is measured: the time of a call with it, relative to
// the time of the same call without it.
type option struct {
	name  string
	share float64 // of the scores that are still computed with the option
	set   func(s *problem.Shape, o *kernel.Options)
}

var options = []option{
	{"causal", 0.5, func(s *problem.Shape, o *kernel.Options) { o.Mask = kernel.Causal(0) }},
	{"window 256", windowShare, func(s *problem.Shape, o *kernel.Options) { o.Mask = kernel.Window(255, 0) }},
	{"key lengths", 1, func(s *problem.Shape, o *kernel.Options) { o.Mask = kernel.KeyLengths([]int{s.Lk}) }},
	{"bool mask [Lq, Lk]", 1, func(s *problem.Shape, o *kernel.Options) {
		o.Mask = kernel.Visible(numbers.Bools(s.Lq*s.Lk), [4]int{1, 1, s.Lq, s.Lk})
	}},
	{"bool mask [B, 1, 1, Lk]", 1, func(s *problem.Shape, o *kernel.Options) {
		o.Mask = kernel.Visible(numbers.Bools(s.Lk), [4]int{1, 1, 1, s.Lk})
	}},
	{"float bias [Lq, Lk]", 1, func(s *problem.Shape, o *kernel.Options) {
		o.Bias = kernel.BHLD(numbers.Normals(s.Lq*s.Lk), 1, 1, s.Lq, s.Lk)
	}},
	{"float bias [H, Lq, Lk]", 1, func(s *problem.Shape, o *kernel.Options) {
		o.Bias = kernel.BHLD(numbers.Normals(s.Heads*s.Lq*s.Lk), 1, s.Heads, s.Lq, s.Lk)
	}},
	{"ALiBi", 1, func(s *problem.Shape, o *kernel.Options) { o.ALiBi = numbers.Normals(s.Heads) }},
	{"softcap", 1, func(s *problem.Shape, o *kernel.Options) { o.Softcap = 30 }},
	{"sinks", 1, func(s *problem.Shape, o *kernel.Options) { o.Sinks = numbers.Normals(s.Heads) }},
	{"LSE", 1, func(s *problem.Shape, o *kernel.Options) {
		o.LSE = kernel.BHLD(make([]float32, s.Heads*s.Lq), 1, s.Heads, s.Lq, 1)
	}},
	{"bfloat16", 1, func(s *problem.Shape, o *kernel.Options) { o.BFloat16 = true }},
	{"dropout", 1, func(s *problem.Shape, o *kernel.Options) { o.Dropout = kernel.Dropout{Rate: 0.1, Seed: 1} }},
	{"weights", 1, func(s *problem.Shape, o *kernel.Options) {
		o.Weights = kernel.BHLD(make([]float32, s.Heads*s.Lq*s.Lk), 1, s.Heads, s.Lq, s.Lk)
	}},
	{"score modification", 1, func(s *problem.Shape, o *kernel.Options) { o.Score = func(*kernel.ScoreTile) {} }},
}

// optionShapes are the shapes that options are measured with. windowShape is for the sliding
// window alone, the others are for all other options.
var optionShapes = []problem.Shape{
	{Name: "prefill-2k-d128", Alias: "E", Heads: 4, KVHeads: 4, Lq: 2048, Lk: 2048, D: 128},
	{Name: "prefill-1k-d64", Alias: "A", Heads: 8, KVHeads: 8, Lq: 1024, Lk: 1024, D: 64},
	{Name: windowShape, Alias: "W", Heads: 2, KVHeads: 2, Lq: 8192, Lk: 8192, D: 64},
}

const windowShape = "prefill-8k-d64"

// windowShare stands for the share of a sliding window, which depends on the shape.
const windowShare = -1

// shareOf returns the share of a shape's scores that are still computed.
func (o *option) shareOf(s *problem.Shape) float64 {
	if o.share != windowShare {
		return o.share
	}
	return (256*float64(s.Lq) - 256*255/2) / (float64(s.Lq) * float64(s.Lk))
}

// optionRows measure the cost of each option: the median ratio of calls with it to calls
// without it right before.
func optionRows(c *Config, f *results.File) (rows []row) {
	if c.noVectors("options", f) {
		return nil
	}
	for i := range optionShapes {
		s := &optionShapes[i]
		random := sync.OnceValue(s.Random)
		for _, tier := range c.vectorTiers() {
			for j := range options {
				if o := &options[j]; c.takes(s.Alias == "A", s.Name, s.Alias) && (o.share == windowShare) == (s.Name == windowShape) {
					rows = append(rows, row{fmt.Sprintf("option %s %s %s", o.name, s.Name, tier), appended(&f.Options, func(ctx context.Context) (results.Option, error) {
						return c.optionRow(ctx, o, s, random(), tier)
					})})
				}
			}
		}
	}
	return rows
}

// optionRow measures an option on a tier.
func (c *Config) optionRow(ctx context.Context, o *option, s *problem.Shape, p *problem.Problem, tier kernel.Tier) (r results.Option, err error) {
	out := p.NewOut()
	var plain, with kernel.Options
	o.set(s, &with)
	call := func(opts *kernel.Options) func() error {
		opts.Exec = kernel.Exec{Tier: tier, Threads: 1}
		return func() error {
			return kernel.Attention(out.Tensor(), p.Q.Tensor(), p.K.Tensor(), p.V.Tensor(), opts)
		}
	}
	_, times, err := c.measure(ctx, defaultTime, nil, call(&plain), call(&with))
	if err != nil {
		return r, err
	}
	var ratios []float64
	for i, ns := range times[0] {
		ratios = append(ratios, times[1][i]/ns)
	}
	return results.Option{Shape: s.Name, Input: p.Describe(), Option: o.name, Tier: tier.String(), Plain: stats.Median(times[0]), With: stats.Median(times[1]),
		Share: o.shareOf(s), Cost: 100 * (stats.Median(ratios)/o.shareOf(s) - 1), Samples: len(ratios)}, nil
}
