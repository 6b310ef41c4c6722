package suite

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/attn-go/attn/bench/internal/check"
	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/fallback"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/norm"
)

// pytorchErrors are PyTorch's errors on the same cases, as bench/peers/accuracy.py measured
// them.
//
//go:embed testdata/pytorch.json
var pytorchErrors []byte

// pytorchAccuracy is the content of pytorchErrors.
type pytorchAccuracy struct {
	Version, CPU string
	Cases        map[string]results.Error
}

// An accuracyCase is a call whose error against float64 is measured. bench/peers/accuracy.py makes
// the same numbers.
type accuracyCase struct {
	kind     string  // kindAttention, kindLinear, "RMSNorm" or "LayerNorm"
	width    int     // of a row: D of attention or of a norm, K of a linear layer
	keys     int     // of attention
	positive bool    // magnitudes instead of numbers of both signs
	factor   float32 // by which queries are multiplied
}

const (
	kindAttention = "attention"
	kindLinear    = "linear layer"
)

const (
	accuracyRowCount = 128
	accuracyOutputs  = 64 // columns of the values, or outputs of a linear layer
)

// String names the case as in pytorch.json.
func (c accuracyCase) String() string {
	s := fmt.Sprintf("%s %d", c.kind, c.width)
	switch c.kind {
	case kindAttention:
		s = fmt.Sprintf("D %d, %d keys", c.width, c.keys)
	case kindLinear:
		s = fmt.Sprintf("K %d", c.width)
	}
	switch {
	case c.positive:
		return s + ", positive"
	case c.factor != 1:
		return fmt.Sprintf("%s, queries × %g", s, c.factor)
	}
	return s
}

// accuracyCases are the cases in the order of the tables.
func accuracyCases() (cases []accuracyCase) {
	add := func(kind string, keys int, positive bool, factor float32, widths ...int) {
		for _, n := range widths {
			cases = append(cases, accuracyCase{kind, n, keys, positive, factor})
		}
	}
	for _, positive := range []bool{false, true} {
		add(kindAttention, 512, positive, 1, 32, 64, 80, 96, 128, 192, 256, 576, 1024, 4096)
		add(kindAttention, 32768, positive, 1, 64)
	}
	for _, d := range []int{64, 128} {
		add(kindAttention, 512, false, 30, d)
		add(kindAttention, 512, false, 2000, d) // products of up to 1.5e2 and 1e4
	}
	for _, positive := range []bool{false, true} {
		add(kindLinear, 0, positive, 1, 128, 384, 576, 768, 1536, 4096, 11008)
		add("RMSNorm", 0, positive, 1, 384, 576, 1024, 4096)
		add("LayerNorm", 0, positive, 1, 384, 576, 1024, 4096)
	}
	return cases
}

// accuracyRows measure the errors of attention, linear layers and norms against float64, and lay
// them beside PyTorch's on the same numbers.
func accuracyRows(c *Config, f *results.File) (rows []row) {
	pytorch := sync.OnceValues(func() (p pytorchAccuracy, err error) { return p, json.Unmarshal(pytorchErrors, &p) })
	for _, a := range accuracyCases() {
		if c.Quick && (a.width > 1024 || a.keys > 512) {
			continue
		}
		rows = append(rows, row{"accuracy " + a.String(), func(context.Context) error {
			p, err := pytorch()
			if err != nil {
				return err
			}
			e, err := a.measure(c.Tiers[0])
			if err != nil {
				return err
			}
			if f.Accuracy == nil {
				f.Accuracy = &results.Accuracy{PyTorch: p.Version, CPU: p.CPU, Tier: c.Tiers[0].String(), Rows: accuracyRowCount}
			}
			kind := a.kind
			if strings.HasSuffix(kind, "Norm") {
				kind = "norm"
			}
			f.Accuracy.Cases = append(f.Accuracy.Cases, results.AccuracyCase{Kind: kind, Case: a.String(), Error: e, PyTorch: p.Cases[a.String()]})
			return nil
		}})
	}
	return rows
}

// numbers returns n numbers of the case.
func (c accuracyCase) numbers(seed uint64, n int) []float32 {
	x := numbers.Portable(seed, n)
	if c.positive {
		for i := range x {
			x[i] = float32(math.Abs(float64(x[i])))
		}
	}
	return x
}

// measure returns the error of the case's result.
func (c accuracyCase) measure(tier kernel.Tier) (e results.Error, err error) {
	const rows, outputs = accuracyRowCount, accuracyOutputs
	exec := kernel.Exec{Tier: tier}
	x, got, want := c.numbers(1, rows*c.width), make([]float32, rows*outputs), make([]float64, rows*outputs)
	switch c.kind {
	case kindAttention:
		k, v := c.numbers(2, c.keys*c.width), c.numbers(3, c.keys*outputs)
		for i := range x {
			x[i] *= c.factor
		}
		err = kernel.Attention(kernel.BHLD(got, 1, 1, rows, outputs), kernel.BHLD(x, 1, 1, rows, c.width),
			kernel.BHLD(k, 1, 1, c.keys, c.width), kernel.BHLD(v, 1, 1, c.keys, outputs), &kernel.Options{Exec: exec})
		fallback.Oracle(want, x, k, v, rows, c.keys, c.width, outputs, 1/math.Sqrt(float64(c.width)), func(int) (lo, hi int) { return 0, c.keys })
	case kindLinear:
		w := c.numbers(2, outputs*c.width)
		l, err := linear.New(linear.DenseMatrix(w, outputs, c.width), nil, kernel.Exec{})
		if err != nil {
			return e, err
		}
		if err := l.Apply(linear.DenseMatrix(got, rows, outputs), linear.DenseMatrix(x, rows, c.width), linear.Options{Exec: exec}); err != nil {
			return e, err
		}
		for i := range want {
			for k := range c.width {
				want[i] += float64(x[i/outputs*c.width+k]) * float64(w[i%outputs*c.width+k])
			}
		}
	default:
		got, want, err = c.norms(x, exec)
	}
	return check.ErrorOf(got, want), err
}

// normEps is PyTorch's for LayerNorm.
const normEps = 1e-5

// norms returns the norms of rows, and what they are in float64.
func (c accuracyCase) norms(x []float32, exec kernel.Exec) (got []float32, want []float64, err error) {
	w, b := c.numbers(2, c.width), c.numbers(3, c.width)
	got, want = make([]float32, len(x)), make([]float64, len(x))
	tensor := func(data []float32) kernel.Tensor { return kernel.BLHD(data, 1, accuracyRowCount, 1, c.width) }
	if c.kind == "LayerNorm" {
		err = norm.LayerNorm(tensor(got), tensor(x), w, b, normEps, norm.Options{Exec: exec})
	} else {
		err = norm.RMSNorm(tensor(got), tensor(x), w, normEps, norm.Options{Exec: exec})
		clear(b)
	}
	for at := 0; at < len(x); at += c.width {
		normalise(want[at:][:c.width], x[at:], w, b, c.kind == "LayerNorm")
	}
	return got, want, err
}

// normalise writes the norm of the first elements of x to y, in float64.
func normalise(y []float64, x, w, b []float32, center bool) {
	mean, squares, n := 0.0, 0.0, float64(len(y))
	for i := range y {
		if y[i] = float64(x[i]); center {
			mean += y[i] / n
		}
	}
	for i := range y {
		y[i] -= mean
		squares += y[i] * y[i] / n
	}
	for i := range y {
		y[i] = y[i]/math.Sqrt(squares+normEps)*float64(w[i]) + float64(b[i])
	}
}
