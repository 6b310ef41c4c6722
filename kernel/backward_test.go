package kernel_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// A backwardCall is a call of AttentionBackward with the results of the forward pass.
type backwardCall struct {
	optionCase
	q, k, v, out, dout kernel.Tensor
	o                  kernel.Options
	lengths            raggedLengths
}

// newBackwardCall makes the call of an option case without what the backward pass refuses:
// a score modification, types for keys and values alone.
func newBackwardCall(t *testing.T, c *optionCase) *backwardCall {
	t.Helper()
	c.levels[factor("score")] = 0
	for _, x := range []*kernel.DType{&c.Types.K, &c.Types.V} {
		if *x >= kernel.Int8 {
			*x = kernel.BFloat16
		}
	}
	w := makeBackwardCall(t, c, c.options())
	if c.Seed%3 == 2 && c.Types.Out == kernel.Float32 { // some products and sums are infinite, others NaN
		contracttest.EachRow(&w.dout, func(_, _, i int, row []float32) {
			for e := range row {
				if (e+i)%3 > 0 {
					row[e] *= 0x1p126
				}
			}
		})
	}
	return w
}

func makeBackwardCall(t *testing.T, from *optionCase, o kernel.Options) *backwardCall {
	t.Helper()
	w := &backwardCall{optionCase: *from, o: o}
	c := &w.optionCase
	w.lengths = c.raggedLengths()
	if w.lengths.keys != nil {
		c.Mask = c.Mask.And(contracttest.KeyLengths(w.lengths.keys))
		w.o.Mask = c.Mask.Kernel()
	}
	w.q, w.k, w.v = c.Inputs()
	c.poison(w.q, w.k, w.v, &w.o)
	w.dout = c.Tensor(c.B, c.H, c.Lq, c.Dv, testutil.NaN)
	tiny := c.Seed%3 == 1 // some numbers are around 2^-100, below which they count as 0
	contracttest.EachRow(&w.dout, func(_, _, i int, row []float32) {
		c.r.Fill(row)
		for e := range row {
			if tiny && (e+i)%3 > 0 {
				row[e] *= 0x1p-101
			}
		}
	})
	if c.level("poison") == 3 {
		sprinkle(&c.r, &w.dout)
	}
	w.q, w.k, w.v = c.Typed(w.q, w.k, w.v)
	w.dout = contracttest.As(w.dout, c.Types.Out)
	if contracttest.IsSet(w.o.Bias) {
		w.o.Bias = contracttest.As(w.o.Bias, c.Types.Q)
	}
	w.o.LSE = c.Output(1)
	w.q, w.k, w.v = w.lengths.pack(w.q, w.k, w.v)
	w.dout = contracttest.Ragged(w.dout, w.lengths.queries, w.lengths.start)
	w.out = w.lengths.packOutputs(c.Out(), &w.o)
	if err := kernel.Attention(w.out, w.q, w.k, w.v, &w.o); err != nil {
		t.Fatal(err)
	}
	return w
}

// gradients makes outputs full of canaries.
func (w *backwardCall) gradients() kernel.Gradients {
	var g kernel.Gradients
	g.Q, g.K, g.V = w.lengths.pack(w.Output(w.D), w.Tensor(w.B, w.HKV, w.Lk, w.D, contracttest.Canary), w.Tensor(w.B, w.HKV, w.Lk, w.Dv, contracttest.Canary))
	if contracttest.IsSet(w.o.Bias) {
		s := w.o.Bias.Shape()
		g.Bias = kernel.BHLD(testutil.Filled(s[0]*s[1]*s[2]*s[3], contracttest.Canary), s[0], s[1], s[2], s[3])
	}
	if w.o.Sinks != nil {
		g.Sinks = testutil.Filled(w.H, contracttest.Canary)
	}
	return g
}

