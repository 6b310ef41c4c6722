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

// partialErrors break one argument of AttentionPartials and AccumulatePartials each.
var partialErrors = []struct {
	name, arg, want string
	spoil           func(dst *kernel.Partials, c *badCall)
}{
	{"blocks", "dst", "1 blocks", func(dst *kernel.Partials, _ *badCall) { *dst = *contracttest.NewPartials(2, 2, 4, 3, 5) }},
	{"no block", "dst", "1 blocks", func(dst *kernel.Partials, _ *badCall) { *dst = kernel.Partials{} }},
	{"queries", "out", "shape [2 4 3 5]", func(dst *kernel.Partials, _ *badCall) { *dst = *contracttest.NewPartials(1, 2, 4, 2, 5) }},
	{"negative", "dst", "no negative dimension", func(dst *kernel.Partials, _ *badCall) { dst.Heads = -4 }},
	{"head size", "dst", "head size of at least 1", func(dst *kernel.Partials, _ *badCall) { dst.HeadSize = -5 }},
	{"sums too few", "dst", "24 maxima and sums", func(dst *kernel.Partials, _ *badCall) { dst.Sum = dst.Sum[1:] }},
	{"maxima too many", "dst", "24 maxima and sums", func(dst *kernel.Partials, _ *badCall) { dst.Max = make([]float32, 25) }},
	{"outputs too few", "dst", "120 outputs", func(dst *kernel.Partials, _ *badCall) { dst.Out = nil }},
	{"sizes overflow", "dst", "outputs", func(dst *kernel.Partials, _ *badCall) { dst.Batch, dst.Heads = math.MaxInt, math.MaxInt }},
	{"sums are maxima", "dst", "another output", func(dst *kernel.Partials, _ *badCall) { dst.Sum = dst.Max }},
	{"outputs are v", "dst", "overlaps v", func(dst *kernel.Partials, c *badCall) { dst.Out = contracttest.Floats(c.v)[20:] }},
	{"sums are the bias", "dst", "overlaps Options.Bias", func(dst *kernel.Partials, c *badCall) { c.o.Bias = kernel.BHLD(dst.Sum, 1, 1, 1, 7) }},
	{"start off a block", "Options.KeyStart", "multiple of 256", func(_ *kernel.Partials, c *badCall) { c.o.KeyStart = []int{255} }},
	{"starts differ", "Options.KeyStart", "the same for all", func(_ *kernel.Partials, c *badCall) { c.o.KeyStart = []int{256, 512} }},
	{"softcap", "Options.Softcap", "2^-126", func(_ *kernel.Partials, c *badCall) { c.o.Softcap = -1 }},
	{"k", "k", "head size 6", func(_ *kernel.Partials, c *badCall) { setDim(&c.k, 3, 5) }},
}

// TestNewPartialsErrors: a dimension that does not fit is named, and so are sizes that memory
// cannot hold.
func TestNewPartialsErrors(t *testing.T) {
	for _, c := range []struct {
		dims      [5]int
		arg, want string
	}{
		{[5]int{-1, 2, 4, 3, 5}, "blocks", "at least 0"},
		{[5]int{1, -2, 4, 3, 5}, "batch", "at least 0"},
		{[5]int{1, 2, -4, 3, 5}, "heads", "at least 0"},
		{[5]int{1, 2, 4, -3, 5}, "queries", "at least 0"},
		{[5]int{1, 2, 4, 3, 0}, "headSize", "at least 1"},
		{[5]int{math.MaxInt, 1, 1, 1, 1}, "blocks", "fits memory"},
		{[5]int{1, 1, 1, 1, math.MaxInt / 4}, "blocks", "fits memory"},
		{[5]int{1, math.MaxInt, math.MaxInt, math.MaxInt, 1}, "blocks", "fits memory"},
	} {
		p, err := kernel.NewPartials(c.dims[0], c.dims[1], c.dims[2], c.dims[3], c.dims[4])
		contracttest.CheckArgument(t, fmt.Sprint(c.dims), err, c.arg, c.want)
		if p != nil {
			t.Errorf("%v: got Partials with the error", c.dims)
		}
	}
	if p, err := kernel.NewPartials(0, 2, 4, 3, 5); err != nil || len(p.Out) != 0 {
		t.Error("no blocks:", p, err)
	}
}

