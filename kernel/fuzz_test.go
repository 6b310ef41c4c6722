package kernel_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// A fuzzCall is what the fuzzer draws: a shape, a level for every factor of an
// optionCase, and numbers that need not be valid.
type fuzzCall struct {
	contracttest.Case
	levels                        []byte
	softcap, rate                 float32
	queryStart, keyStart, threads int
}

// FuzzAttention draws shapes, layouts, element types, all options, threads and poison, and
// compares every tier with the contract computed row by row. Numbers that make
// no valid call must give a typed error.
func FuzzAttention(f *testing.F) {
	addFuzzSeeds(f)
	fuzzCalls(f, 1<<20, func(t *testing.T, c *fuzzCall) {
		switch {
		case !c.validShape():
			c.refused(t, kernel.Options{Scoring: kernel.Scoring{Scale: c.Scale}, Exec: kernel.Exec{Threads: c.threads}}, c.attend)
		case !c.validNumbers():
			c.refused(t, c.options(c.optionCase()), c.attend)
		default:
			o := c.optionCase()
			o.compare(t, c.options(o))
		}
	})
}

// FuzzAttentionBackward does the same for the gradients: every tier has the contract's, also added
// to what the memory holds, and the rest of the memory stays as it is.
func FuzzAttentionBackward(f *testing.F) {
	addFuzzSeeds(f)
	fuzzCalls(f, 1<<17, func(t *testing.T, c *fuzzCall) {
		for x := range c.levels {
			if x == factor("score") {
				c.levels[x] = 0 // they would be refused
			}
		}
		switch {
		case !c.validShape():
			c.refused(t, kernel.Options{Scoring: kernel.Scoring{Scale: c.Scale}, Exec: kernel.Exec{Threads: c.threads}}, c.differentiate)
		case !c.validNumbers():
			c.refused(t, c.options(c.optionCase()), c.differentiate)
		default:
			c.compareBackward(t)
		}
	})
}

// fuzzCalls draws calls of at most so many products.
func fuzzCalls(f *testing.F, most int, check func(t *testing.T, c *fuzzCall)) {
	f.Fuzz(func(t *testing.T, seed uint64, b, h, hkv, lq, lk, d, dv int, lay byte, levels []byte,
		scale, softcap, rate float32, queryStart, keyStart, threads int) {
		c := &fuzzCall{
			Case:   contracttest.Case{B: b, H: h, HKV: hkv, Lq: lq, Lk: lk, D: d, Dv: dv, Scale: scale, Seed: seed, Layout: contracttest.Layout(lay) % contracttest.Layouts},
			levels: slices.Clone(levels), softcap: softcap, rate: rate, queryStart: queryStart, keyStart: keyStart, threads: threads,
		}
		if c.tooLarge(most) {
			t.Skip("too large for a fuzz step")
		}
		check(t, c)
	})
}