// want returns the gradients of the contract.
func (w *backwardCall) want() kernel.Gradients {
	g := w.gradients()
	m := w.Model(w.q, w.k, w.v, &w.o).Backward(w.dout, w.o.LSE)
	contracttest.EachRow(&g.Q, func(b, h, i int, row []float32) { copy(row, m.Query(b, h, i)) })
	contracttest.EachRow(&g.K, func(b, kv, j int, row []float32) {
		dk, dv := m.Key(b, kv, j)
		copy(row, dk)
		copy(contracttest.Row(&g.V, b, kv, j), dv)
	})
	if contracttest.IsSet(g.Bias) {
		contracttest.Fill(contracttest.Floats(g.Bias), 0)
		m.Bias(g.Bias)
	}
	for h := range g.Sinks {
		g.Sinks[h] = m.Sink(h)
	}
	return g
}

func (w *backwardCall) run(t *testing.T, g kernel.Gradients, o kernel.Options) {
	t.Helper()
	w.runWith(t, g, o.LSE, contracttest.BackwardOptions(o))
}

func (w *backwardCall) runWith(t *testing.T, g kernel.Gradients, lse kernel.Tensor, o *kernel.BackwardOptions) {
	t.Helper()
	if err := kernel.AttentionBackward(g, w.dout, w.q, w.k, w.v, lse, o); err != nil {
		t.Fatal(err)
	}
	for _, x := range []*kernel.Tensor{&g.Q, &g.K, &g.V} {
		if contracttest.IsSet(*x) {
			contracttest.CheckGaps(t, x)
		}
	}
}

func sameGradients(t *testing.T, what string, got, want kernel.Gradients) {
	t.Helper()
	for _, x := range []struct {
		name string
		got  *kernel.Tensor
		want *kernel.Tensor
	}{{"dq", &got.Q, &want.Q}, {"dk", &got.K, &want.K}, {"dv", &got.V, &want.V}, {"dbias", &got.Bias, &want.Bias}} {
		if contracttest.IsSet(*x.got) {
			contracttest.Same(t, what+": "+x.name, x.got, x.want)
		}
	}
	if got.Sinks != nil {
		contracttest.SameRow(t, what+": dsinks", got.Sinks, want.Sinks)
	}
}

// TestBackward compares gradients with the contract, on all tiers. Any two levels of any two
// options meet in some call.
func TestBackward(t *testing.T) {
	contracttest.ForceThreads(t)
	eachOptionCase(func(n int, c *optionCase) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := newBackwardCall(t, c)
			want := w.want()
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				o := w.o
				o.Tier = tier
				w.check(t, fmt.Sprintf("levels %v", c.levels), o, want)
			})
		})
	})
}

// TestBackwardShapes does the same for awkward shapes, on one thread, on three, and on the
// program's own.
func TestBackwardShapes(t *testing.T) {
	contracttest.ForceThreads(t)
	contracttest.AllowThreads(t)
	for n, c := range cases() {
		if c.D > 1000 || testing.Short() && n%23 != 0 {
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			from := &optionCase{Case: c, r: testutil.Rand(c.Seed), levels: make([]int, len(factors))}
			w := makeBackwardCall(t, from, c.Options(kernel.Options{}))
			want := w.want()
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				o := w.o
				for _, threads := range []int{1, 3} {
					o.Exec = kernel.Exec{Tier: tier, Threads: threads}
					w.check(t, fmt.Sprintf("threads=%d", threads), o, want)
				}
				var own parallelFor
				o.Exec = kernel.Exec{Tier: tier, Threads: 3, ParallelFor: own.run}
				w.check(t, "own parallel-for", o, want)
			})
		})
	}
}