// TestPartialErrors: every argument that does not fit is reported as what it is, and dst
// has not been touched.
func TestPartialErrors(t *testing.T) {
	for name, f := range map[string]func(*kernel.Partials, kernel.Tensor, kernel.Tensor, kernel.Tensor, *kernel.PartialOptions) error{
		"AttentionPartials": kernel.AttentionPartials, "AccumulatePartials": kernel.AccumulatePartials,
	} {
		_, q, k, v := good()
		contracttest.CheckArgument(t, name+" of nil", f(nil, q, k, v, nil), "dst", "nil")
		for _, test := range partialErrors {
			t.Run(name+"/"+test.name, func(t *testing.T) {
				c, dst := newBadCall(), contracttest.NewPartials(1, 2, 4, 3, 5)
				c.o = kernel.Options{}
				test.spoil(dst, c)
				before := slices.Concat(dst.Max, dst.Sum, dst.Out)
				contracttest.CheckArgument(t, test.name, f(dst, c.q, c.k, c.v, contracttest.PartialOptions(c.o)), test.arg, test.want)
				if !slices.Equal(before, slices.Concat(dst.Max, dst.Sum, dst.Out)) {
					t.Error("dst was overwritten")
				}
			})
		}
	}
}

// A badMerge is a good MergePartials, broken in one place.
type badMerge struct {
	out   kernel.Tensor
	parts []kernel.Partials
	o     kernel.MergeOptions
}

func newBadMerge() *badMerge {
	part := contracttest.NewPartials(2, 2, 4, 3, 5)
	contracttest.Fill(part.Max, 0)
	contracttest.Fill(part.Sum, 1)
	return &badMerge{
		out:   kernel.BHLD(testutil.Filled(120, contracttest.Canary), 2, 4, 3, 5),
		parts: []kernel.Partials{*part, *contracttest.NewPartials(1, 2, 4, 3, 5)},
		o:     kernel.MergeOptions{LSE: kernel.BHLD(testutil.Filled(24, contracttest.Canary), 2, 4, 3, 1)},
	}
}

// TestMergeErrors: every argument that does not fit is reported as what it is, and no
// output has been touched.
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
		{"out too short", "out", "at least 120", func(m *badMerge) { setData(&m.out, contracttest.Floats(m.out)[1:]) }},
		{"out broadcast", "out", "nest", func(m *badMerge) { setStride(&m.out, 0, 0) }},
		{"head size", "parts", "part 1 of [2 4 3 6]", func(m *badMerge) { m.parts[1] = *contracttest.NewPartials(1, 2, 4, 3, 6) }},
		{"batch", "parts", "part 0 of [1 4 3 5]", func(m *badMerge) { m.parts[0] = *contracttest.NewPartials(2, 1, 4, 3, 5) }},
		{"negative", "parts", "no negative dimension", func(m *badMerge) { m.parts[0].Blocks = -1 }},
		{"zero Partials", "parts", "head size", func(m *badMerge) { m.parts[1] = kernel.Partials{} }},
		{"sums too few", "parts", "48 maxima and sums", func(m *badMerge) { m.parts[0].Sum = m.parts[0].Sum[1:] }},
		{"out is a part's", "parts", "overlaps an output", func(m *badMerge) { setData(&m.out, m.parts[0].Out[8:]) }},
		{"LSE is a part's", "parts", "overlaps an output", func(m *badMerge) { setData(&m.o.LSE, m.parts[1].Max) }},
		{"LSE is out", "Options.LSE", "another output", func(m *badMerge) { setData(&m.o.LSE, contracttest.Floats(m.out)) }},
		{"LSE shape", "Options.LSE", "[2 4 3 1]", func(m *badMerge) { setDim(&m.o.LSE, 2, 2) }},
		{"LSE of f16", "Options.LSE", "float32", func(m *badMerge) { m.o.LSE = kernel.BHLD(make([]kernel.F16, 24), 2, 4, 3, 1) }},
		{"sinks too few", "Options.Sinks", "q's heads: 4", func(m *badMerge) { m.o.Sinks = make([]float32, 3) }},
		{"sink NaN", "Options.Sinks", "NaN for head 2", func(m *badMerge) { m.o.Sinks = []float32{0, 0, testutil.NaN, 0} }},
		{"threads", "Options.Threads", "at least 1", func(m *badMerge) { m.o.Threads = -1 }},
		{"out is the sinks", "out", "overlaps Options.Sinks", func(m *badMerge) { m.o.Sinks = fill4(contracttest.Floats(m.out)[50:]) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newBadMerge()
			test.spoil(m)
			before := slices.Concat(contracttest.Floats(m.out), contracttest.Floats(m.o.LSE))
			contracttest.CheckArgument(t, test.name, kernel.MergePartials(m.out, m.parts, m.o), test.arg, test.want)
			if !slices.Equal(before, slices.Concat(contracttest.Floats(m.out), contracttest.Floats(m.o.LSE))) {
				t.Error("an output was overwritten")
			}
		})
	}
}

