package kernel_test

import (
	"fmt"
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
// a score modification, int8.
func newBackwardCall(t *testing.T, c *optionCase) *backwardCall {
	t.Helper()
	c.levels[factor("score")] = 0
	for _, x := range []*kernel.DType{&c.Types.K, &c.Types.V} {
		if *x == kernel.Int8 {
			*x = kernel.BFloat16
		}
	}
	return makeBackwardCall(t, c, c.options())
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
	contracttest.EachRow(&w.dout, func(_, _, _ int, row []float32) { c.r.Fill(row) })
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
	if err := kernel.Attention(w.out, w.q, w.k, w.v, w.o); err != nil {
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
	if err := kernel.AttentionBackward(g, w.dout, w.q, w.k, w.v, o); err != nil {
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
// options meet in one of the calls.
func TestBackward(t *testing.T) {
	contracttest.ForceThreads(t)
	eachOptionCase(func(n int, c *optionCase) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := newBackwardCall(t, c)
			want := w.want()
			contracttest.EachTier(t, func(t *testing.T, tier string) {
				o, g := w.o, w.gradients()
				o.Tier = tier
				w.run(t, g, o)
				sameGradients(t, fmt.Sprintf("levels %v", c.levels), g, want)
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
		if c.D > 1000 || testing.Short() && n%5 != 0 {
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			from := &optionCase{Case: c, r: testutil.Rand(c.Seed), levels: make([]int, len(factors))}
			w := makeBackwardCall(t, from, c.Options(kernel.Options{}))
			want := w.want()
			contracttest.EachTier(t, func(t *testing.T, tier string) {
				o := w.o
				for _, threads := range []int{1, 3} {
					g := w.gradients()
					o.Exec = kernel.Exec{Tier: tier, Threads: threads}
					w.run(t, g, o)
					sameGradients(t, fmt.Sprintf("threads=%d", threads), g, want)
				}
				g := w.gradients()
				var own parallelFor
				o.Exec = kernel.Exec{Tier: tier, Threads: 3, ParallelFor: own.run}
				w.run(t, g, o)
				sameGradients(t, "own parallel-for", g, want)
			})
		})
	}
}