// TestBackwardPairs: two segments at a time give the bits of one, with all options, whether or not
// weights are kept, and on threads that wait for each other.
func TestBackwardPairs(t *testing.T) {
	contracttest.ForceThreads(t)
	contracttest.AllowThreads(t)
	compare := func(t *testing.T, w *backwardCall, threads ...int) {
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			pairs, err := tier.Tuned("PairBytes=1")
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range threads {
				o, want := w.o, w.gradients()
				o.Exec = kernel.Exec{Tier: tier, Threads: n}
				w.run(t, want, o)
				o.Tier = pairs
				w.check(t, fmt.Sprintf("levels %v, threads=%d", w.levels, n), o, want)
			}
		})
	}
	eachOptionCase(func(n int, c *optionCase) {
		if rows := c.Lq * c.H / c.HKV; rows > 64 { // several segments
			t.Run(fmt.Sprint(n), func(t *testing.T) { compare(t, newBackwardCall(t, c), 1) })
		}
	})
	for name, c := range map[string]contracttest.Case{
		"causal":    {B: 2, H: 4, HKV: 2, Lq: 150, Lk: 400, D: 8, Dv: 12, Mask: contracttest.Causal(250)},
		"window":    {B: 2, H: 2, HKV: 1, Lq: 400, Lk: 400, D: 4, Dv: 4, Mask: contracttest.Causal(0).And(contracttest.Window(140, 0))},
		"many keys": {B: 2, H: 4, HKV: 2, Lq: 130, Lk: 8600, D: 3, Dv: 2, Mask: contracttest.Causal(8470)},
	} {
		if c.Lk > 8000 && testutil.Thin() {
			continue // takes most of the time; TestBackwardManyKeys has as many keys on one segment
		}
		if testutil.Quick() {
			c.B = 1
		}
		t.Run(name, func(t *testing.T) {
			from := &optionCase{Case: c, r: testutil.Rand(5), levels: make([]int, len(factors))}
			compare(t, makeBackwardCall(t, from, c.Options(kernel.Options{})), 1, 2)
		})
	}
}

// TestBackwardManyKeys has so many keys that weights are computed again for the second pass.
func TestBackwardManyKeys(t *testing.T) {
	const keys = 8600
	c := contracttest.Case{B: 1, H: 2, HKV: 1, Lq: 3, Lk: keys, D: 5, Dv: 3, Seed: 7, Mask: contracttest.Causal(keys - 9)}
	from := &optionCase{Case: c, r: testutil.Rand(c.Seed), levels: make([]int, len(factors))}
	w := makeBackwardCall(t, from, c.Options(kernel.Options{Scoring: kernel.Scoring{Softcap: 3, Dropout: kernel.Dropout{Rate: 0.2, Seed: 3}}}))
	want := w.want()
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		o := w.o
		o.Tier = tier
		w.check(t, "8600 keys", o, want)
	})
}

// TestBackwardUnseenKeys: the first rows, which set the gradients of keys, see half of the first
// 128 and many after them. The rows of the next segment see the other half alone, and wait for
// them.
func TestBackwardUnseenKeys(t *testing.T) {
	contracttest.ForceThreads(t)
	contracttest.AllowThreads(t)
	const keys, block = 1280, 64
	keep := make([]bool, 2*keys/block)
	for x := range keys / block {
		keep[x], keep[keys/block+x] = x != 1, x == 1
	}
	c := contracttest.Case{B: 1, H: 1, HKV: 1, Lq: 2 * block, Lk: keys, D: 32, Dv: 16, Seed: 21, Mask: contracttest.BlockSparse(keep, block, block)}
	from := &optionCase{Case: c, r: testutil.Rand(c.Seed), levels: make([]int, len(factors))}
	w := makeBackwardCall(t, from, c.Options(kernel.Options{}))
	want := w.want()
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		counts := []int{1, 2, 2, 2}
		if testing.Short() {
			counts = counts[:2]
		}
		for _, threads := range counts {
			o := w.o
			o.Tier, o.Threads = tier, threads
			w.check(t, fmt.Sprintf("threads=%d", threads), o, want)
		}
	})
}

