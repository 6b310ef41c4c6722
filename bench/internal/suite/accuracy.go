package suite

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/attn-go/attn/bench/internal/check"
	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/table"
	"github.com/attn-go/attn/fallback"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// pytorchErrors are PyTorch's errors on the same cases, as bench/peers/accuracy.py measured
// them.
//
//go:embed testdata/pytorch.json
var pytorchErrors []byte

// pytorchAccuracy is the content of pytorchErrors.
type pytorchAccuracy struct {
	Version, CPU string
	Cases        map[string]struct{ Max, RMS float64 }
}

// An accuracyCase is a call whose error against float64 is measured. Its numbers are those of
// bench/peers/accuracy.py.
type accuracyCase struct {
	width    int     // of a row: D of attention, K of a linear layer
	keys     int     // of attention
	positive bool    // magnitudes instead of numbers of both signs
	factor   float32 // by which queries are multiplied
}

const (
	accuracyQueries = 128
	accuracyOutputs = 64 // columns of the values, or outputs of a linear layer
)

func (c accuracyCase) isLinear() bool { return c.keys == 0 }

// String names the case as in pytorch.json.
func (c accuracyCase) String() string {
	s := fmt.Sprintf("D %d, %d keys", c.width, c.keys)
	if c.isLinear() {
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
	for _, positive := range []bool{false, true} {
		for _, d := range []int{32, 64, 80, 96, 128, 192, 256, 576, 1024, 4096} {
			cases = append(cases, accuracyCase{d, 512, positive, 1})
		}
		cases = append(cases, accuracyCase{64, 32768, positive, 1})
	}
	for _, d := range []int{64, 128} {
		for _, factor := range []float32{30, 2000} { // products of up to 1.5e2 and 1e4
			cases = append(cases, accuracyCase{d, 512, false, factor})
		}
	}
	for _, positive := range []bool{false, true} {
		for _, k := range []int{128, 384, 576, 768, 1536, 4096, 11008} {
			cases = append(cases, accuracyCase{k, 0, positive, 1})
		}
	}
	return cases
}

// Accuracy prints the errors of attention and of linear layers against float64, beside those
// of PyTorch on the same numbers.
func Accuracy(ctx context.Context, c *Config, out io.Writer) error {
	var pytorch pytorchAccuracy
	if err := json.Unmarshal(pytorchErrors, &pytorch); err != nil {
		return err
	}
	const columns = "\tmax error\trms error\tPyTorch's max\trms\tratio max\trms"
	attention, layers := []string{"attention" + columns}, []string{"linear layer" + columns}
	var worstMax, worstRMS float64
	for _, a := range accuracyCases() {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := a.measure(c.Tiers[0])
		if err != nil {
			return err
		}
		p, ok := pytorch.Cases[a.String()]
		if !ok {
			return fmt.Errorf("bench/peers/accuracy.py has not measured %v", a)
		}
		worstMax, worstRMS = max(worstMax, e.Max/p.Max), max(worstRMS, e.RMS()/p.RMS)
		row := fmt.Sprintf("%v\t%s\t%s\t%s\t%s\t%s\t%s", a, table.Error(e.Max), table.Error(e.RMS()),
			table.Error(p.Max), table.Error(p.RMS), table.Ratio(e.Max, p.Max), table.Ratio(e.RMS(), p.RMS))
		if a.isLinear() {
			layers = append(layers, row)
		} else {
			attention = append(attention, row)
		}
	}
	fmt.Fprintf(out, "\nError against float64 of %d rows, tier %s, which is that of any tier. PyTorch %s was measured on %s.\n\n",
		accuracyQueries, c.Tiers[0], pytorch.Version, pytorch.CPU)
	table.Write(out, attention...)
	fmt.Fprintln(out)
	table.Write(out, layers...)
	fmt.Fprintf(out, "\nworst ratio: max %.2f, rms %.2f\n", worstMax, worstRMS)
	return nil
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
func (c accuracyCase) measure(tier string) (check.Error, error) {
	if c.isLinear() {
		return c.measureLinear(tier)
	}
	q, k, v := c.numbers(1, accuracyQueries*c.width), c.numbers(2, c.keys*c.width), c.numbers(3, c.keys*accuracyOutputs)
	for i := range q {
		q[i] *= c.factor
	}
	got, want := make([]float32, accuracyQueries*accuracyOutputs), make([]float64, accuracyQueries*accuracyOutputs)
	err := kernel.Attention(kernel.BHLD(got, 1, 1, accuracyQueries, accuracyOutputs), kernel.BHLD(q, 1, 1, accuracyQueries, c.width),
		kernel.BHLD(k, 1, 1, c.keys, c.width), kernel.BHLD(v, 1, 1, c.keys, accuracyOutputs), kernel.Options{Exec: kernel.Exec{Tier: tier}})
	fallback.Oracle(want, q, k, v, accuracyQueries, c.keys, c.width, accuracyOutputs, 1/math.Sqrt(float64(c.width)), func(int) (lo, hi int) { return 0, c.keys })
	return check.ErrorOf(got, want), err
}

func (c accuracyCase) measureLinear(tier string) (check.Error, error) {
	x, w := c.numbers(1, accuracyQueries*c.width), c.numbers(2, accuracyOutputs*c.width)
	got, want := make([]float32, accuracyQueries*accuracyOutputs), make([]float64, accuracyQueries*accuracyOutputs)
	l, err := linear.New(linear.DenseMatrix(w, accuracyOutputs, c.width), nil)
	if err != nil {
		return check.Error{}, err
	}
	err = l.Apply(linear.DenseMatrix(got, accuracyQueries, accuracyOutputs), linear.DenseMatrix(x, accuracyQueries, c.width), linear.Options{Exec: kernel.Exec{Tier: tier}})
	for i := range want {
		row, weights := x[i/accuracyOutputs*c.width:], w[i%accuracyOutputs*c.width:]
		for k := range c.width {
			want[i] += float64(row[k]) * float64(weights[k])
		}
	}
	return check.ErrorOf(got, want), err
}
