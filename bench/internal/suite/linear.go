package suite

import (
	"context"
	"fmt"
	"sync"

	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/bench/internal/stats"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/numeric"
)

// A linearShape is a linear layer to time: rows of k numbers times weights [n, k].
type linearShape struct{ rows, n, k int }

// linearShapes have many rows, and are limited by FMAs, or few, and are limited by reading
// the weights. The weights of the latter are larger than most caches, even with 16 bits.
var linearShapes = []linearShape{
	{128, 768, 768}, {512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048},
	{1, 768, 768}, {1, 16384, 4096}, {2, 16384, 4096}, {4, 16384, 4096}, {8, 16384, 4096},
}

func (s linearShape) shape() string { return fmt.Sprintf("%dx%dx%d", s.rows, s.k, s.n) }
func (s linearShape) isQuick() bool { return s.flops() <= 3e8 }

// String returns rows, inputs and outputs.
func (s linearShape) String() string { return fmt.Sprintf("%d × %d → %d", s.rows, s.k, s.n) }

func (s linearShape) flops() float64 { return 2 * float64(s.rows) * float64(s.n) * float64(s.k) }

// isSkinny says whether reading the weights takes longer than the arithmetic.
func (s linearShape) isSkinny() bool { return s.rows < 16 }

// linearRows measure linear layers, and their share of the FMA peak or of the bandwidth of reading.
func linearRows(c *Config, f *results.File) (rows []row) {
	probes := sync.OnceValue(machine.NewProbes)
	for _, s := range chosen(c, linearShapes) {
		for _, w := range s.weights() {
			layer := sync.OnceValues(func() (*linearLayer, error) { return newLinearLayer(s, w) })
			for _, e := range c.execs(c.Tiers) {
				if e.Tier == machine.Generic && !c.Generic && s.flops() > machine.GenericFlops {
					continue // it would take long
				}
				rows = append(rows, row{fmt.Sprintf("linear %v %s %s threads=%d", s, w.name, e.Tier, e.Threads), appended(&f.Linear, func(ctx context.Context) (r results.Linear, err error) {
					l, err := layer()
					if err != nil {
						return r, err
					}
					return l.measure(ctx, c, e.Tier, e.Threads, probes().For(e.Tier))
				})})
			}
		}
	}
	return rows
}

// linearWeights are the types of weights that are measured.
var linearWeights = []linearType{
	{"float32", 4, 1, false, floatLayer},
	{"float16", 2, 1, false, halfLayer},
	{"Q8_0", 34.0 / 32, 32, false, quantizedLayer(linear.Q8_0, 32, 34, 0)},
	{"Q8_0 × int8", 34.0 / 32, 32, true, quantizedLayer(linear.Q8_0, 32, 34, 0)},
	{"Q4_0", 18.0 / 32, 32, false, quantizedLayer(linear.Q4_0, 32, 18, 0)},
	{"Q4_0 × int8", 18.0 / 32, 32, true, quantizedLayer(linear.Q4_0, 32, 18, 0)},
	{"Q4_1", 20.0 / 32, 32, false, quantizedLayer(linear.Q4_1, 32, 20, 0, 2)},
	{"Q4_1 × int8", 20.0 / 32, 32, true, quantizedLayer(linear.Q4_1, 32, 20, 0, 2)},
	{"Q4_K", 24.0 / 32, 256, false, quantizedLayer(linear.Q4_K, 256, 144, 0, 2)},
	{"Q4_K × int8", 24.0 / 32, 256, true, quantizedLayer(linear.Q4_K, 256, 144, 0, 2)},
	{"Q6_K", 28.0 / 32, 256, false, quantizedLayer(linear.Q6_K, 256, 210, 208)},
	{"Q6_K × int8", 28.0 / 32, 256, true, quantizedLayer(linear.Q6_K, 256, 210, 208)},
}

