package kernel_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/fallback"
	"github.com/attn-go/attn/kernel"
)

// additiveContract computes additive scores as the contract defines them, in a hook.
func additiveContract(q, k *kernel.Tensor, weights []float32, scale float32) func(*kernel.ScoreTile) {
	wideQ, wideK := q.widened(), k.widened()
	if scale == 0 {
		scale = 1
	}
	return func(t *kernel.ScoreTile) {
		for x := range t.Keys {
			for r, row := range t.Rows {
				key := wideK.row(t.Batch, row.Head/(q.shape[1]/k.shape[1]), t.Key+x)
				chains := make([]float32, 16)
				for d, e := range wideQ.row(t.Batch, row.Head, row.Query) {
					w := float32(float64(weights[d]) * float64(scale) * math.Log2E)
					chains[d%16] = fallback.FMA(w, fallback.Tanh(e+key[d]), chains[d%16])
				}
				t.Scores[x*t.Stride+r] = halves(chains)
			}
		}
	}
}

var additiveCalls = []attnCase{
	{b: 1, h: 1, hkv: 1, lq: 1, lk: 1, d: 1, dv: 1},
	{b: 1, h: 1, hkv: 1, lq: 1, lk: 300, d: 20, dv: 3},
	{b: 2, h: 1, hkv: 1, lq: 1, lk: 65, d: 7, dv: 9, layout: gaps},
	{b: 2, h: 4, hkv: 2, lq: 5, lk: 70, d: 12, dv: 8, layout: tokenMajor},
	{b: 1, h: 2, hkv: 1, lq: 70, lk: 530, d: 5, dv: 16, layout: gaps},
	{b: 1, h: 3, hkv: 3, lq: 3, lk: 10, d: 4, dv: 4, types: callTypes{kernel.Float16, kernel.BFloat16, kernel.Float16, kernel.BFloat16}},
	{b: 1, h: 3, hkv: 3, lq: 3, lk: 40, d: 4, dv: 4, types: callTypes{kernel.Float32, kernel.Int8, kernel.Int8, kernel.Float32}},
	{b: 2, h: 1, hkv: 1, lq: 3, lk: 0, d: 4, dv: 4},
	{b: 1, h: 1, hkv: 1, lq: 0, lk: 3, d: 4, dv: 4},
}

// Additive has the bits of the contract, with all options and element types, on all
// tiers and threads.
func TestAdditive(t *testing.T) {
	for i, c := range additiveCalls {
		c.seed = uint64(i)
		q, k, v := c.typed(c.inputs())
		r := rng(i)
		weights := make([]float32, c.d)
		r.fill(weights)
		lengths := make([]int, c.b)
		for b := range lengths {
			lengths[b] = c.lk * (b + 1) / (c.b + 1)
		}
		for name, opts := range map[string]kernel.Options{
			"plain":       {},
			"scale":       {Scale: -.3},
			"key lengths": {Mask: kernel.KeyLengths(lengths)},
			"causal":      {Mask: kernel.Causal(max(0, c.lk-c.lq)), KeyStart: []int{100}, QueryStart: []int{100}},
			"steps":       {Softcap: 1.5, ALiBi: filled(c.h, .01), Sinks: filled(c.h, .5), Dropout: kernel.Dropout{Rate: .1}},
			"bias":        {Bias: kernel.BHLD(filled(c.lk, .25), 1, 1, 1, c.lk)},
		} {
			if c.lk == 0 && name == "bias" {
				continue
			}
			run := func(opts kernel.Options, call func(out kernel.Tensor, opts kernel.Options) error) (list [3]kernel.Tensor) {
				list[0] = additiveOut(c)
				list[1] = kernel.BHLD(filled(c.b*c.h*c.lq, canary), c.b, c.h, c.lq, 1)
				opts.LSE = list[1]
				if c.lk > 0 {
					list[2] = kernel.BHLD(filled(c.b*c.h*c.lq*c.lk, canary), c.b, c.h, c.lq, c.lk)
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
				return kernel.Attention(out, q, k, v, opts)
			})
			eachTier(t, func(t *testing.T, tier *tier) {
				for threads := range 2 {
					if quick() && threads != i%2 {
						continue
					}
					opts.Tier, opts.Threads = tier.name, threads+1
					got := run(opts, func(out kernel.Tensor, opts kernel.Options) error {
						return kernel.Additive(out, q, k, v, weights, opts)
					})
					for x, what := range []string{"out", "LSE", "weights"} {
						if want[x].shape[3] > 0 {
							mustEqual(t, fmt.Sprintf("%v, %s: %s", c, name, what), &got[x], &want[x])
						}
					}
				}
			})
		}
	}
}

