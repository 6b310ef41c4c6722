package suite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

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

// appliesTo says whether the option is measured with a shape.
func (o *option) appliesTo(s *problem.Shape) bool {
	return (o.share == windowShare) == (s.Name == windowShape)
}

// optionRounds is how often the calls with and without an option alternate, unless -time says that
// they go on.
const optionRounds = 7

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
				if o := &options[j]; c.takesOptions(s) && o.appliesTo(s) {
					rows = append(rows, row{fmt.Sprintf("option %s %s %s", o.name, s.Name, tier), appended(&f.Options, func(context.Context) (results.Option, error) {
						return o.measure(s, random(), tier, c.Time)
					})})
				}
			}
		}
	}
	return rows
}

// measure measures the option on a tier, for at least d.
func (o *option) measure(s *problem.Shape, p *problem.Problem, tier kernel.Tier, d time.Duration) (row results.Option, err error) {
	out := p.NewOut()
	call := func(opts kernel.Options) float64 {
		opts.Tier, opts.Threads = tier, 1
		start := time.Now()
		err = errors.Join(err, kernel.Attention(out.Tensor(), p.Q.Tensor(), p.K.Tensor(), p.V.Tensor(), &opts))
		return float64(time.Since(start).Nanoseconds())
	}
	var opts kernel.Options
	o.set(s, &opts)
	var plain, with, ratios []float64
	for n, start := 0, time.Now(); (n <= optionRounds || time.Since(start) < d) && err == nil; n++ {
		x, y := call(kernel.Options{}), call(opts)
		if n > 0 { // the first round is a warm-up
			plain, with, ratios = append(plain, x), append(with, y), append(ratios, y/x)
		}
	}
	return results.Option{Shape: s.Name, Input: p.Describe(), Option: o.name, Tier: tier.String(), Plain: stats.Median(plain), With: stats.Median(with),
		Share: o.shareOf(s), Cost: 100 * (stats.Median(ratios)/o.shareOf(s) - 1), Samples: len(ratios)}, err
}
