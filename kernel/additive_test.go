package kernel_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// additiveContract computes additive scores as the contract defines them, in an
// Options.Score.
func additiveContract(q, k *kernel.Tensor, weights []float32, scale float32) func(*kernel.ScoreTile) {
	wideQ, wideK := contracttest.Widened(*q), contracttest.Widened(*k)
	if scale == 0 {
		scale = 1
	}
	return func(t *kernel.ScoreTile) {
		for x := range t.Keys {
			for r, row := range t.Rows {
				key := contracttest.Row(&wideK, t.Batch, row.Head/(q.Shape()[1]/k.Shape()[1]), t.Key+x)
				chains := make([]float32, 16)
				for d, e := range contracttest.Row(&wideQ, t.Batch, row.Head, row.Query) {
					w := float32(float64(weights[d]) * float64(scale) * math.Log2E)
					chains[d%16] = scalar.FMA(w, scalar.Tanh(e+key[d]), chains[d%16])
				}
				t.Scores[x*t.Stride+r] = sumOfChains(chains)
			}
		}
	}
}

// sumOfChains adds up the 16 chains of an additive score.
func sumOfChains(acc []float32) float32 {
	for half := 8; half > 0; half /= 2 {
		for r := range half {
			acc[r] += acc[r+half]
		}
	}
	return acc[0]
}

var additiveCalls = []contracttest.Case{
	{B: 1, H: 1, HKV: 1, Lq: 1, Lk: 1, D: 1, Dv: 1},
	{B: 1, H: 1, HKV: 1, Lq: 1, Lk: 300, D: 20, Dv: 3},
	{B: 2, H: 1, HKV: 1, Lq: 1, Lk: 65, D: 7, Dv: 9, Layout: contracttest.Gaps},
	{B: 2, H: 4, HKV: 2, Lq: 5, Lk: 70, D: 12, Dv: 8, Layout: contracttest.TokenMajor},
	{B: 1, H: 2, HKV: 1, Lq: 70, Lk: 530, D: 5, Dv: 16, Layout: contracttest.Gaps},
	{B: 1, H: 3, HKV: 3, Lq: 3, Lk: 10, D: 4, Dv: 4, Types: contracttest.TypesOf(kernel.Float16, kernel.BFloat16, kernel.Float16, kernel.BFloat16)},
	{B: 1, H: 3, HKV: 3, Lq: 3, Lk: 40, D: 4, Dv: 4, Types: contracttest.TypesOf(kernel.Float32, kernel.Int8, kernel.Int8, kernel.Float32)},
	{B: 2, H: 1, HKV: 1, Lq: 3, Lk: 0, D: 4, Dv: 4},
	{B: 1, H: 1, HKV: 1, Lq: 0, Lk: 3, D: 4, Dv: 4},
}

// TestAdditive: Additive has the bits of the contract, with all options and element types, on all
// tiers and threads. Quick tests use one or two threads by turns, and make the largest call
// with the most options only.
func TestAdditive(t *testing.T) {
	contracttest.ForceThreads(t)
	for i, c := range additiveCalls {
		c.Seed = uint64(i)
		q, k, v := c.Typed(c.Inputs())
		r := testutil.Rand(i)
		weights := make([]float32, c.D)
		r.Fill(weights)
		lengths := make([]int, c.B)
		for b := range lengths {
			lengths[b] = c.Lk * (b + 1) / (c.B + 1)
		}
		for name, opts := range map[string]kernel.Options{
			"plain":       {},
			"scale":       {Scoring: kernel.Scoring{Scale: -.3}},
			"key lengths": {Scoring: kernel.Scoring{Mask: kernel.KeyLengths(lengths)}},
			"causal":      {Scoring: kernel.Scoring{Mask: kernel.Causal(max(0, c.Lk-c.Lq)), KeyStart: []int{100}, QueryStart: []int{100}}},
			"modified":    {Scoring: kernel.Scoring{Softcap: 1.5, ALiBi: testutil.Filled(c.H, .01), Sinks: testutil.Filled(c.H, .5), Dropout: kernel.Dropout{Rate: .1}}},
			"bias":        {Scoring: kernel.Scoring{Bias: kernel.BHLD(testutil.Filled(c.Lk, .25), 1, 1, 1, c.Lk)}},
		} {
			if c.Lk == 0 && name == "bias" || testutil.Thin() && c.Lq*c.Lk > 10000 && name != "modified" {
				continue
			}
			run := func(opts kernel.Options, call func(out kernel.Tensor, opts kernel.Options) error) (list [3]kernel.Tensor) {
				list[0] = c.Out()
				list[1] = kernel.BHLD(testutil.Filled(c.B*c.H*c.Lq, contracttest.Canary), c.B, c.H, c.Lq, 1)
				opts.LSE = list[1]
				if c.Lk > 0 {
					list[2] = kernel.BHLD(testutil.Filled(c.B*c.H*c.Lq*c.Lk, contracttest.Canary), c.B, c.H, c.Lq, c.Lk)
					opts.Weights = list[2]
				}
				if err := call(list[0], opts); err != nil {
					t.Fatalf("%v, %s: %v", c, name, err)
				}
				return list
			}
			want := run(opts, func(out kernel.Tensor, opts kernel.Options) error {
				opts.Score = additiveContract(&q, &k, weights, opts.Scale)
				opts.Scale = 1
				return kernel.Attention(out, q, k, v, &opts)
			})
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				for threads := range 2 {
					if testutil.Quick() && threads != i%2 {
						continue
					}
					opts.Tier, opts.Threads = tier, threads+1
					got := run(opts, func(out kernel.Tensor, opts kernel.Options) error {
						return kernel.Additive(out, q, k, v, weights, &opts)
					})
					for x, what := range []string{"out", "LSE", "weights"} {
						if want[x].Shape()[3] > 0 {
							contracttest.Same(t, fmt.Sprintf("%v, %s: %s", c, name, what), &got[x], &want[x])
						}
					}
				}
			})
		}
	}
}