// TestBackwardWanted asks for some of the gradients: they have the bits that they have beside
// the others.
func TestBackwardWanted(t *testing.T) {
	c := contracttest.Case{B: 2, H: 4, HKV: 2, Lq: 70, Lk: 140, D: 24, Dv: 16, Seed: 5, Layout: contracttest.Gaps}
	from := &optionCase{Case: c, r: testutil.Rand(c.Seed), levels: make([]int, len(factors))}
	o := c.Options(kernel.Options{Scoring: kernel.Scoring{Sinks: []float32{1, -1, 0.5, 2}, Bias: kernel.BHLD(testutil.Floats(c.Lq*c.Lk), 1, 1, c.Lq, c.Lk)}})
	w := makeBackwardCall(t, from, o)
	all := w.gradients()
	w.run(t, all, w.o)
	for wanted := range 1 << 5 {
		w.check(t, fmt.Sprintf("wanted %05b", wanted), w.o, all, func(g *kernel.Gradients) {
			for x, drop := range []func(){
				func() { g.Q = kernel.Tensor{} }, func() { g.K = kernel.Tensor{} }, func() { g.V = kernel.Tensor{} },
				func() { g.Bias = kernel.Tensor{} }, func() { g.Sinks = nil },
			} {
				if wanted>>x&1 == 0 {
					drop()
				}
			}
		})
	}
}

// TestBackwardSharedBias: heads and batch rows add to a bias in their order, also where the rows of
// a query lie in several segments, or two batch rows in different ones.
func TestBackwardSharedBias(t *testing.T) {
	contracttest.ForceThreads(t)
	contracttest.AllowThreads(t)
	for name, x := range map[string]struct {
		b, h, hkv, lq int
		starts        []int
	}{
		"three heads to a key head":       {b: 1, h: 6, hkv: 2, lq: 25},
		"key heads that go on together":   {b: 2, h: 4, hkv: 2, lq: 70},
		"batch rows that start elsewhere": {b: 3, h: 2, hkv: 1, lq: 70, starts: []int{40, 0, 9}},
	} {
		t.Run(name, func(t *testing.T) {
			const keys = 31
			c := contracttest.Case{B: x.b, H: x.h, HKV: x.hkv, Lq: x.lq, Lk: keys, D: 3, Dv: 4, Seed: 14}
			from := &optionCase{Case: c, r: testutil.Rand(c.Seed), levels: make([]int, len(factors))}
			w := makeBackwardCall(t, from, c.Options(kernel.Options{Scoring: kernel.Scoring{QueryStart: x.starts, Bias: kernel.BHLD(testutil.Floats(x.lq*keys), 1, 1, x.lq, keys)}}))
			want := w.want()
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				for _, threads := range []int{1, 3} {
					o := w.o
					o.Tier, o.Threads = tier, threads
					w.check(t, fmt.Sprintf("threads=%d", threads), o, want)
				}
			})
		})
	}
}

// TestBackwardNoQueries: where there are no heads or no batch rows, all gradients are zeros.
func TestBackwardNoQueries(t *testing.T) {
	for _, c := range []contracttest.Case{
		{B: 2, HKV: 3, Lq: 4, Lk: 5, D: 2, Dv: 3},
		{H: 4, HKV: 2, Lq: 4, Lk: 5, D: 2, Dv: 3},
		{B: 1, H: 4, HKV: 2, Lk: 5, D: 2, Dv: 3},
	} {
		from := &optionCase{Case: c, r: testutil.Rand(c.Seed), levels: make([]int, len(factors))}
		w := makeBackwardCall(t, from, c.Options(kernel.Options{Scoring: kernel.Scoring{Sinks: make([]float32, c.H), Bias: kernel.BHLD(testutil.Floats(c.Lq*c.Lk), 1, 1, c.Lq, c.Lk)}}))
		g := w.gradients()
		w.run(t, g, w.o)
		for _, x := range [][]float32{contracttest.Floats(g.K), contracttest.Floats(g.V), contracttest.Floats(g.Bias), g.Sinks} {
			testutil.CheckBits(t, c.String(), x, make([]float32, len(x)))
		}
		w.check(t, c.String(), w.o, g)
	}
}

