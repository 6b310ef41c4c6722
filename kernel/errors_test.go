package kernel_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/kernel"
)

// good is a small valid call, to be broken in one place.
func good() (out, q, k, v kernel.Tensor) {
	return kernel.BHLD(testutil.Filled(2*4*3*5, contracttest.Canary), 2, 4, 3, 5), kernel.BHLD(make([]float32, 2*4*3*6), 2, 4, 3, 6),
		kernel.BHLD(make([]float32, 2*2*7*6), 2, 2, 7, 6), kernel.BHLD(make([]float32, 2*2*7*5), 2, 2, 7, 5)
}

// setData, setDim and setStride change one property of a float32 tensor.
func setData(t *kernel.Tensor, data []float32) {
	*t = kernel.Strided(data, t.Shape(), t.Strides())
}

func setDim(t *kernel.Tensor, i, n int) {
	shape := t.Shape()
	shape[i] = n
	*t = kernel.Strided(contracttest.Floats(*t), shape, t.Strides())
}

func setStride(t *kernel.Tensor, i, n int) {
	strides := t.Strides()
	strides[i] = n
	*t = kernel.Strided(contracttest.Floats(*t), t.Shape(), strides)
}

// TestArgumentErrors: every argument that does not fit is reported as what it is, and out
// has not been touched.
func TestArgumentErrors(t *testing.T) {
	shared := make([]float32, 1000)
	tests := []struct {
		name string
		arg  string
		want string // in the message
		call func(out, q, k, v *kernel.Tensor, o *kernel.Options)
	}{
		{"q too short", "q", "144 elements", func(_, q, _, _ *kernel.Tensor, _ *kernel.Options) { setData(q, contracttest.Floats(*q)[:143]) }},
		{"k too short", "k", "168 elements", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) { setData(k, contracttest.Floats(*k)[:167]) }},
		{"v too short", "v", "140 elements", func(_, _, _, v *kernel.Tensor, _ *kernel.Options) { setData(v, contracttest.Floats(*v)[:139]) }},
		{"out too short", "out", "120 elements", func(o, _, _, _ *kernel.Tensor, _ *kernel.Options) { setData(o, contracttest.Floats(*o)[:119]) }},
		{"q nil", "q", "in 0 elements", func(_, q, _, _ *kernel.Tensor, _ *kernel.Options) { setData(q, nil) }},
		{"q zero Tensor", "q", "head size", func(_, q, _, _ *kernel.Tensor, _ *kernel.Options) { *q = kernel.Tensor{} }},
		{"k empty slice", "k", "in 0 elements", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) { setData(k, []float32{}) }},
		{"negative dimension", "q", "negative dimension", func(_, q, _, _ *kernel.Tensor, _ *kernel.Options) { setDim(q, 2, -3) }},
		{"negative BHLD", "q", "negative dimension", func(_, q, _, _ *kernel.Tensor, _ *kernel.Options) { *q = kernel.BHLD(shared, 2, -4, 3, 6) }},
		{"negative stride", "k", "negative stride", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) { setStride(k, 2, -6) }},
		{"head size 0", "q", "head size", func(_, q, k, _ *kernel.Tensor, _ *kernel.Options) { setDim(q, 3, 0); setDim(k, 3, 0) }},
		{"value size 0", "v", "head size", func(_, _, _, v *kernel.Tensor, _ *kernel.Options) { setDim(v, 3, 0) }},
		{"stride leaves the slice", "v", "elements", func(_, _, _, v *kernel.Tensor, _ *kernel.Options) { setStride(v, 2, 6) }},
		{"stride overflows int", "q", "fits an int", func(_, q, _, _ *kernel.Tensor, _ *kernel.Options) { setStride(q, 0, math.MaxInt) }},
		{"sizes overflow int", "q", "fits an int", func(_, q, _, _ *kernel.Tensor, _ *kernel.Options) {
			*q = kernel.BHLD(shared, math.MaxInt, math.MaxInt, 3, 6)
		}},
		{"products that wrap to small", "k", "fits an int", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) { *k = kernel.BHLD(shared, 2, 2, math.MaxInt/3, 6) }},
		{"batch differs", "k", "batch 2", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) { setDim(k, 0, 1) }},
		{"head size differs", "k", "head size 6", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) { setDim(k, 3, 5) }},
		{"heads not divisible", "k", "divides", func(_, _, k, v *kernel.Tensor, _ *kernel.Options) { *k = kernel.BHLD(shared, 2, 3, 7, 6) }},
		{"no key heads", "k", "divides", func(_, _, k, v *kernel.Tensor, _ *kernel.Options) { setDim(k, 1, 0); setDim(v, 1, 0) }},
		{"value length differs", "v", "length 7", func(_, _, _, v *kernel.Tensor, _ *kernel.Options) { setDim(v, 2, 6) }},
		{"value heads differ", "v", "2 heads", func(_, _, _, v *kernel.Tensor, _ *kernel.Options) { setDim(v, 1, 1) }},
		{"out shape differs", "out", "[2 4 3 5]", func(o, _, _, _ *kernel.Tensor, _ *kernel.Options) { setDim(o, 3, 4) }},
		{"out rows overlap", "out", "overlap", func(o, _, _, _ *kernel.Tensor, _ *kernel.Options) { setStride(o, 2, 4) }},
		{"out broadcast", "out", "overlap", func(o, _, _, _ *kernel.Tensor, _ *kernel.Options) { setStride(o, 0, 0) }},
		{"out is q", "out", "overlaps q", func(o, q, _, _ *kernel.Tensor, _ *kernel.Options) { setData(o, shared); setData(q, shared) }},
		{"out meets k by one element", "out", "overlaps k", func(o, _, k, _ *kernel.Tensor, _ *kernel.Options) { setData(o, shared[167:]); setData(k, shared) }},
		{"out is v", "out", "overlaps v", func(o, _, _, v *kernel.Tensor, _ *kernel.Options) { setData(o, shared); setData(v, shared[1:]) }},
		{"scale NaN", "Options.Scale", "finite", func(_, _, _, _ *kernel.Tensor, o *kernel.Options) { o.Scale = testutil.NaN }},
		{"scale Inf", "Options.Scale", "finite", func(_, _, _, _ *kernel.Tensor, o *kernel.Options) { o.Scale = -testutil.Inf }},
		{"threads", "Options.Threads", "at least 1", func(_, _, _, _ *kernel.Tensor, o *kernel.Options) { o.Threads = -1 }},
		{"lengths too few", "Options.Mask", "one per batch row", func(_, _, _, _ *kernel.Tensor, o *kernel.Options) { o.Mask = kernel.KeyLengths([]int{7}) }},
		{"lengths nil", "Options.Mask", "one per batch row", func(_, _, _, _ *kernel.Tensor, o *kernel.Options) { o.Mask = kernel.KeyLengths(nil) }},
		{"length too long", "Options.Mask", "0 to 7", func(_, _, _, _ *kernel.Tensor, o *kernel.Options) { o.Mask = kernel.KeyLengths([]int{7, 8}) }},
		{"length negative", "Options.Mask", "0 to 7", func(_, _, _, _ *kernel.Tensor, o *kernel.Options) {
			o.Mask = kernel.Causal(0).And(kernel.KeyLengths([]int{-1, 7}))
		}},
		{"too many masks", "Options.Mask", "fewer", func(_, _, _, _ *kernel.Tensor, o *kernel.Options) {
			for range mask.MaxRules + 1 {
				o.Mask = o.Mask.And(kernel.Causal(0))
			}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			out, q, k, v := good()
			var o kernel.Options
			test.call(&out, &q, &k, &v, &o)
			before := append([]float32(nil), contracttest.Floats(out)...)
			err := kernel.Attention(out, q, k, v, &o)
			contracttest.CheckArgument(t, test.name, err, test.arg, test.want)
			for i := range before {
				if before[i] != contracttest.Floats(out)[i] {
					t.Fatalf("out[%d] was overwritten", i)
				}
			}
		})
	}
}

