package suite

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/problem"
	"github.com/attn-go/attn/bench/internal/stats"
	"github.com/attn-go/attn/bench/internal/table"
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
	{"dropout", 1, func(s *problem.Shape, o *kernel.Options) { o.Dropout = kernel.Dropout{Rate: 0.1, Seed: 1} }},
	{"weights", 1, func(s *problem.Shape, o *kernel.Options) {
		o.Weights = kernel.BHLD(make([]float32, s.Heads*s.Lq*s.Lk), 1, s.Heads, s.Lq, s.Lk)
	}},
	{"score modification", 1, func(s *problem.Shape, o *kernel.Options) { o.Score = func(*kernel.ScoreTile) {} }},
}

// optionShapes are the shapes that options are measured with. Shape W is for the sliding
// window alone, the others are for all other options.
var optionShapes = []problem.Shape{
	{Name: "E", Heads: 4, KVHeads: 4, Lq: 2048, Lk: 2048, D: 128},
	{Name: "A", Heads: 8, KVHeads: 8, Lq: 1024, Lk: 1024, D: 64},
	{Name: windowShape, Heads: 2, KVHeads: 2, Lq: 8192, Lk: 8192, D: 64},
}

const windowShape = "W"

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

// optionRounds is how often the calls with and without an option alternate.
const optionRounds = 7

// Options prints the cost of each option: the median ratio of calls with it to calls
// without it right before.
func Options(ctx context.Context, c *Config, out io.Writer) error {
	fmt.Fprintln(out, "\nCost of options on one thread: the time with an option in comparison with that of the same call")
	fmt.Fprintln(out, "without it. If an option leaves out a part of the scores, the comparison is with the time of the")
	fmt.Fprintln(out, "other part. That costs something, as blocks of scores are computed as a whole.")
	for i := range optionShapes {
		s := &optionShapes[i]
		p := s.Random()
		rows := []string{"option\ttier\tplain\twith\tcost"}
		for _, tier := range c.vectorTiers() {
			more, err := optionRows(ctx, s, p, tier)
			if err != nil {
				return err
			}
			rows = append(rows, more...)
		}
		fmt.Fprintf(out, "\n%s: %s\n\n", s.Name, p.Describe())
		table.Write(out, rows...)
	}
	return ctx.Err()
}

// optionRows measures all options on a tier. After an interrupt it returns those that were
// measured before.
func optionRows(ctx context.Context, s *problem.Shape, p *problem.Problem, tier string) ([]string, error) {
	o := p.NewOut()
	call := func(opts kernel.Options) (float64, error) {
		opts.Tier, opts.Threads = tier, 1
		start := time.Now()
		err := kernel.Attention(o.Tensor(), p.Q.Tensor(), p.K.Tensor(), p.V.Tensor(), opts)
		return time.Since(start).Seconds(), err
	}
	var rows []string
	for i := range options {
		if !options[i].appliesTo(s) || ctx.Err() != nil {
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
			if n > 0 { // the first round is a warm-up
				plain, with, ratios = append(plain, x), append(with, y), append(ratios, y/x)
			}
		}
		cost := 100 * (stats.Median(ratios)/options[i].shareOf(s) - 1)
		rows = append(rows, fmt.Sprintf("%s\t%s\t%.2f ms\t%.2f ms\t%+.1f%%", options[i].name, tier,
			1e3*stats.Median(plain), 1e3*stats.Median(with), math.Round(cost*10)/10))
	}
	return rows, nil
}