// TestMergeIntoErrors: every argument that does not fit is reported as what it is, and the state
// is untouched.
func TestMergeIntoErrors(t *testing.T) {
	type call struct {
		state *kernel.Partials
		parts []kernel.Partials
		exec  kernel.Exec
	}
	newCall := func() *call {
		c := &call{contracttest.NewPartials(1, 2, 4, 3, 5), newBadMerge().parts, kernel.Exec{}}
		for _, s := range [][]float32{c.state.Max, c.state.Sum, c.state.Out} {
			contracttest.Fill(s, contracttest.Canary)
		}
		return c
	}
	good := newCall()
	good.state.Reset()
	if err := kernel.MergeInto(good.state, good.parts, good.exec); err != nil || good.state.Sum[0] != 2 { // of two blocks
		t.Fatal(err, good.state.Sum)
	}
	for _, test := range []struct {
		name, arg, want string
		spoil           func(c *call)
	}{
		{"no state", "state", "Partials", func(c *call) { c.state = nil }},
		{"two blocks", "state", "1 blocks", func(c *call) { c.state = contracttest.NewPartials(2, 2, 4, 3, 5) }},
		{"zero state", "state", "1 blocks", func(c *call) { c.state = &kernel.Partials{} }},
		{"sums too few", "state", "24 maxima and sums", func(c *call) { c.state.Sum = c.state.Sum[1:] }},
		{"one slice twice", "state", "memory of its own", func(c *call) { c.state.Sum = c.state.Max }},
		{"another shape", "parts", "state's shape [2 4 3 5]", func(c *call) { c.parts[1] = *contracttest.NewPartials(1, 2, 4, 3, 6) }},
		{"part without sums", "parts", "48 maxima and sums", func(c *call) { c.parts[0].Sum = nil }},
		{"the state itself", "parts", "overlaps an output", func(c *call) { c.parts[1] = *c.state }},
		{"shared maxima", "parts", "overlaps an output", func(c *call) { c.state.Max = c.parts[0].Max[3:27] }},
		{"threads", "exec.Threads", "at least 1", func(c *call) { c.exec.Threads = -1 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCall()
			test.spoil(c)
			var before []float32
			if c.state != nil {
				before = slices.Concat(c.state.Max, c.state.Sum, c.state.Out)
			}
			contracttest.CheckArgument(t, test.name, kernel.MergeInto(c.state, c.parts, c.exec), test.arg, test.want)
			if c.state != nil && !slices.Equal(before, slices.Concat(c.state.Max, c.state.Sum, c.state.Out)) {
				t.Error("the state was overwritten")
			}
		})
	}
}

// TestMergeOfNothing: no parts and parts without blocks are rows that have seen no
// key.
func TestMergeOfNothing(t *testing.T) {
	for _, parts := range [][]kernel.Partials{nil, {}, {*contracttest.NewPartials(0, 2, 4, 3, 5)}, {*contracttest.NewPartials(3, 2, 4, 3, 5)}} {
		m := newBadMerge()
		if err := kernel.MergePartials(m.out, parts, m.o); err != nil {
			t.Fatal(err)
		}
		if slices.Max(contracttest.Floats(m.out)) != 0 || slices.Max(contracttest.Floats(m.o.LSE)) != contracttest.NegInf {
			t.Errorf("out is %v, LSE %v", contracttest.Floats(m.out), contracttest.Floats(m.o.LSE))
		}
	}
}
