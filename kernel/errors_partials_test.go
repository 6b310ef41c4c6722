package kernel_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// partialErrors break one argument of AttentionPartials and Accumulate each.
var partialErrors = []struct {
	name, arg, want string
	spoil           func(dst *kernel.Partials, c *badCall)
}{
	{"blocks", "dst", "1 blocks", func(dst *kernel.Partials, _ *badCall) { *dst = *kernel.NewPartials(2, 2, 4, 3, 5) }},
	{"no block", "dst", "1 blocks", func(dst *kernel.Partials, _ *badCall) { *dst = kernel.Partials{} }},
	{"queries", "out", "shape [2 4 3 5]", func(dst *kernel.Partials, _ *badCall) { *dst = *kernel.NewPartials(1, 2, 4, 2, 5) }},
	{"negative", "dst", "no negative dimension", func(dst *kernel.Partials, _ *badCall) { *dst = *kernel.NewPartials(1, 2, -4, 3, 5) }},
	{"head size", "dst", "head size of at least 1", func(dst *kernel.Partials, _ *badCall) { *dst = *kernel.NewPartials(1, 2, 4, 3, -5) }},
	{"sums too few", "dst", "24 maxima and sums", func(dst *kernel.Partials, _ *badCall) { dst.Sum = dst.Sum[1:] }},
	{"maxima too many", "dst", "24 maxima and sums", func(dst *kernel.Partials, _ *badCall) { dst.Max = make([]float32, 25) }},
	{"outputs too few", "dst", "120 outputs", func(dst *kernel.Partials, _ *badCall) { dst.Out = nil }},
	{"sizes overflow", "dst", "outputs", func(dst *kernel.Partials, _ *badCall) { dst.Batch, dst.Heads = math.MaxInt, math.MaxInt }},
	{"sums are maxima", "dst", "another output", func(dst *kernel.Partials, _ *badCall) { dst.Sum = dst.Max }},
	{"outputs are v", "dst", "overlaps v", func(dst *kernel.Partials, c *badCall) { dst.Out = c.v.f32[20:] }},
	{"sums are the bias", "dst", "overlaps Options.Bias", func(dst *kernel.Partials, c *badCall) { c.o.Bias = kernel.BHLD(dst.Sum, 1, 1, 1, 7) }},
	{"start off a block", "Options.KeyStart", "multiple of 256", func(_ *kernel.Partials, c *badCall) { c.o.KeyStart = []int{255} }},
	{"starts differ", "Options.KeyStart", "the same for all", func(_ *kernel.Partials, c *badCall) { c.o.KeyStart = []int{256, 512} }},
	{"sinks", "Options.Sinks", "none", func(_ *kernel.Partials, c *badCall) { c.o.Sinks = make([]float32, 4) }},
	{"LSE", "Options.LSE", "none", func(_ *kernel.Partials, c *badCall) { c.o.LSE = newBadCall().o.LSE }},
	{"weights", "Options.Weights", "none", func(_ *kernel.Partials, c *badCall) { c.o.Weights = newBadCall().o.Weights }},
	{"scores", "Options.Scores", "none", func(_ *kernel.Partials, c *badCall) { c.o.Scores = newBadCall().o.Scores }},
	{"softcap", "Options.Softcap", "2^-126", func(_ *kernel.Partials, c *badCall) { c.o.Softcap = -1 }},
	{"k", "k", "head size 6", func(_ *kernel.Partials, c *badCall) { c.k.shape[3] = 5 }},
}

func TestPartialErrors(t *testing.T) {
	for name, f := range map[string]func(*kernel.Partials, kernel.Tensor, kernel.Tensor, kernel.Tensor, kernel.Options) error{
		"AttentionPartials": kernel.AttentionPartials, "Accumulate": kernel.AccumulatePartials,
	} {
		_, q, k, v := good()
		checkArgumentError(t, f(nil, q, k, v, kernel.Options{}), "dst", "got nil")
		for _, test := range partialErrors {
			t.Run(name+"/"+test.name, func(t *testing.T) {
				c, dst := newBadCall(), kernel.NewPartials(1, 2, 4, 3, 5)
				c.o = kernel.Options{}
				test.spoil(dst, c)
				before := slices.Concat(dst.Max, dst.Sum, dst.Out)
				checkArgumentError(t, f(dst, c.q, c.k, c.v, c.o), test.arg, test.want)
				if !slices.Equal(before, slices.Concat(dst.Max, dst.Sum, dst.Out)) {
					t.Error("dst was overwritten")
				}
			})
		}
		var te *kernel.TierError
		if err := f(kernel.NewPartials(1, 2, 4, 3, 5), q, k, v, kernel.Options{Exec: kernel.Exec{Tier: "sse9"}}); !errors.As(err, &te) {
			t.Errorf("%s: got %v, want a TierError", name, err)
		}
	}
}

