package suite

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/attn-go/attn/bench/internal/calls"
	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/bench/internal/stats"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// A linearShape is a linear layer to time: rows of k numbers times weights [n, k].
type linearShape struct{ rows, n, k int }

// linearShapes have many rows, and are limited by FMAs, or few, and are limited by reading
// the weights. The weights of the latter are larger than most caches, even with 16 bits.
var linearShapes = []linearShape{
	{128, 768, 768}, {512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048},
	{1, 768, 768}, {1, 16384, 4096}, {2, 16384, 4096}, {4, 16384, 4096}, {8, 16384, 4096},
}

func (s *linearShape) shape() string { return fmt.Sprintf("%dx%dx%d", s.rows, s.k, s.n) }

func (s *linearShape) flops() float64 { return 2 * float64(s.rows) * float64(s.n) * float64(s.k) }

// linearWeights returns the types of weights that are measured.
func linearWeights() []calls.Weights {
	formats := []linear.Format{linear.Q8_0, linear.Q4_0, linear.Q4_1, linear.Q4_K, linear.Q6_K}
	return slices.Concat(calls.Floats, calls.Quantized(false, formats...), calls.Quantized(true, formats...))
}

// linearRows measure linear layers, and their share of the FMA peak or of the bandwidth of reading.
func linearRows(c *Config, f *results.File) (rows []row) {
	probes := sync.OnceValue(machine.NewProbes)
	for _, s := range linearShapes {
		if !c.takes(s.flops() <= 3e8, s.shape()) {
			continue
		}
		for _, w := range linearWeights() {
			if s.k%w.Block != 0 {
				continue
			}
			layer := sync.OnceValues(func() (*linearLayer, error) { return newLinearLayer(s, w) })
			for _, e := range c.execs(c.Tiers) {
				if c.skips(e.Tier, s.flops()) {
					continue
				}
				rows = append(rows, row{fmt.Sprintf("linear %s %s %s threads=%d", s.shape(), w.Name, e.Tier, e.Threads), appended(&f.Linear, func(ctx context.Context) (r results.Linear, err error) {
					l, err := layer()
					if err != nil {
						return r, err
					}
					return l.measure(ctx, c, e, probes().For(e.Tier))
				})})
			}
		}
	}
	return rows
}

// A linearLayer is a call of a linear layer.
type linearLayer struct {
	linearShape
	calls.Weights
	call   calls.Call
	bytes  int             // of the weights
	reader *machine.Reader // of as much memory, for few rows; else nil
}

func newLinearLayer(s linearShape, w calls.Weights) (*linearLayer, error) {
	layer, err := w.Layer(s.n, s.k)
	if err != nil {
		return nil, err
	}
	l := &linearLayer{linearShape: s, Weights: w, call: calls.Product(layer, numbers.Normals(s.rows*s.k), w.Int8), bytes: int(layer.PackedSize())}
	if s.rows < 16 { // reading the weights takes longer than the arithmetic
		l.reader = machine.NewReader(numbers.Huge(l.bytes / 4))
	}
	return l, nil
}

// measure measures the layer, and right beside it what limits it.
func (l *linearLayer) measure(ctx context.Context, c *Config, e kernel.Exec, p *machine.Probe) (results.Linear, error) {
	r := results.Linear{Rows: l.rows, Inputs: l.k, Outputs: l.n, Weights: l.Name, Tier: e.Tier.String(), Threads: e.Threads, Limit: results.LimitPeak, Int8: l.Int8}
	work, limit := l.flops(), func() []float64 { return p.Sample(e.Threads) }
	if l.reader != nil {
		r.Limit = results.LimitRead
		work, limit = float64(l.bytes), func() []float64 { return []float64{l.reader.Rate(1, e.Threads)} }
	}
	rates, times, err := c.measure(ctx, defaultTime, []func() []float64{limit}, func() error { return l.call(e) })
	if err != nil {
		return r, err
	}
	r.Timing, r.LimitRate, r.LimitSpread = results.NewTiming(times[0]), stats.Median(rates[0]), stats.Spread(rates[0])
	r.Rate = work / r.Ns
	r.Percent = 100 * r.Rate / r.LimitRate
	return r, nil
}