// TestBackwardBatch: gradients of a batch row do not depend on the others.
func TestBackwardBatch(t *testing.T) {
	c := contracttest.Case{B: 3, H: 2, HKV: 1, Lq: 90, Lk: 200, D: 16, Dv: 16, Seed: 11, Mask: contracttest.Causal(110)}
	from := &optionCase{Case: c, r: testutil.Rand(c.Seed), levels: make([]int, len(factors))}
	w := makeBackwardCall(t, from, c.Options(kernel.Options{}))
	all := w.gradients()
	w.run(t, all, w.o)
	row := func(x kernel.Tensor) kernel.Tensor {
		s := x.Shape()
		return kernel.BHLD(contracttest.Floats(x)[s[1]*s[2]*s[3]:2*s[1]*s[2]*s[3]], 1, s[1], s[2], s[3])
	}
	one := *w
	one.B = 1
	one.q, one.k, one.v, one.dout, one.o.LSE = row(w.q), row(w.k), row(w.v), row(w.dout), row(w.o.LSE)
	g := one.gradients()
	one.run(t, g, one.o)
	sameGradients(t, "one batch row", g, kernel.Gradients{Q: row(all.Q), K: row(all.K), V: row(all.V)})
}

// TestBackwardDifferences compares gradients with finite differences of a forward pass in
// float64.
func TestBackwardDifferences(t *testing.T) {
	c := contracttest.Case{B: 1, H: 2, HKV: 1, Lq: 4, Lk: 6, D: 3, Dv: 2, Seed: 3, Mask: contracttest.Causal(2)}
	from := &optionCase{Case: c, r: testutil.Rand(c.Seed), levels: make([]int, len(factors))}
	for name, o := range map[string]kernel.Options{
		"plain":   {},
		"softcap": {Scoring: kernel.Scoring{Softcap: 1.5}},
		"alibi":   {Scoring: kernel.Scoring{ALiBi: []float32{0.5, 0.25}}},
		"sinks":   {Scoring: kernel.Scoring{Sinks: []float32{0.5, -1}}},
		"bias":    {Scoring: kernel.Scoring{Bias: kernel.BHLD(testutil.Floats(c.Lq*c.Lk), 1, 1, c.Lq, c.Lk)}},
		"dropout": {Scoring: kernel.Scoring{Dropout: kernel.Dropout{Rate: 0.3, Seed: 9}}},
		"all": {Scoring: kernel.Scoring{
			Softcap: 2, ALiBi: []float32{0.5, 0.25}, Sinks: []float32{0.5, -1}, Dropout: kernel.Dropout{Rate: 0.3, Seed: 9},
			Bias: kernel.BHLD(testutil.Floats(c.H*c.Lq*c.Lk), 1, c.H, c.Lq, c.Lk),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := makeBackwardCall(t, from, c.Options(o))
			g := w.gradients()
			w.run(t, g, w.o)
			w.checkDifferences(t, "dq", contracttest.Floats(w.q), contracttest.Floats(g.Q))
			w.checkDifferences(t, "dk", contracttest.Floats(w.k), contracttest.Floats(g.K))
			w.checkDifferences(t, "dv", contracttest.Floats(w.v), contracttest.Floats(g.V))
			if g.Sinks != nil {
				w.checkDifferences(t, "dsinks", w.o.Sinks, g.Sinks)
			}
			if contracttest.IsSet(g.Bias) {
				w.checkDifferences(t, "dbias", contracttest.Floats(w.o.Bias), contracttest.Floats(g.Bias))
			}
		})
	}
}

