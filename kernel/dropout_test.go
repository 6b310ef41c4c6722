package kernel_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/kernel"
)

// dropCase is a small call for the tests of dropout.
func dropCase() (c contracttest.Case, q, k, v kernel.Tensor) {
	c = contracttest.Case{B: 2, H: 2, HKV: 1, Lq: 5, Lk: 300, D: 8, Dv: 4}
	q, k, v = c.Inputs()
	return c, q, k, v
}

// TestDropoutOfNothing: a seed without a rate changes nothing.
func TestDropoutOfNothing(t *testing.T) {
	_, q, k, v := dropCase()
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		want := attend(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}})
		got := attend(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}, Scoring: kernel.Scoring{Dropout: kernel.Dropout{Seed: 99}}})
		contracttest.Same(t, "rate 0", &got, &want)
	})
}

// TestDropoutMean: over many seeds the mean is the result without dropout, within
// its standard error. The seeds are fixed, so that no luck is needed.
func TestDropoutMean(t *testing.T) {
	_, q, k, v := dropCase()
	seeds := 400
	if testing.Short() {
		seeds = 60
	}
	for _, rate := range []float32{0.1, 0.5, 0.9} {
		want := attend(t, q, k, v, kernel.Options{})
		sum, squares := make([]float64, len(contracttest.Floats(want))), make([]float64, len(contracttest.Floats(want)))
		for seed := range seeds {
			out := attend(t, q, k, v, kernel.Options{Scoring: kernel.Scoring{Dropout: kernel.Dropout{Rate: rate, Seed: uint64(seed) * 0x9e3779b97f4a7c15}}})
			for x, y := range contracttest.Floats(out) {
				sum[x] += float64(y)
				squares[x] += float64(y) * float64(y)
			}
		}
		n, deviations := float64(seeds), 0.0
		for x := range sum {
			mean := sum[x] / n
			deviation := (mean - float64(contracttest.Floats(want)[x])) / math.Sqrt((squares[x]/n-mean*mean)/n)
			deviations += deviation * deviation
			if !(math.Abs(deviation) < 4.5) {
				t.Errorf("rate %v: the mean of element %d is %v, %.1f standard errors off %v", rate, x, mean, deviation, contracttest.Floats(want)[x])
			}
		}
		if rms := math.Sqrt(deviations / float64(len(sum))); rms < 0.7 || rms > 1.3 {
			t.Errorf("rate %v: means are %.2f standard errors off (rms), want about 1", rate, rms)
		}
	}
}

// TestDropoutOfWeights: as many weights are 0 as the rate says, within four standard
// errors, and the others are those without dropout times 1/(1-rate), to the
// roundings.
func TestDropoutOfWeights(t *testing.T) {
	c, q, k, v := dropCase()
	weights := func(d kernel.Dropout) []float32 {
		w := kernel.BHLD(make([]float32, c.B*c.H*c.Lq*c.Lk), c.B, c.H, c.Lq, c.Lk)
		attend(t, q, k, v, kernel.Options{Outputs: kernel.Outputs{Weights: w}, Scoring: kernel.Scoring{Dropout: d}})
		return contracttest.Floats(w)
	}
	want := weights(kernel.Dropout{})
	for _, rate := range []float64{0.01, 0.25, 0.8} {
		dropped, n := 0.0, float64(len(want))
		for x, w := range weights(kernel.Dropout{Rate: float32(rate), Seed: 5}) {
			if w == 0 {
				dropped++
			} else if kept := float64(want[x]) / (1 - rate); math.Abs(float64(w)-kept) > 1e-6*kept {
				t.Fatalf("rate %v: weight %d is %v, want %v", rate, x, w, kept)
			}
		}
		if e := math.Sqrt(n * rate * (1 - rate)); math.Abs(dropped-n*rate) > 4*e {
			t.Errorf("rate %v: %v of %v weights dropped", rate, dropped, n)
		}
	}
}

// TestDropoutInAnyBatch: a sequence drops the same weights alone and in any row of
// any batch, if it keeps its number.
func TestDropoutInAnyBatch(t *testing.T) {
	c, q, k, v := dropCase()
	swap := func(t kernel.Tensor) kernel.Tensor { // batch row 1, row 0, row 1
		n := t.Shape()[1] * t.Shape()[2] * t.Shape()[3]
		s := append(append([]float32(nil), contracttest.Floats(t)[n:]...), contracttest.Floats(t)...)
		return kernel.BHLD(s, 3, t.Shape()[1], t.Shape()[2], t.Shape()[3])
	}
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		d := kernel.Dropout{Rate: 0.5, Seed: 3, Sequences: []uint32{77, 1 << 31}}
		want := attend(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}, Scoring: kernel.Scoring{Dropout: d}})
		d.Sequences = []uint32{1 << 31, 77, 1 << 31}
		got := attend(t, swap(q), swap(k), swap(v), kernel.Options{Exec: kernel.Exec{Tier: tier}, Scoring: kernel.Scoring{Dropout: d}})
		for b, from := range []int{1, 0, 1} {
			for h := range c.H {
				for i := range c.Lq {
					contracttest.SameRow(t, fmt.Sprintf("row %d %d of sequence %d", h, i, d.Sequences[b]), contracttest.Row(&got, b, h, i), contracttest.Row(&want, from, h, i))
				}
			}
		}
		plain := attend(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}, Scoring: kernel.Scoring{Dropout: kernel.Dropout{Rate: 0.5, Seed: 3}}})
		numbered := attend(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}, Scoring: kernel.Scoring{Dropout: kernel.Dropout{Rate: 0.5, Seed: 3, Sequences: []uint32{0, 1}}}})
		contracttest.Same(t, "numbered as by default", &numbered, &plain)
	})
}

// TestDropoutTokenByToken: what is dropped depends on positions, so that a step of
// a cache drops what the whole would.
func TestDropoutTokenByToken(t *testing.T) {
	c, q, k, v := dropCase()
	d := kernel.Dropout{Rate: 0.3, Seed: 8}
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		want := attend(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}, Scoring: kernel.Scoring{Dropout: d, Mask: kernel.Causal(0), QueryStart: []int{295}}})
		for i := range c.Lq {
			n := 295 + i + 1
			got := attend(t, contracttest.Rows(q, i, i+1), contracttest.Rows(k, 0, n), contracttest.Rows(v, 0, n), kernel.Options{Exec: kernel.Exec{Tier: tier}, Scoring: kernel.Scoring{Dropout: d, QueryStart: []int{n - 1}}})
			for b := range c.B {
				for h := range c.H {
					contracttest.SameRow(t, fmt.Sprintf("token %d of head %d alone", i, h), contracttest.Row(&got, b, h, 0), contracttest.Row(&want, b, h, i))
				}
			}
		}
	})
}