// additiveOut is an output of the case full of canaries.
func additiveOut(c attnCase) kernel.Tensor {
	return c.tensor(c.b, c.h, c.lq, c.dv, canary).as(c.types.out)
}

// mustEqual fails if the rows of two tensors differ in a bit.
func mustEqual(t *testing.T, what string, got, want *kernel.Tensor) {
	t.Helper()
	eachRow(want, func(b, h, l int, row []float32) {
		for e, x := range rowOf(got, b, h, l) {
			if math.Float32bits(x) != math.Float32bits(row[e]) {
				t.Fatalf("%s: element (%d, %d, %d, %d) is %v, want %v", what, b, h, l, e, x, row[e])
			}
		}
	})
}

// Raw scores are the sums themselves.
func TestAdditiveScores(t *testing.T) {
	q, k := kernel.BHLD([]float32{1, 0, 0, 1}, 1, 1, 2, 2), kernel.BHLD([]float32{0, 1, 1, 0}, 1, 1, 2, 2)
	scores, out := kernel.BHLD(make([]float32, 4), 1, 1, 2, 2), kernel.BHLD(make([]float32, 4), 1, 1, 2, 2)
	if err := kernel.Additive(out, q, k, k, []float32{1, 2}, kernel.Options{Scores: scores}); err != nil {
		t.Fatal(err)
	}
	t1, t2 := math.Tanh(1), math.Tanh(2)
	for i, want := range []float64{t1 + 2*t1, t2, 2 * t2, t1 + 2*t1} {
		if got := float64(scores.f32[i]); math.Abs(got-want) > 3e-7 {
			t.Errorf("score %d is %v, want %v", i, got, want)
		}
	}
}

// Hidden keys do not matter, and visible NaNs make the row NaN.
func TestAdditiveNaN(t *testing.T) {
	c := attnCase{b: 1, h: 1, hkv: 1, lq: 2, lk: 80, d: 6, dv: 5, seed: 1}
	q, k, v := c.inputs()
	weights := filled(6, .5)
	call := func(mask kernel.Mask) kernel.Tensor {
		out := additiveOut(c)
		if err := kernel.Additive(out, q, k, v, weights, kernel.Options{Mask: mask}); err != nil {
			t.Fatal(err)
		}
		return out
	}
	mask := kernel.KeyLengths([]int{70})
	want := call(mask)
	k.row(0, 0, 75)[2], v.row(0, 0, 76)[1] = nan32, inf32
	got := call(mask)
	mustEqual(t, "with hidden NaNs", &got, &want)
	got = call(kernel.Mask{})
	eachRow(&got, func(_, _, _ int, row []float32) {
		for _, x := range row {
			if math.Float32bits(x) != 0x7fc00000 {
				t.Fatalf("a row that sees a NaN holds %v", x)
			}
		}
	})
}

func TestAdditivePaged(t *testing.T) {
	c := attnCase{b: 1, h: 2, hkv: 2, lq: 3, lk: 50, d: 6, dv: 5, seed: 1}
	q, k, v := c.inputs()
	weights := filled(6, .5)
	want, got := additiveOut(c), additiveOut(c)
	if err := kernel.Additive(want, q, k, v, weights, kernel.Options{}); err != nil {
		t.Fatal(err)
	}
	table := kernel.PageTable{Pages: [][]int32{{2, 0, 3, 1}}, Lengths: []int{50}}
	paged := func(x kernel.Tensor) kernel.Tensor {
		p := kernel.BHLD(filled(4*2*16*x.shape[3], nan32), 4, 2, 16, x.shape[3])
		eachRow(&x, func(_, h, l int, row []float32) { copy(p.row(int(table.Pages[0][l/16]), h, l%16), row) })
		return p.Paged(&table)
	}
	if err := kernel.Additive(got, q, paged(k), paged(v), weights, kernel.Options{}); err != nil {
		t.Fatal(err)
	}
	mustEqual(t, "paged", &got, &want)
}