// checkDifferences changes each input by a power of 2, which is exact, and compares the change
// of the loss, the sum of dout∘out, with the gradient. The error of a symmetric difference is of
// the order of the square of the step, which is 1e-6; the gradients are some tenths.
func (w *backwardCall) checkDifferences(t *testing.T, name string, input, gradient []float32) {
	t.Helper()
	const step = 0x1p-10
	for x := range input {
		before := input[x]
		input[x] = before + step
		up, plus := w.loss(), input[x]
		input[x] = before - step
		down, minus := w.loss(), input[x]
		input[x] = before
		want := (up - down) / (float64(plus) - float64(minus))
		if d := math.Abs(float64(gradient[x]) - want); !(d < 3e-5) {
			t.Errorf("%s[%d] is %v, the difference says %v", name, x, gradient[x], want)
		}
	}
}

// loss returns the sum of dout∘out in float64.
func (w *backwardCall) loss() (sum float64) {
	m := w.Model(w.q, w.k, w.v, &w.o)
	contracttest.EachRow(&w.dout, func(b, h, i int, row []float32) {
		for e, x := range m.ExactRow(b, h, i).Out {
			sum += float64(row[e]) * x
		}
	})
	return sum
}

// TestBackwardNoAllocations: a warm call allocates nothing, on any tier, alone or on threads.
func TestBackwardNoAllocations(t *testing.T) {
	contracttest.ForceThreads(t)
	c := contracttest.Case{B: 1, H: 4, HKV: 2, Lq: 80, Lk: 330, D: 20, Dv: 16, Seed: 2}
	from := &optionCase{Case: c, r: testutil.Rand(c.Seed), levels: make([]int, len(factors))}
	w := makeBackwardCall(t, from, c.Options(kernel.Options{Scoring: kernel.Scoring{
		Softcap: 5, Sinks: make([]float32, c.H), Bias: kernel.BHLD(testutil.Floats(c.Lq*c.Lk), 1, 1, c.Lq, c.Lk), Dropout: kernel.Dropout{Rate: 0.5},
	}}))
	g := w.gradients()
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for _, threads := range []int{1, 2} {
			o := w.o
			o.Exec = kernel.Exec{Tier: tier, Threads: threads}
			settings := contracttest.BackwardOptions(o)
			for _, settings.Accumulate = range []bool{false, true} {
				checkNoAllocs(t, fmt.Sprintf("threads=%d, accumulate=%v", threads, settings.Accumulate), func() error {
					return kernel.AttentionBackward(g, w.dout, w.q, w.k, w.v, o.LSE, settings)
				})
			}
		}
	})
}