// TestAdditiveScores: raw scores are the sums themselves.
func TestAdditiveScores(t *testing.T) {
	q, k := kernel.BHLD([]float32{1, 0, 0, 1}, 1, 1, 2, 2), kernel.BHLD([]float32{0, 1, 1, 0}, 1, 1, 2, 2)
	scores, out := kernel.BHLD(make([]float32, 4), 1, 1, 2, 2), kernel.BHLD(make([]float32, 4), 1, 1, 2, 2)
	if err := kernel.Additive(out, q, k, k, []float32{1, 2}, &kernel.Options{Outputs: kernel.Outputs{Scores: scores}}); err != nil {
		t.Fatal(err)
	}
	t1, t2 := math.Tanh(1), math.Tanh(2)
	for i, want := range []float64{t1 + 2*t1, t2, 2 * t2, t1 + 2*t1} {
		if got := float64(contracttest.Floats(scores)[i]); math.Abs(got-want) > 3e-7 {
			t.Errorf("score %d is %v, want %v", i, got, want)
		}
	}
}

// TestAdditiveNaN: hidden keys do not matter, and visible NaNs make the row NaN.
func TestAdditiveNaN(t *testing.T) {
	c := contracttest.Case{B: 1, H: 1, HKV: 1, Lq: 2, Lk: 80, D: 6, Dv: 5, Seed: 1}
	q, k, v := c.Inputs()
	weights := testutil.Filled(6, .5)
	call := func(mask kernel.Mask) kernel.Tensor {
		out := c.Out()
		if err := kernel.Additive(out, q, k, v, weights, &kernel.Options{Scoring: kernel.Scoring{Mask: mask}}); err != nil {
			t.Fatal(err)
		}
		return out
	}
	mask := kernel.KeyLengths([]int{70})
	want := call(mask)
	contracttest.Row(&k, 0, 0, 75)[2], contracttest.Row(&v, 0, 0, 76)[1] = testutil.NaN, testutil.Inf
	got := call(mask)
	contracttest.Same(t, "with hidden NaNs", &got, &want)
	got = call(kernel.Mask{})
	contracttest.EachRow(&got, func(_, _, _ int, row []float32) {
		for _, x := range row {
			if math.Float32bits(x) != 0x7fc00000 {
				t.Fatalf("a row that sees a NaN holds %v", x)
			}
		}
	})
}

// TestAdditivePaged: keys and values in pages give the same bits.
func TestAdditivePaged(t *testing.T) {
	c := contracttest.Case{B: 1, H: 2, HKV: 2, Lq: 3, Lk: 50, D: 6, Dv: 5, Seed: 1}
	q, k, v := c.Inputs()
	weights := testutil.Filled(6, .5)
	want, got := c.Out(), c.Out()
	if err := kernel.Additive(want, q, k, v, weights, nil); err != nil {
		t.Fatal(err)
	}
	table := kernel.PageTable{Pages: [][]int32{{2, 0, 3, 1}}, Lengths: []int{50}}
	paged := func(x kernel.Tensor) kernel.Tensor {
		p := kernel.BHLD(testutil.Filled(4*2*16*x.Shape()[3], testutil.NaN), 4, 2, 16, x.Shape()[3])
		contracttest.EachRow(&x, func(_, h, l int, row []float32) { copy(contracttest.Row(&p, int(table.Pages[0][l/16]), h, l%16), row) })
		return p.Paged(&table)
	}
	if err := kernel.Additive(got, q, paged(k), paged(v), weights, nil); err != nil {
		t.Fatal(err)
	}
	contracttest.Same(t, "paged", &got, &want)
}