// A badMerge is a good Merge, broken in one place.
type badMerge struct {
	out   kernel.Tensor
	parts []kernel.Partials
	o     kernel.MergeOptions
}

func newBadMerge() *badMerge {
	part := kernel.NewPartials(2, 2, 4, 3, 5)
	fill(part.Max, 0)
	fill(part.Sum, 1)
	return &badMerge{
		out:   kernel.BHLD(filled(120, canary), 2, 4, 3, 5),
		parts: []kernel.Partials{*part, *kernel.NewPartials(1, 2, 4, 3, 5)},
		o:     kernel.MergeOptions{LSE: kernel.BHLD(filled(24, canary), 2, 4, 3, 1)},
	}
}

func TestMergeErrors(t *testing.T) {
	good := newBadMerge()
	if err := kernel.MergePartials(good.out, good.parts, good.o); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, arg, want string
		spoil           func(m *badMerge)
	}{
		{"zero out", "out", "head size", func(m *badMerge) { m.out = kernel.Tensor{} }},
		{"out of int8", "out", "float32, float16 or bfloat16", func(m *badMerge) {
			scales := kernel.BHLD(make([]float32, 24), 2, 4, 3, 1)
			m.out = kernel.BHLD(make([]int8, 120), 2, 4, 3, 5).Scaled(&scales)
		}},
		{"out too short", "out", "at least 120", func(m *badMerge) { m.out.f32 = m.out.f32[1:] }},
		{"out broadcast", "out", "nest", func(m *badMerge) { m.out.stride[0] = 0 }},
		{"head size", "parts", "part 1 of [2 4 3 6]", func(m *badMerge) { m.parts[1] = *kernel.NewPartials(1, 2, 4, 3, 6) }},
		{"batch", "parts", "part 0 of [1 4 3 5]", func(m *badMerge) { m.parts[0] = *kernel.NewPartials(2, 1, 4, 3, 5) }},
		{"negative", "parts", "no negative dimension", func(m *badMerge) { m.parts[0].Blocks = -1 }},
		{"zero Partials", "parts", "head size", func(m *badMerge) { m.parts[1] = kernel.Partials{} }},
		{"sums too few", "parts", "48 maxima and sums", func(m *badMerge) { m.parts[0].Sum = m.parts[0].Sum[1:] }},
		{"out is a part's", "parts", "overlaps an output", func(m *badMerge) { m.out.f32 = m.parts[0].Out[8:] }},
		{"LSE is a part's", "parts", "overlaps an output", func(m *badMerge) { m.o.LSE.f32 = m.parts[1].Max }},
		{"LSE is out", "Options.LSE", "another output", func(m *badMerge) { m.o.LSE.f32 = m.out.f32 }},
		{"LSE shape", "Options.LSE", "[2 4 3 1]", func(m *badMerge) { m.o.LSE.shape[2] = 2 }},
		{"LSE of f16", "Options.LSE", "float32", func(m *badMerge) { m.o.LSE = kernel.BHLD(make([]kernel.F16, 24), 2, 4, 3, 1) }},
		{"sinks too few", "Options.Sinks", "q's heads: 4", func(m *badMerge) { m.o.Sinks = make([]float32, 3) }},
		{"sink NaN", "Options.Sinks", "NaN for head 2", func(m *badMerge) { m.o.Sinks = []float32{0, 0, nan32, 0} }},
		{"out is the sinks", "out", "overlaps Options.Sinks", func(m *badMerge) { m.o.Sinks = fill4(m.out.f32[50:]) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newBadMerge()
			test.spoil(m)
			before := slices.Concat(m.out.f32, m.o.LSE.f32)
			checkArgumentError(t, kernel.MergePartials(m.out, m.parts, m.o), test.arg, test.want)
			if !slices.Equal(before, slices.Concat(m.out.f32, m.o.LSE.f32)) {
				t.Error("an output was overwritten")
			}
		})
	}
	var te *kernel.TierError
	if err := kernel.MergePartials(good.out, good.parts, kernel.MergeOptions{Exec: kernel.Exec{Tier: "sse9"}}); !errors.As(err, &te) {
		t.Errorf("got %v, want a TierError", err)
	}
}

// TestMergeOfNothing: no parts and parts without blocks are rows that have seen no
// key.
func TestMergeOfNothing(t *testing.T) {
	for _, parts := range [][]kernel.Partials{nil, {}, {*kernel.NewPartials(0, 2, 4, 3, 5)}, {*kernel.NewPartials(3, 2, 4, 3, 5)}} {
		m := newBadMerge()
		if err := kernel.MergePartials(m.out, parts, m.o); err != nil {
			t.Fatal(err)
		}
		if slices.Max(m.out.f32) != 0 || slices.Max(m.o.LSE.f32) != negInf[0] {
			t.Errorf("out is %v, LSE %v", m.out.f32, m.o.LSE.f32)
		}
	}
}
