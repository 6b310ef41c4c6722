package linear_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/numeric"
)

// factor is bf(x) of the contract.
func factor(x float32) float32 {
	y := numeric.ToBF16(x).Float32()
	if math.Abs(float64(y)) < 0x1p-56 {
		return 0
	}
	return y
}

// roundedSum is an output without its bias, as "Contract: products in bfloat16" has it.
func (c testCase) roundedSum(x, w *matrix, m, n int) float32 {
	var sum float32
	for first := 0; first < c.k; first += 32 {
		var chains [2]float32
		for k := first; k < min(first+32, c.k); k++ {
			chains[k%2] = numeric.FMA(factor(x.at(m, k)), factor(w.at(n, k)), chains[k%2])
		}
		sum += chains[0] + chains[1]
	}
	return sum
}

// Every type of weights, remainders of rows, lanes and segments, all layouts and kinds of numbers.
func TestRoundBFloat16(t *testing.T) {
	i := 0
	for _, k := range []int{0, 1, 31, 32, 33, 70, 300} {
		for _, n := range []int{1, 16, 31, 48, 65, 100} {
			for _, m := range []int{1, 2, 3, 4, 5, 8, 9, 20} {
				if i++; testutil.Thin() && !testutil.Sampled(i) {
					continue
				}
				testCase{m: m, n: n, k: k, rounds: true, dtype: kernel.DType(i % 3), bias: i%2 == 0,
					layout: layout(i) % layouts, kind: testutil.KindOf(i), seed: i}.check(t, 1)
			}
		}
	}
}

// Sizes that are cut: into steps of K, panels, blocks of rows and tasks, with rows that are rounded
// once, or by each step.
func TestRoundBFloat16Large(t *testing.T) {
	contracttest.ForceThreads(t)
	cases := []testCase{
		{m: 40, n: 130, k: 1000, bias: true, layout: gappedRows},
		{m: 500, n: 33, k: 300, layout: transposed, kind: testutil.Mantissas},
		{m: 1, n: 290, k: 2100, dtype: kernel.BFloat16, layout: scattered},
		{m: 3, n: 48 * 20, k: 330, dtype: kernel.Float16, bias: true},
	}
	if testutil.Quick() {
		cases = cases[:2]
	}
	for _, c := range cases {
		c.rounds = true
		c.check(t, 1, 2, 5)
	}
	tune(t, func(x *tier.Tuning) { x.WeightSteps = 128 })
	c := testCase{m: 330, n: 60, k: 513, rounds: true, layout: scattered}
	c.check(t, 1, 3)
}

// The rows of a call do not depend on each other, nor on how many there are.
func TestRoundedRowsAreIndependent(t *testing.T) {
	c := testCase{m: 37, n: 70, k: 330, rounds: true, kind: testutil.Mantissas}
	x, w, _ := c.inputs()
	want, l := c.contract(&x, &w, nil), w.layer(t, nil)
	for lo := 0; lo < c.m; {
		n := min(lo+1, c.m-lo)
		out, rows := testCase{m: n, n: c.n}.output(), x.from(lo, n)
		if err := l.Apply(out.Matrix, rows.Matrix, linear.Options{}); err != nil {
			t.Fatal(err)
		}
		contracttest.SameRow(t, fmt.Sprintf("rows %d to %d", lo, lo+n), out.numbers, want.numbers[lo*c.n:][:n*c.n])
		lo += n
	}
}

// Against float64 the error comes from the rounding of the factors: a root mean square of up to
// 0.3% of the root of the sum of the squares of the products.
func TestRoundBFloat16Accuracy(t *testing.T) {
	for _, k := range []int{64, 768, 4096} {
		c := testCase{m: 8, n: 48, k: k, rounds: true, seed: k}
		x, w, _ := c.inputs()
		out := c.output()
		if err := w.layer(t, nil).Apply(out.Matrix, x.Matrix, linear.Options{}); err != nil {
			t.Fatal(err)
		}
		var errors, scale float64
		for m := range c.m {
			for n := range c.n {
				var exact float64
				for i := range k {
					p := float64(x.at(m, i)) * float64(w.at(n, i))
					exact, scale = exact+p, scale+p*p
				}
				d := float64(out.numbers[m*c.n+n]) - exact
				errors += d * d
			}
		}
		ratio := math.Sqrt(errors / scale)
		t.Logf("%d inputs: an error of %.5f", k, ratio)
		if ratio > 0.003 {
			t.Errorf("%d inputs: an error of %.5f", k, ratio)
		}
	}
}

func TestRoundBFloat16Errors(t *testing.T) {
	data := testutil.Filled(100, testutil.Canary)
	for _, c := range []struct {
		what      string
		w         linear.Matrix
		bias      []float32
		arg, want string
	}{
		{"short", linear.DenseMatrix(data, 10, 11), nil, "w", "110 elements"},
		{"too many inputs", linear.StridedMatrix(data, 3, math.MaxInt/2, 0, 0), nil, "w", "at most"},
		{"too many outputs", linear.StridedMatrix(data, math.MaxInt/2, 3, 0, 0), nil, "w", "at most"},
		{"short bias", linear.DenseMatrix(data, 4, 4), data[:3], "bias", "4, one per output"},
	} {
		_, err := linear.RoundBFloat16(c.w, c.bias, kernel.Exec{})
		contracttest.CheckArgument(t, c.what, err, c.arg, c.want)
	}
	l, err := linear.RoundBFloat16(linear.DenseMatrix(data, 4, 8), nil, kernel.Exec{})
	if err != nil {
		t.Fatal(err)
	}
	out := testutil.Filled(4, testutil.Canary)
	err = l.Apply(linear.DenseMatrix(out, 1, 4), linear.DenseMatrix(data, 1, 8), linear.Options{DynamicInt8: true})
	contracttest.CheckArgument(t, "8-bit rows", err, "Options.DynamicInt8", "quantized weights")
	if out[0] != testutil.Canary {
		t.Error("out was written to")
	}
}