// addFuzzSeeds adds the calls that the fuzzer begins with.
func addFuzzSeeds(f *testing.F) {
	add := func(seed uint64, shape [7]int, levels string, scale, softcap, rate float32, queryStart, keyStart, threads int) {
		f.Add(seed, shape[0], shape[1], shape[2], shape[3], shape[4], shape[5], shape[6], byte(seed), []byte(levels),
			scale, softcap, rate, queryStart, keyStart, threads)
	}
	for _, x := range []struct {
		shape  [7]int
		levels string // see factors
	}{
		{[7]int{1, 2, 1, 5, 300, 16, 16}, ""},
		{[7]int{2, 2, 2, 70, 70, 7, 9}, "\x00\x01\x01"},
		{[7]int{1, 4, 2, 1, 513, 8, 8}, "\x00\x02\x04\x02\x01"},
		{[7]int{3, 1, 1, 17, 257, 33, 1}, "\x00\x03\x05\x04\x02\x01\x01"},
		{[7]int{1, 6, 2, 25, 31, 16, 16}, "\x00\x04\x06\x00\x03\x02\x02\x01\x01\x01\x01\x01\x03\x01"},
		{[7]int{2, 2, 1, 30, 60, 4, 4}, "\x00\x00\x07\x03\x00\x04\x00\x01\x01\x02\x02\x01\x02\x02\x01"},
		{[7]int{2, 1, 1, 0, 9, 4, 4}, "\x00\x01\x03\x01\x01\x05\x01\x01\x01\x01\x03\x01\x01\x03"},
		{[7]int{3, 2, 1, 3, 600, 4, 4}, "\x00\x00\x01\x00\x00\x00\x00\x00\x01\x00\x01\x00\x00\x01\x01\x03"},
		{[7]int{2, 4, 2, 9, 0, 4, 4}, "\x00\x02\x02\x02\x02\x03\x01\x01\x01\x02\x03\x01\x01\x03\x01"},
		{[7]int{58, 0, 1, 4, 12, 4, 4}, "00000000000020"}, // no query heads
		{[7]int{1, 3, 2, 4, 4, 4, 4}, ""},                 // heads do not divide
		{[7]int{1, 1, 1, -4, 4, 4, 4}, ""},                // negative length
	} {
		add(uint64(len(x.levels)), x.shape, x.levels, 0, 0, 0, 0, 0, 2)
	}
	small := [7]int{1, 2, 1, 4, 6, 4, 4}
	add(1, small, "", -2, 0.5, 0.25, 7, 9, 1)
	add(2, small, "", 3e38, 0, 0, 0, 0, 1)
	add(3, small, "", 0, -1, 0, 0, 0, 1)
	add(4, small, "", 0, 0, 1, 0, 0, 1)
	add(5, small, "", 0, 0, 0, 1<<30, 0, 1)
	add(6, small, "", 0, 0, 0, 0, -1, 1)
	add(7, small, "", 0, 0, 0, 0, 0, -1)
}

func (c *fuzzCall) tooLarge(most int) bool {
	return max(c.B, c.H, c.HKV, c.Lq, c.D, c.Dv) > 100 || c.Lk > 1100 || min(c.B, c.H, c.HKV, c.Lq, c.Lk, c.D, c.Dv) < -100 ||
		max(1, c.B)*max(1, c.H)*max(1, c.Lq)*max(1, c.Lk)*max(1, c.D+c.Dv) > most || c.threads > 64
}

func (c *fuzzCall) validShape() bool {
	return min(c.B, c.H, c.HKV, c.Lq, c.Lk) >= 0 && min(c.D, c.Dv) >= 1 &&
		(c.H == 0 || c.HKV != 0) && (c.HKV == 0 || c.H%c.HKV == 0)
}

func (c *fuzzCall) validNumbers() bool {
	within := func(x, least, most float32) bool { return x >= least && x <= most }
	starts := c.queryStart > -1<<30 && c.queryStart <= 1<<30-c.Lq && c.keyStart >= 0 && c.keyStart <= 1<<30-c.Lk
	return within(c.Scale, -0x1p127, 0x1p127) && (c.softcap == 0 || within(c.softcap, 0x1p-126, 0x1p127)) &&
		c.rate >= 0 && c.rate < 1 && starts && c.threads >= 0
}

// optionCase takes the levels that were drawn, 0 where there are too few.
func (c *fuzzCall) optionCase() *optionCase {
	o := &optionCase{Case: c.Case, r: testutil.Rand(c.Seed), levels: make([]int, len(factors))}
	for x := range min(len(factors), len(c.levels)) {
		o.levels[x] = int(c.levels[x]) % factors[x].levels
	}
	o.Types = optionTypes[o.level("types")]
	return o
}

// options returns the options of the levels, and replaces their numbers by those that are not 0.
func (c *fuzzCall) options(from *optionCase) kernel.Options {
	o := from.options()
	o.Scale, o.Threads = c.Scale, c.threads
	if c.softcap != 0 {
		o.Softcap = c.softcap
	}
	if c.rate != 0 {
		o.Dropout.Rate = c.rate
	}
	if c.queryStart != 0 {
		o.QueryStart = []int{c.queryStart}
	}
	if c.keyStart != 0 {
		o.KeyStart = []int{c.keyStart}
	}
	return o
}