// TestGoodCalls are calls that look bad and are not.
func TestGoodCalls(t *testing.T) {
	out, q, k, v := good()
	for name, call := range map[string]func() error{
		"plain": func() error { return kernel.Attention(out, q, k, v, nil) },
		"k and v share": func() error {
			return kernel.Attention(kernel.BHLD(make([]float32, 144), 2, 4, 3, 6), q, k, k, nil)
		},
		"k broadcast": func() error { k := k; setStride(&k, 0, 0); return kernel.Attention(out, q, k, v, nil) },
		"out touches q": func() error {
			s := make([]float32, 264)
			return kernel.Attention(kernel.BHLD(s[144:], 2, 4, 3, 5), kernel.BHLD(s, 2, 4, 3, 6), k, v, nil)
		},
		"negative scale": func() error {
			return kernel.Attention(out, q, k, v, &kernel.Options{Scoring: kernel.Scoring{Scale: -1}})
		},
		"negative offset": func() error {
			return kernel.Attention(out, q, k, v, &kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(math.MinInt)}})
		},
		"huge offset": func() error {
			return kernel.Attention(out, q, k, v, &kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(math.MaxInt)}})
		},
		"stride of one head": func() error {
			out := kernel.Strided(make([]float32, 40), [4]int{1, 1, 3, 5}, [3]int{10, math.MinInt + 50, 5})
			return kernel.Attention(out, kernel.BHLD(contracttest.Floats(q), 1, 1, 3, 6), kernel.BHLD(contracttest.Floats(k), 1, 1, 7, 6), kernel.BHLD(contracttest.Floats(v), 1, 1, 7, 5), nil)
		},
		"no queries": func() error {
			return kernel.Attention(kernel.BHLD([]float32(nil), 2, 4, 0, 5), kernel.BHLD([]float32{}, 2, 4, 0, 6), k, v, nil)
		},
		"unused stride": func() error {
			q := kernel.Strided(contracttest.Floats(q), [4]int{1, 1, 1, 6}, [3]int{-1, math.MaxInt, 0})
			return kernel.Attention(kernel.BHLD(contracttest.Floats(out), 1, 1, 1, 5), q, kernel.BHLD(contracttest.Floats(k), 1, 1, 7, 6), kernel.BHLD(contracttest.Floats(v), 1, 1, 7, 5), nil)
		},
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDefaultTierErrors: a program whose ATTN_TIER names a tier that it cannot have gets an error
// from every call that has no tier itself. (What the variable may be is tested in package tier.)
func TestDefaultTierErrors(t *testing.T) {
	defer func(f func() (*tier.Tier, *check.Failure)) { tier.Default = f }(tier.Default)
	tier.Default = func() (*tier.Tier, *check.Failure) {
		return nil, &check.Failure{Where: "ATTN_TIER", Got: `"sse9"`, Want: "another tier", Kind: check.ErrTier}
	}
	out, q, k, v := good()
	weights := make([]float32, 6)
	parts := contracttest.NewPartials(1, 2, 4, 3, 5)
	for name, call := range map[string]func(e kernel.Exec) error{
		"Attention": func(e kernel.Exec) error { return kernel.Attention(out, q, k, v, &kernel.Options{Exec: e}) },
		"Additive":  func(e kernel.Exec) error { return kernel.Additive(out, q, k, v, weights, &kernel.Options{Exec: e}) },
		"AttentionPartials": func(e kernel.Exec) error {
			return kernel.AttentionPartials(parts, q, k, v, &kernel.PartialOptions{Exec: e})
		},
		"AccumulatePartials": func(e kernel.Exec) error {
			return kernel.AccumulatePartials(parts, q, k, v, &kernel.PartialOptions{Exec: e})
		},
		"MergeInto":  func(e kernel.Exec) error { return kernel.MergeInto(parts, nil, e) },
		"Exec.Check": func(e kernel.Exec) error { return e.Check() },
		"MergePartials": func(e kernel.Exec) error {
			return kernel.MergePartials(out, []kernel.Partials{*parts}, kernel.MergeOptions{Exec: e})
		},
	} {
		if err := call(kernel.Exec{}); !errors.Is(err, kernel.ErrTier) || !strings.Contains(err.Error(), "kernel."+name+`: ATTN_TIER: "sse9"`) {
			t.Errorf("%s: got %v, want one of the kind ErrTier about ATTN_TIER", name, err)
		}
		if err := call(kernel.Exec{Tier: contracttest.Generic()}); err != nil {
			t.Errorf("%s that names its tier: %v", name, err)
		}
	}
	if x, err := kernel.TierNamed(""); err == nil || (kernel.Tier{}).String() != "" {
		t.Errorf("the default is %s, want none", x)
	}
}

