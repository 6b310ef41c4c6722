package kernel_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/fallback"
	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/kernel"
)

// TestOracle bounds the error against float64, which the order of operations in the
// contract fixes. At D = 64 and inputs of variance 1 the largest is about 1e-6 and the root
// mean square 6e-8, see bench/internal/check. The inputs here have a variance
// of 4/3, and early causal rows are means of few values, whose rounding alone is up to
// 1.2e-7. So twice as much is allowed, and three times as much for the mean.
func TestOracle(t *testing.T) {
	for _, c := range []contracttest.Case{
		{B: 1, H: 2, HKV: 2, Lq: 128, Lk: 700, D: 64, Dv: 64},
		{B: 1, H: 2, HKV: 1, Lq: 200, Lk: 200, D: 128, Dv: 128, Mask: contracttest.Causal(0)},
		{B: 2, H: 2, HKV: 1, Lq: 20, Lk: 600, D: 32, Dv: 48, Mask: contracttest.KeyLengths([]int{600, 77})},
	} {
		q, k, v := c.Inputs()
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			out := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}})
			worst, rms := oracleError(c, &out, q, k, v)
			t.Logf("%v: error against float64: max %.2g, rms %.2g", c, worst, rms)
			if worst > 2e-6 || rms > 2e-7 {
				t.Errorf("%v: error max %.3g, rms %.3g, want at most 2e-6 and 2e-7", c, worst, rms)
			}
		})
	}
}

func oracleError(c contracttest.Case, out *kernel.Tensor, q, k, v kernel.Tensor) (worst, rms float64) {
	n, model := 0, c.Model(q, k, v, &kernel.Options{})
	for b := range c.B {
		for h := range c.H {
			kh := h / (c.H / c.HKV)
			want := make([]float64, c.Lq*c.Dv)
			from := func(x *kernel.Tensor, h int) []float32 {
				return contracttest.Floats(*x)[contracttest.View(x).At(b, h, 0):]
			}
			fallback.Oracle(want, from(&q, h), from(&k, kh), from(&v, kh), c.Lq, c.Lk, c.D, c.Dv, 1/math.Sqrt(float64(c.D)), func(i int) (lo, hi int) {
				for hi < c.Lk && model.Sees(b, h, i, hi) {
					hi++
				}
				return 0, hi
			})
			for i := range c.Lq {
				for e, x := range contracttest.Row(out, b, h, i) {
					d := math.Abs(float64(x) - want[i*c.Dv+e])
					worst = max(worst, d)
					rms += d * d
					n++
				}
			}
		}
	}
	return worst, math.Sqrt(rms / float64(n))
}

// TestOptionsOracle bounds the error of calls with any options against float64, on
// the default tier: the others have the same bits.
//
// The unit of the error is 2^-24 times the size of the numbers that a score is the sum of.
// A score is off by a few units, its weight by as many relatively, and so is the sum of
// the weights. Exponentials, sums and quotients add a few. Dropout scales all of it. A
// weight is at most 1 and a value at most 2 in magnitude, so 2 units are allowed for
// weights, and 4 for out and LSE. The largest seen are 0.5, 1.4 and 2.4.
func TestOptionsOracle(t *testing.T) {
	var worst struct{ out, weights, lse float64 }
	eachOptionCase(func(n int, c *optionCase) {
		c.levels[factor("poison")], c.levels[factor("outputs")] = 0, 1
		q, k, v := c.Inputs()
		o := c.options()
		c.outputs(&o)
		out := attend(t, q, k, v, o)
		model := c.Model(q, k, v, &o)
		contracttest.EachRow(&out, func(b, h, i int, row []float32) {
			want := model.ExactRow(b, h, i)
			unit := 0x1p-24 * (1 + want.Size)
			scaled := unit / (1 - float64(o.Dropout.Rate))
			at := fmt.Sprintf("levels %v [%d %d %d]", c.levels, b, h, i)
			bound(t, at+" out", row, want.Out, 4, scaled, &worst.out)
			bound(t, at+" weights", contracttest.Row(&o.Weights, b, h, i), want.Weights, 2, scaled, &worst.weights)
			bound(t, at+" LSE", contracttest.Row(&o.LSE, b, h, i), []float64{want.LSE}, 4, unit, &worst.lse)
		})
	})
	t.Logf("largest errors in units: out %.2g, weights %.2g, LSE %.2g", worst.out, worst.weights, worst.lse)
}

// bound fails if an element of got is more than so many units off.
func bound(t *testing.T, what string, got []float32, want []float64, units, unit float64, worst *float64) {
	t.Helper()
	for e, x := range got {
		off := math.Abs(float64(x)-want[e]) / unit
		if math.IsInf(want[e], -1) && float64(x) == want[e] {
			off = 0
		}
		if *worst = math.Max(*worst, off); !(off <= units) {
			t.Fatalf("%s: element %d is %v, want %v, %.1f units off", what, e, x, want[e], off)
		}
	}
}
