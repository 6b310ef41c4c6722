package linear_test

import (
	"testing"

	"github.com/attn-go/attn/activation"
	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// A call with an activation has the bits of one without it and a call of package activation.
func TestActivation(t *testing.T) {
	contracttest.ForceThreads(t)
	functions := map[linear.Activation]func(dst, src []float32, exec kernel.Exec) error{
		linear.SiLU: activation.SiLU, linear.GELU: activation.GELU, linear.GELUTanh: activation.GELUTanh,
	}
	for a, f := range functions {
		for i, c := range []testCase{
			{m: 3, n: 48, k: 200, bias: true}, {m: 7, n: 101, k: 40, layout: gappedRows}, {m: 40, n: 250, k: 9, kind: testutil.Mantissas, bias: true},
			{m: 2, n: 77, k: 64, format: linear.Q4_1}, {m: 5, n: 60, k: 3, kind: testutil.NonFinite}, {m: 5, n: 60, k: 0},
		} {
			c.seed = i
			x, w, bias := c.inputs()
			l, want := w.layer(t, bias), c.contract(&x, &w, bias)
			for row := range c.m {
				at := want.numbers[row*want.rowStride:][:c.n]
				if err := f(at, at, kernel.Exec{}); err != nil {
					t.Fatal(err)
				}
			}
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				out, o := c.output(), options(tier, 1+i%3)
				o.Activation = a
				if err := l.Apply(out.Matrix, x.Matrix, o); err != nil {
					t.Fatal(err)
				}
				testutil.CheckBits(t, a.String()+" of "+c.String(), out.numbers, want.numbers)
			})
		}
	}
}

func TestActivationErrors(t *testing.T) {
	l := mustNew(t, linear.DenseMatrix(make([]float32, 6), 2, 3), nil)
	out, x := linear.DenseMatrix(make([]float32, 2), 1, 2), linear.DenseMatrix(make([]float32, 3), 1, 3)
	for _, a := range []linear.Activation{-1, linear.GELUTanh + 1} {
		contracttest.CheckArgument(t, "an unknown activation", l.Apply(out, x, linear.Options{Activation: a}), "Options.Activation", "NoActivation, SiLU, GELU or GELUTanh")
	}
}