func TestAdditiveErrors(t *testing.T) {
	c := attnCase{b: 1, h: 2, hkv: 1, lq: 3, lk: 5, d: 4, dv: 4}
	q, k, v := c.inputs()
	out := additiveOut(c)
	lse := kernel.BHLD(filled(6, canary), 1, 2, 3, 1)
	for name, x := range map[string]struct {
		arg     string
		weights []float32
		opts    kernel.Options
		q       kernel.Tensor
	}{
		"too few":         {"weights", make([]float32, 3), kernel.Options{}, q},
		"none":            {"weights", nil, kernel.Options{}, q},
		"NaN":             {"weights", []float32{0, nan32, 0, 0}, kernel.Options{}, q},
		"Inf":             {"weights", []float32{0, 0, 0, inf32}, kernel.Options{}, q},
		"beyond base 2":   {"weights", []float32{0, 0, 0, 3e38}, kernel.Options{Scale: 1e-3}, q},
		"times the scale": {"weights", []float32{0, 0, 0, 1e38}, kernel.Options{Scale: 2}, q},
		"over out":        {"weights", out.f32[20:24], kernel.Options{}, q},
		"over LSE":        {"weights", lse.f32[2:6], kernel.Options{LSE: lse}, q},
		"q":               {"q", make([]float32, 4), kernel.Options{}, kernel.Tensor{}},
		"option":          {"Options.Softcap", make([]float32, 4), kernel.Options{Softcap: -1}, q},
	} {
		err := kernel.Additive(out, x.q, k, v, x.weights, x.opts)
		if bad, ok := err.(*kernel.ArgumentError); !ok || bad.Arg != x.arg {
			t.Errorf("%s: got %v, want an error about %s", name, err, x.arg)
		}
		for _, e := range append(append([]float32(nil), out.f32...), lse.f32...) {
			if e != canary {
				t.Fatalf("%s: an output was written to", name)
			}
		}
	}
	if _, ok := kernel.Additive(out, q, k, v, make([]float32, 4), kernel.Options{Exec: kernel.Exec{Tier: "mmx"}}).(*kernel.TierError); !ok {
		t.Error("an unknown tier is no error")
	}
}

func TestAdditiveAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	c := attnCase{b: 2, h: 2, hkv: 1, lq: 3, lk: 300, d: 8, dv: 4}
	q, k, v := c.inputs()
	out, weights := additiveOut(c), make([]float32, 8)
	for _, opts := range []kernel.Options{{Threads: 1}, {Threads: 2}, {Mask: kernel.Causal(0), Softcap: 2}} {
		if n := warmAllocs(20, func() {
			if err := kernel.Additive(out, q, k, v, weights, opts); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%d threads: %v allocations", opts.Threads, n)
		}
	}
}

// BenchmarkAdditive is a decoder's step: a query each for 32 sequences of 512 states.
func BenchmarkAdditive(b *testing.B) {
	c := attnCase{b: 32, h: 1, hkv: 1, lq: 1, lk: 512, d: 512, dv: 512}
	q, k, v := c.inputs()
	out, weights := additiveOut(c), filled(c.d, .125)
	for i := range tiers {
		if tiers[i].lacks() != "" {
			continue
		}
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("tier=%s/threads=%d", tiers[i].name, threads), func(b *testing.B) {
				for b.Loop() {
					if err := kernel.Additive(out, q, k, v, weights, kernel.Options{Exec: kernel.Exec{Tier: tiers[i].name, Threads: threads}}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(32*512*512), "ns/tanh")
			})
		}
	}
}

// goldenAdditive returns the hash of additive attention with a hidden size that is no
// multiple of 16.
func goldenAdditive(t *testing.T, tier string, threads int) string {
	c := attnCase{b: 2, h: 4, hkv: 2, lq: 5, lk: 300, d: 20, dv: 8, seed: 1}
	q, k, v := c.inputs()
	weights := make([]float32, c.d)
	r := rng(2)
	r.fill(weights)
	out, lse := additiveOut(c), c.tensor(c.b, c.h, c.lq, 1, canary)
	if err := kernel.Additive(out, q, k, v, weights, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}, LSE: lse, Mask: kernel.Causal(290), Softcap: 6}); err != nil {
		t.Fatal(err)
	}
	return hash(&out, &lse)
}