// TestBackwardErrors: bad arguments get an error that names them, and the gradients stay as
// they are.
func TestBackwardErrors(t *testing.T) {
	c := contracttest.Case{B: 2, H: 4, HKV: 2, Lq: 5, Lk: 7, D: 4, Dv: 3, Seed: 2}
	from := &optionCase{Case: c, r: testutil.Rand(c.Seed), levels: make([]int, len(factors))}
	bias := kernel.BHLD(testutil.Floats(c.Lq*c.Lk), 1, 1, c.Lq, c.Lk)
	type call struct {
		*backwardCall
		g kernel.Gradients
	}
	for _, x := range []struct {
		arg, want string
		change    func(w *call)
	}{
		{"dout", "q's with v's head size", func(w *call) { w.dout = w.q }},
		{"k", "a number of heads that divides", func(w *call) { w.k = kernel.BHLD(make([]float32, 2*3*7*4), 2, 3, 7, 4) }},
		{"k", "float32, float16 or bfloat16", func(w *call) { w.k = contracttest.As(w.k, kernel.Int8) }},
		{"v", "float32, float16 or bfloat16", func(w *call) { w.v = contracttest.As(w.v, kernel.Float8E4M3) }},
		{"lse", "that Attention has written", func(w *call) { w.o.LSE = kernel.Tensor{} }},
		{"lse", "that Attention has written", func(w *call) { w.o.LSE = w.q }},
		{"Options.Scale", "finite", func(w *call) { w.o.Scale = testutil.NaN }},
		{"Gradients.Q", "in the shape of q", func(w *call) { w.g.Q = w.g.K }},
		{"Gradients.K", "float32", func(w *call) { w.g.K = contracttest.As(w.g.K, kernel.Float16) }},
		{"Gradients.V", "in the shape of v", func(w *call) { w.g.V = w.g.K }},
		{"Gradients.V", "memory of its own", func(w *call) { w.g.V = w.v }},
		{"Gradients.K", "memory of its own", func(w *call) { w.g.K = w.k }},
		{"Gradients.Q", "memory of its own", func(w *call) { w.g.Q = w.q }},
		{"Gradients.Bias", "as there is no Options.Bias", func(w *call) { w.g.Bias = bias }},
		{"Gradients.Sinks", "as many as Options.Sinks has: 0", func(w *call) { w.g.Sinks = make([]float32, 4) }},
		{"Gradients.Sinks", "memory of its own", func(w *call) { w.o.Sinks = make([]float32, 4); w.g.Sinks = w.o.Sinks }},
	} {
		w := &call{backwardCall: makeBackwardCall(t, from, c.Options(kernel.Options{}))}
		w.g = w.gradients()
		before := w.g
		x.change(w)
		err := kernel.AttentionBackward(w.g, w.dout, w.q, w.k, w.v, w.o.LSE, contracttest.BackwardOptions(w.o))
		contracttest.CheckArgument(t, x.arg, err, x.arg, x.want)
		for _, out := range []kernel.Tensor{before.Q, before.K, before.V} {
			for _, y := range contracttest.Floats(out) {
				if y != contracttest.Canary {
					t.Fatalf("%s: a gradient has changed", x.arg)
				}
			}
		}
	}
}

// TestBackwardOfProjection: gradients may be written between each other, into one buffer, as of a
// joint projection, and have the same bits there. Gradients that share an element are refused.
func TestBackwardOfProjection(t *testing.T) {
	c := contracttest.Case{B: 2, H: 4, HKV: 2, Lq: 70, Lk: 70, D: 5, Dv: 5, Seed: 3}
	from := &optionCase{Case: c, r: testutil.Rand(c.Seed), levels: make([]int, len(factors))}
	w := makeBackwardCall(t, from, c.Options(kernel.Options{}))
	width := (c.H + 2*c.HKV) * c.D
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		o := w.o
		o.Tier = tier
		for _, o.Threads = range []int{1, 3} {
			want := w.gradients()
			w.run(t, want, o)
			joint := testutil.Filled(c.B*c.Lq*width, contracttest.Canary)
			var got kernel.Gradients
			got.Q, got.K, got.V = kernel.PackedQKV(joint, c.B, c.Lq, c.H, c.HKV, c.D)
			settings := contracttest.BackwardOptions(o)
			sums := w.sums(&want)
			for _, settings.Accumulate = range []bool{false, true} {
				if err := kernel.AttentionBackward(got, w.dout, w.q, w.k, w.v, o.LSE, settings); err != nil {
					t.Fatal(err)
				}
				sameGradients(t, "in one buffer", got, want)
				held(&got)
				want = sums
			}
		}
		joint := testutil.Filled(c.B*c.Lq*width, contracttest.Canary)
		var bad kernel.Gradients
		bad.Q, bad.K, bad.V = kernel.PackedQKV(joint, c.B, c.Lq, c.H, c.HKV, c.D)
		bad.V = kernel.Strided(joint[(c.H+c.HKV)*c.D-1:], bad.K.Shape(), [3]int{c.Lq * width, c.D, width})
		err := kernel.AttentionBackward(bad, w.dout, w.q, w.k, w.v, o.LSE, contracttest.BackwardOptions(o))
		contracttest.CheckArgument(t, "one element in common", err, "Gradients.V", "memory of its own")
	})
}