// A linearType is a type of weights, its bytes per weight in memory, of which number inputs are a multiple, whether
// the rows of x are quantized, and how to make a layer of it.
type linearType struct {
	name  string
	bytes float64
	block int
	int8  bool
	layer func(n, k int, bias []float32) (*linear.Linear, error)
}

// weights are the types of weights that have whole blocks in a row.
func (s linearShape) weights() (list []linearType) {
	for _, w := range linearWeights {
		if s.k%w.block == 0 {
			list = append(list, w)
		}
	}
	return list
}

func floatLayer(n, k int, bias []float32) (*linear.Linear, error) {
	return linear.New(linear.DenseMatrix(numbers.Normals(n*k), n, k), bias, kernel.Exec{})
}

func halfLayer(n, k int, bias []float32) (*linear.Linear, error) {
	halves := make([]kernel.F16, n*k)
	for i, x := range numbers.Normals(n * k) {
		halves[i] = numeric.ToF16(x)
	}
	return linear.New(linear.DenseMatrix(halves, n, k), bias, kernel.Exec{})
}

// quantizedLayer returns a function that makes a layer of blocks of so many weights and bytes, with arbitrary
// integers and small scales. The scales and minima in binary16 are at the places of halves.
func quantizedLayer(f linear.Format, weights, bytes int, halves ...int) func(n, k int, bias []float32) (*linear.Linear, error) {
	return func(n, k int, bias []float32) (*linear.Linear, error) {
		data := make([]byte, n*k/weights*bytes)
		for i := range data {
			data[i] = byte(i * 167 >> 3)
		}
		for i := 0; i < len(data); i += bytes {
			for _, at := range halves {
				data[i+at+1] = byte(numeric.ToF16(0x1p-7) >> 8)
			}
		}
		return linear.FromBlocks(f, data, n, k, bias, kernel.Exec{})
	}
}

// A linearLayer is a linear layer with its input and output.
type linearLayer struct {
	linearShape
	weights string
	int8    bool // see linear.Options
	linear  *linear.Linear
	x, out  linear.Matrix
	bytes   int             // of the weights
	reader  *machine.Reader // of as much memory, for a skinny shape
}

func newLinearLayer(s linearShape, w linearType) (*linearLayer, error) {
	l := &linearLayer{linearShape: s, weights: w.name, int8: w.int8, bytes: int(w.bytes * float64(s.n*s.k))}
	var err error
	if l.linear, err = w.layer(s.n, s.k, numbers.Normals(s.n)); err != nil {
		return nil, err
	}
	l.x = linear.DenseMatrix(numbers.Normals(s.rows*s.k), s.rows, s.k)
	l.out = linear.DenseMatrix(make([]float32, s.rows*s.n), s.rows, s.n)
	if s.isSkinny() {
		l.reader = machine.NewReader(numbers.Huge(l.bytes / 4))
	}
	return l, nil
}

// measure measures the layer, and right beside it what limits it.
func (l *linearLayer) measure(ctx context.Context, c *Config, tier kernel.Tier, threads int, p *machine.Probe) (results.Linear, error) {
	r := results.Linear{Rows: l.rows, Inputs: l.k, Outputs: l.n, Weights: l.weights, Tier: tier.String(), Threads: threads, Limit: results.LimitPeak, Int8: l.int8}
	work, limit := l.flops(), func() float64 { return stats.Median(p.Sample(threads)) }
	if l.isSkinny() {
		r.Limit = results.LimitRead
		work, limit = float64(l.bytes), func() float64 { return l.reader.Rate(1, threads) }
	}
	var err error
	r.Timing, r.LimitRate, r.LimitSpread, err = c.measureWithLimit(ctx, func() error {
		return l.linear.Apply(l.out, l.x, linear.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}, DynamicInt8: l.int8})
	}, limit)
	r.Rate = work / r.Ns
	r.Percent = 100 * r.Rate / r.LimitRate
	return r, err
}
