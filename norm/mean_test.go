package norm_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/norm"
)

// layerRow normalises a row without weights.
func layerRow(t *testing.T, tier kernel.Tier, x []float32, eps float32) []float32 {
	t.Helper()
	out, d := make([]float32, len(x)), len(x)
	if err := norm.LayerNorm(kernel.BHLD(out, 1, 1, 1, d), kernel.BHLD(x, 1, 1, 1, d), nil, nil, eps, norm.Options{Exec: kernel.Exec{Tier: tier}}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestEqualElements: a row of equal elements has variance 0, and its norm is 0. An error of
// the mean would be divided by the root of eps.
func TestEqualElements(t *testing.T) {
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for _, d := range []int{1, 2, 3, 63, 64, 65, 100, 384, 768, 1000, 1024, 3072, 16384} {
			for _, c := range []float32{0, 0.1, 3.3333333, 1234.1, -3333.3333, 1e-30, 16777215, 1e30} {
				for _, eps := range []float32{1e-12, 1e-5} {
					for i, y := range layerRow(t, tier, testutil.Filled(d, c), eps) {
						if y != 0 {
							t.Fatalf("%d times %v, eps %v: element %d is %v, want 0", d, c, eps, i, y)
						}
					}
				}
			}
		}
	})
}

// A row64 is a row in float64: x less its mean, and 1/√(variance + eps).
type row64 struct {
	y   []float64
	inv float64
}

// normalised64 takes the first element off, which is exact, before it takes the mean: a
// large mean costs the oracle no bits.
func normalised64(x []float32, eps float32) row64 {
	y, mean, squares := make([]float64, len(x)), 0.0, 0.0
	for i, v := range x {
		y[i] = float64(v) - float64(x[0])
		mean += y[i] / float64(len(x))
	}
	for i := range y {
		y[i] -= mean
		squares += y[i] * y[i]
	}
	return row64{y, 1 / math.Sqrt(squares/float64(len(y))+float64(eps))}
}

// spreads are rows of a mean and a standard deviation, some of which are a few units in the
// last place of the mean.
func spreads(f func(name string, x []float32, eps float32)) {
	for _, s := range [...]struct{ mean, spread float64 }{{0, 1}, {10, 1}, {1234.1, 1}, {1234.1, 1e-3}, {-1234.1, 2e-4}, {1e6, 0.1}, {1e-3, 1e-9}} {
		for _, d := range []int{5, 100, 384, 768, 3072} {
			for _, eps := range []float32{1e-12, 1e-5} {
				r := testutil.Rand(d)
				x := make([]float32, d)
				r.Fill(x)
				for i, v := range x {
					x[i] = float32(s.mean + s.spread*float64(v))
				}
				f(fmt.Sprintf("%d elements, mean %v, spread %v, eps %v", d, s.mean, s.spread, eps), x, eps)
			}
		}
	}
}

// units is the error that 8 roundings of numbers as large as x, and of numbers of about 1,
// make at most.
func units(x float64) float64 { return 0x1p-20 * max(1, math.Abs(x)) }

// TestLargeMean compares rows that have a large mean and a small spread with float64.
func TestLargeMean(t *testing.T) {
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		spreads(func(name string, x []float32, eps float32) {
			want := normalised64(x, eps)
			for i, y := range layerRow(t, tier, x, eps) {
				if want := want.y[i] * want.inv; math.Abs(float64(y)-want) > units(want) {
					t.Fatalf("%s: element %d is %v, want %v", name, i, y, want)
				}
			}
		})
	})
}

// TestLargeMeanBackward compares the gradients of such rows with float64: they have the
// mean of the forward.
func TestLargeMeanBackward(t *testing.T) {
	spreads(func(name string, x []float32, eps float32) {
		d := len(x)
		r := testutil.Rand(d + 1)
		dy, dx, dw := make([]float32, d), make([]float32, d), make([]float32, d)
		r.Fill(dy)
		row := func(x []float32) kernel.Tensor { return kernel.BHLD(x, 1, 1, 1, d) }
		if err := norm.LayerNormBackward(norm.Gradients{X: row(dx), Weight: dw}, row(dy), row(x), nil, eps, norm.BackwardOptions{}); err != nil {
			t.Fatal(err)
		}
		want, center, slope := normalised64(x, eps), 0.0, 0.0
		for i, g := range dy {
			center += float64(g) / float64(d)
			slope += float64(g) * want.y[i] * want.inv / float64(d)
		}
		for i := range dx {
			y := want.y[i] * want.inv
			if w := float64(dy[i]) * y; math.Abs(float64(dw[i])-w) > units(w) {
				t.Fatalf("%s: the gradient of weight %d is %v, want %v", name, i, dw[i], w)
			}
			g := float64(dy[i]) - center - y*slope
			if got := float64(dx[i]) / want.inv; math.Abs(got-g) > units(y*slope) {
				t.Fatalf("%s: the gradient of element %d, divided by 1/√(variance + eps), is %v, want %v", name, i, got, g)
			}
		}
	})
}
