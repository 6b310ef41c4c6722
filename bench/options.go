package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"time"

	"github.com/attn-go/attn/kernel"
)

// An option is a setting whose price is measured against the same call without
// it. Where less is to be computed than without, work is the share that is left.
type option struct {
	name string
	work float64
	set  func(s *shape, o *kernel.Options)
}

var options = []option{
	{"causal", 0.5, func(s *shape, o *kernel.Options) { o.Mask = kernel.Causal(0) }},
	{"window 256", windowWork, func(s *shape, o *kernel.Options) { o.Mask = kernel.Window(255, 0) }},
	{"key lengths", 1, func(s *shape, o *kernel.Options) { o.Mask = kernel.KeyLengths([]int{s.lk}) }},
	{"bool mask [Lq, Lk]", 1, func(s *shape, o *kernel.Options) {
		o.Mask = kernel.Visible(randomBools(s.lq*s.lk), [4]int{1, 1, s.lq, s.lk})
	}},
	{"bool mask [B, 1, 1, Lk]", 1, func(s *shape, o *kernel.Options) {
		o.Mask = kernel.Visible(randomBools(s.lk), [4]int{1, 1, 1, s.lk})
	}},
	{"float bias [Lq, Lk]", 1, func(s *shape, o *kernel.Options) {
		o.Bias = kernel.BHLD(normals(s.lq*s.lk), 1, 1, s.lq, s.lk)
	}},
	{"float bias [H, Lq, Lk]", 1, func(s *shape, o *kernel.Options) {
		o.Bias = kernel.BHLD(normals(s.heads*s.lq*s.lk), 1, s.heads, s.lq, s.lk)
	}},
	{"ALiBi", 1, func(s *shape, o *kernel.Options) { o.ALiBi = normals(s.heads) }},
	{"softcap", 1, func(s *shape, o *kernel.Options) { o.Softcap = 30 }},
	{"sinks", 1, func(s *shape, o *kernel.Options) { o.Sinks = normals(s.heads) }},
	{"LSE", 1, func(s *shape, o *kernel.Options) {
		o.LSE = kernel.BHLD(make([]float32, s.heads*s.lq), 1, s.heads, s.lq, 1)
	}},
	{"dropout", 1, func(s *shape, o *kernel.Options) { o.Dropout = kernel.Dropout{Rate: 0.1, Seed: 1} }},
	{"weights", 1, func(s *shape, o *kernel.Options) {
		o.Weights = kernel.BHLD(make([]float32, s.heads*s.lq*s.lk), 1, s.heads, s.lq, s.lk)
	}},
	{"score hook", 1, func(s *shape, o *kernel.Options) { o.Score = func(*kernel.ScoreTile) {} }},
}

// optionShapes are the shapes that options are measured at. W is there for the
// sliding window.
var optionShapes = []shape{
	{"E", 4, 4, 2048, 2048, 128, false},
	{"A", 8, 8, 1024, 1024, 64, false},
	{"W", 2, 2, 8192, 8192, 64, false},
}

// windowWork stands for the share of a window's scores.
const windowWork = -1

// share is how much of the scores an option leaves.
func (o *option) share(s *shape) float64 {
	if o.work != windowWork {
		return o.work
	}
	return (256*float64(s.lq) - 256*255/2) / (float64(s.lq) * float64(s.lk))
}

// measuredAt tells whether an option is measured at a shape: all at the first two, at
// the last those that leave only a part of it.
func (o *option) measuredAt(s *shape) bool {
	if s.name == "W" {
		return o.work == windowWork
	}
	return o.work != windowWork
}

func randomBools(n int) []bool {
	r := rand.New(rand.NewPCG(3, 4))
	s := make([]bool, n)
	for i := range s {
		s[i] = r.IntN(8) != 0
	}
	return s
}

func normals(n int) []float32 {
	r := rand.New(rand.NewPCG(1, 2))
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(r.NormFloat64())
	}
	return s
}

// optionRounds is how often the calls with and without an option alternate.
const optionRounds = 7

// reportOptions prints what each option costs: the median ratio of calls with it to
// calls without it right before.
func reportOptions(ctx context.Context, c *config, out io.Writer) error {
	fmt.Fprintln(out, "\nWhat options cost, on one thread: time beside that of the same call without. Where an")
	fmt.Fprintln(out, "option leaves a part of the scores, beside that part of the time (a block is done as a whole).")
	for i := range optionShapes {
		s := &optionShapes[i]
		rows := []string{"option\ttier\tplain\twith\tcost"}
		for _, tier := range c.tiers {
			if tier == "generic" && !c.tiersAsked {
				continue
			}
			more, err := optionRows(ctx, s, tier)
			if err != nil {
				return err
			}
			rows = append(rows, more...)
		}
		fmt.Fprintf(out, "\n%s: %s\n\n", s.name, s.group().describe())
		table(out, rows...)
	}
	return nil
}

func optionRows(ctx context.Context, s *shape, tier string) ([]string, error) {
	g := s.group()
	o := g.newOut()
	call := func(opts kernel.Options) (float64, error) {
		opts.Tier, opts.Threads = tier, 1
		start := time.Now()
		err := kernel.Attention(o.tensor(), g.q.tensor(), g.k.tensor(), g.v.tensor(), opts)
		return time.Since(start).Seconds(), err
	}
	var rows []string
	for i := range options {
		if !options[i].measuredAt(s) || ctx.Err() != nil {
			continue
		}
		var opts kernel.Options
		options[i].set(s, &opts)
		var plain, with, ratios []float64
		for n := 0; n <= optionRounds; n++ {
			x, err := call(kernel.Options{})
			if err != nil {
				return nil, err
			}
			y, err := call(opts)
			if err != nil {
				return nil, err
			}
			if n > 0 { // the first warms up
				plain, with, ratios = append(plain, x), append(with, y), append(ratios, y/x)
			}
		}
		cost := 100 * (median(ratios)/options[i].share(s) - 1)
		rows = append(rows, fmt.Sprintf("%s\t%s\t%.2f ms\t%.2f ms\t%+.1f%%", options[i].name, tier,
			1e3*median(plain), 1e3*median(with), math.Round(cost*10)/10))
	}
	return rows, nil
}
