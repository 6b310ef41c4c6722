package kernel_test

import (
	"errors"
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
		{[7]int{1, 3, 2, 4, 4, 4, 4}, ""},  // heads do not divide
		{[7]int{1, 1, 1, -4, 4, 4, 4}, ""}, // negative length
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
	f.Fuzz(func(t *testing.T, seed uint64, b, h, hkv, lq, lk, d, dv int, lay byte, levels []byte,
		scale, softcap, rate float32, queryStart, keyStart, threads int) {
		c := fuzzCall{
			Case:   contracttest.Case{B: b, H: h, HKV: hkv, Lq: lq, Lk: lk, D: d, Dv: dv, Scale: scale, Seed: seed, Layout: contracttest.Layout(lay) % contracttest.Layouts},
			levels: levels, softcap: softcap, rate: rate, queryStart: queryStart, keyStart: keyStart, threads: threads,
		}
		switch {
		case c.tooLarge():
			t.Skip("too large for a fuzz step")
		case !c.validShape():
			c.refused(t, kernel.Options{Scale: scale, Exec: kernel.Exec{Threads: threads}})
		case !c.validNumbers():
			c.refused(t, c.options(c.optionCase()))
		default:
			o := c.optionCase()
			o.compare(t, c.options(o))
		}
	})
}

func (c *fuzzCall) tooLarge() bool {
	return max(c.B, c.H, c.HKV, c.Lq, c.D, c.Dv) > 100 || c.Lk > 1100 || min(c.B, c.H, c.HKV, c.Lq, c.Lk, c.D, c.Dv) < -100 ||
		max(1, c.B)*max(1, c.H)*max(1, c.Lq)*max(1, c.Lk)*max(1, c.D+c.Dv) > 1<<20 || c.threads > 64
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

// options are those of the levels, and the numbers that are not 0 instead of theirs.
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
func (c *fuzzCall) refused(t *testing.T, o kernel.Options) {
	mem := func(b, h, l, d int) kernel.Tensor {
		return kernel.BHLD(testutil.Filled(1<<16, contracttest.Canary), b, h, l, d)
	}
	out := mem(c.B, c.H, c.Lq, c.Dv)
	err := kernel.Attention(out, mem(c.B, c.H, c.Lq, c.D), mem(c.B, c.HKV, c.Lk, c.D), mem(c.B, c.HKV, c.Lk, c.Dv), o)
	var arg *kernel.ArgumentError
	if !errors.As(err, &arg) {
		t.Fatalf("%+v: got %v, want an ArgumentError", c, err)
	}
	for i, x := range contracttest.Floats(out) {
		if x != contracttest.Canary {
			t.Fatalf("out[%d] was overwritten", i)
		}
	}
}