// TestAdditiveErrors: what does not fit is named, and nothing is written.
func TestAdditiveErrors(t *testing.T) {
	c := contracttest.Case{B: 1, H: 2, HKV: 1, Lq: 3, Lk: 5, D: 4, Dv: 4}
	q, k, v := c.Inputs()
	out := c.Out()
	lse := kernel.BHLD(testutil.Filled(6, contracttest.Canary), 1, 2, 3, 1)
	for name, x := range map[string]struct {
		arg     string
		weights []float32
		opts    kernel.Options
		q       kernel.Tensor
	}{
		"too few":         {"weights", make([]float32, 3), kernel.Options{}, q},
		"none":            {"weights", nil, kernel.Options{}, q},
		"NaN":             {"weights", []float32{0, testutil.NaN, 0, 0}, kernel.Options{}, q},
		"Inf":             {"weights", []float32{0, 0, 0, testutil.Inf}, kernel.Options{}, q},
		"beyond base 2":   {"weights", []float32{0, 0, 0, 3e38}, kernel.Options{Scoring: kernel.Scoring{Scale: 1e-3}}, q},
		"times the scale": {"weights", []float32{0, 0, 0, 1e38}, kernel.Options{Scoring: kernel.Scoring{Scale: 2}}, q},
		"over out":        {"weights", contracttest.Floats(out)[20:24], kernel.Options{}, q},
		"over LSE":        {"weights", contracttest.Floats(lse)[2:6], kernel.Options{Outputs: kernel.Outputs{LSE: lse}}, q},
		"q":               {"q", make([]float32, 4), kernel.Options{}, kernel.Tensor{}},
		"option":          {"Options.Softcap", make([]float32, 4), kernel.Options{Scoring: kernel.Scoring{Softcap: -1}}, q},
	} {
		err := kernel.Additive(out, x.q, k, v, x.weights, &x.opts)
		if bad, ok := err.(*kernel.Error); !ok || bad.Arg() != x.arg {
			t.Errorf("%s: got %v, want an error about %s", name, err, x.arg)
		}
		for _, e := range append(append([]float32(nil), contracttest.Floats(out)...), contracttest.Floats(lse)...) {
			if e != contracttest.Canary {
				t.Fatalf("%s: an output was written to", name)
			}
		}
	}
}