// refused makes the call with more than enough memory.
func (c *fuzzCall) refused(t *testing.T, o kernel.Options, call func(mem fuzzMemory, o kernel.Options) ([]kernel.Tensor, error)) {
	mem := func(b, h, l, d int) kernel.Tensor {
		return kernel.BHLD(testutil.Filled(1<<16, contracttest.Canary), b, h, l, d)
	}
	outputs, err := call(mem, o)
	var arg *kernel.Error
	if !errors.As(err, &arg) {
		t.Fatalf("%+v: got %v, want an Error", c, err)
	}
	for _, out := range outputs {
		for i, x := range contracttest.Floats(out) {
			if x != contracttest.Canary {
				t.Fatalf("output[%d] was overwritten", i)
			}
		}
	}
}

// A fuzzMemory makes a tensor over more than enough memory.
type fuzzMemory func(b, h, l, d int) kernel.Tensor

// attend makes the call, and returns its outputs.
func (c *fuzzCall) attend(mem fuzzMemory, o kernel.Options) ([]kernel.Tensor, error) {
	out := mem(c.B, c.H, c.Lq, c.Dv)
	return []kernel.Tensor{out}, kernel.Attention(out, mem(c.B, c.H, c.Lq, c.D), mem(c.B, c.HKV, c.Lk, c.D), mem(c.B, c.HKV, c.Lk, c.Dv), &o)
}

// differentiate makes the call of the gradients, and returns its outputs.
func (c *fuzzCall) differentiate(mem fuzzMemory, o kernel.Options) ([]kernel.Tensor, error) {
	q, k, v := mem(c.B, c.H, c.Lq, c.D), mem(c.B, c.HKV, c.Lk, c.D), mem(c.B, c.HKV, c.Lk, c.Dv)
	g := kernel.Gradients{Q: mem(c.B, c.H, c.Lq, c.D), K: mem(c.B, c.HKV, c.Lk, c.D), V: mem(c.B, c.HKV, c.Lk, c.Dv)}
	o.LSE = mem(c.B, c.H, c.Lq, 1)
	return []kernel.Tensor{g.Q, g.K, g.V}, kernel.AttentionBackward(g, mem(c.B, c.H, c.Lq, c.Dv), q, k, v, o.LSE, contracttest.BackwardOptions(o))
}

// compareBackward compares the gradients on every tier with the contract. Their memory has gaps
// between rows and around them, and guards around the gradients of biases and sinks.
func (c *fuzzCall) compareBackward(t *testing.T) {
	from := c.optionCase()
	for _, x := range []*kernel.DType{&from.Types.K, &from.Types.V} {
		if *x >= kernel.Int8 { // they would be refused
			*x = kernel.BFloat16
		}
	}
	w := makeBackwardCall(t, from, c.options(from))
	w.Layout = contracttest.Gaps
	want := w.want()
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for _, accumulate := range []bool{false, true} {
			g, expected := w.gradients(), want
			var bias, sinks []float32
			if contracttest.IsSet(g.Bias) {
				s := g.Bias.Shape()
				bias = guarded(len(contracttest.Floats(g.Bias)))
				g.Bias = kernel.BHLD(bias[guard:len(bias)-guard], s[0], s[1], s[2], s[3])
			}
			if g.Sinks != nil {
				sinks = guarded(len(g.Sinks))
				g.Sinks = sinks[guard : len(sinks)-guard]
			}
			o := contracttest.BackwardOptions(w.o)
			o.Tier, o.Accumulate = tier, accumulate
			if accumulate {
				held(&g)
				expected = w.sums(&want)
			}
			w.runWith(t, g, w.o.LSE, o)
			sameGradients(t, fmt.Sprintf("levels %v, accumulate=%v", c.levels, accumulate), g, expected)
			checkGuards(t, "dbias", bias)
			checkGuards(t, "dsinks", sinks)
		}
	})
}

// guard is the number of canaries before and after a slice.
const guard = 40

// guarded returns canaries for n numbers and for the guards around them.
func guarded(n int) []float32 { return testutil.Filled(n+2*guard, contracttest.Canary) }

// checkGuards fails if a guard has changed. No memory has none.
func checkGuards(t *testing.T, what string, memory []float32) {
	t.Helper()
	for i, x := range memory {
		if (i < guard || i >= len(memory)-guard) && x != contracttest.Canary {
			t.Fatalf("%s: number %d was overwritten, outside of the %d from 0 on", what, i-guard, len(memory)-2*guard)
		}
	}
}