// TestBackwardPanic: a parallel-for that panics ends the call, and the next one is right.
func TestBackwardPanic(t *testing.T) {
	contracttest.ForceThreads(t)
	c := contracttest.Case{B: 1, H: 4, HKV: 2, Lq: 80, Lk: 130, D: 16, Dv: 16, Seed: 4}
	from := &optionCase{Case: c, r: testutil.Rand(c.Seed), levels: make([]int, len(factors))}
	w := makeBackwardCall(t, from, c.Options(kernel.Options{}))
	want := w.gradients()
	w.run(t, want, w.o)
	for range 3 {
		for phase := range 2 { // the call has two
			calls := 0
			o := w.o
			o.Exec = kernel.Exec{Threads: 2, ParallelFor: func(n int, task func(i int)) {
				task(0)
				if calls == phase {
					panic("planted")
				}
				calls++
				task(1)
			}}
			func() {
				defer func() {
					if r := recover(); r != "planted" {
						t.Errorf("phase %d: recovered %v", phase, r)
					}
				}()
				kernel.AttentionBackward(w.gradients(), w.dout, w.q, w.k, w.v, o.LSE, contracttest.BackwardOptions(o))
			}()
			g := w.gradients()
			w.run(t, g, w.o)
			sameGradients(t, "after a panic", g, want)
		}
	}
}

// TestTinyGradients: a gradient below 2^-100 counts as 0, and so all gradients of it are, in
// attention and with additive scores; a gradient of 2^-100 does not.
func TestTinyGradients(t *testing.T) {
	const l, d = 70, 48
	for _, dout := range []float32{1e-36, -0x1.fffffep-101, 0x1p-149, 0x1p-100} {
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			view := func(x []float32, d int) kernel.Tensor { return kernel.BHLD(x, 1, 1, l, d) }
			q, k, v, grad := view(testutil.Floats(l*d), d), view(testutil.Floats(l*d), d), view(testutil.Floats(l*d), d), view(testutil.Filled(l*d, dout), d)
			out, lse, p := view(make([]float32, l*d), d), view(make([]float32, l), 1), view(make([]float32, l*l), l)
			exec := kernel.Exec{Tier: tier, Threads: 1}
			if err := kernel.Attention(out, q, k, v, &kernel.Options{Exec: exec, Outputs: kernel.Outputs{LSE: lse, Weights: p}}); err != nil {
				t.Fatal(err)
			}
			check := func(what string, g ...kernel.Tensor) {
				for i, x := range g {
					zeros := !slices.ContainsFunc(contracttest.Floats(x), func(x float32) bool { return math.Float32bits(x) != 0 })
					counts, isV := dout == 0x1p-100, i == 2 // the gradients of scores are smaller
					if !counts && !zeros || counts && isV && zeros {
						t.Errorf("%s, dout %g: gradient %d is zeros: %v", what, dout, i, zeros)
					}
				}
			}
			grads := func() [3]kernel.Tensor {
				var g [3]kernel.Tensor
				for i := range g {
					g[i] = view(testutil.Filled(l*d, testutil.Canary), d)
				}
				return g
			}
			g := grads()
			if err := kernel.AttentionBackward(kernel.Gradients{Q: g[0], K: g[1], V: g[2]}, grad, q, k, v, lse, &kernel.BackwardOptions{Exec: exec}); err != nil {
				t.Fatal(err)
			}
			check("AttentionBackward", g[:]...)
			g = grads()
			err := kernel.AdditiveBackward(kernel.AdditiveGradients{Q: g[0], K: g[1], V: g[2]}, grad, q, k, v, p, testutil.Floats(d), kernel.AdditiveBackwardOptions{Exec: exec})
			if err != nil {
				t.Fatal(err)
			}
			check("AdditiveBackward", g[:]...)
		})
	}
}
