package kernel_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// good is a small valid call, to be broken in one place.
func good() (out, q, k, v kernel.Tensor) {
	return kernel.BHLD(filled(2*4*3*5, canary), 2, 4, 3, 5), kernel.BHLD(make([]float32, 2*4*3*6), 2, 4, 3, 6),
		kernel.BHLD(make([]float32, 2*2*7*6), 2, 2, 7, 6), kernel.BHLD(make([]float32, 2*2*7*5), 2, 2, 7, 5)
}

func TestArgumentErrors(t *testing.T) {
	shared := make([]float32, 1000)
	tests := []struct {
		name string
		arg  string
		want string // in the message
		call func(out, q, k, v *kernel.Tensor, o *kernel.Options)
	}{
		{"q too short", "q", "144 elements", func(_, q, _, _ *kernel.Tensor, _ *kernel.Options) { q.f32 = q.f32[:143] }},
		{"k too short", "k", "168 elements", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) { k.f32 = k.f32[:167] }},
		{"v too short", "v", "140 elements", func(_, _, _, v *kernel.Tensor, _ *kernel.Options) { v.f32 = v.f32[:139] }},
		{"out too short", "out", "120 elements", func(o, _, _, _ *kernel.Tensor, _ *kernel.Options) { o.f32 = o.f32[:119] }},
		{"q nil", "q", "in 0 elements", func(_, q, _, _ *kernel.Tensor, _ *kernel.Options) { q.f32 = nil }},
		{"q zero Tensor", "q", "head size", func(_, q, _, _ *kernel.Tensor, _ *kernel.Options) { *q = kernel.Tensor{} }},
		{"k empty slice", "k", "in 0 elements", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) { k.f32 = []float32{} }},
		{"negative dimension", "q", "negative dimension", func(_, q, _, _ *kernel.Tensor, _ *kernel.Options) { q.shape[2] = -3 }},
		{"negative BHLD", "q", "negative dimension", func(_, q, _, _ *kernel.Tensor, _ *kernel.Options) { *q = kernel.BHLD(shared, 2, -4, 3, 6) }},
		{"negative stride", "k", "negative stride", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) { k.stride[2] = -6 }},
		{"head size 0", "q", "head size", func(_, q, k, _ *kernel.Tensor, _ *kernel.Options) { q.shape[3], k.shape[3] = 0, 0 }},
		{"value size 0", "v", "head size", func(_, _, _, v *kernel.Tensor, _ *kernel.Options) { v.shape[3] = 0 }},
		{"stride leaves the slice", "v", "elements", func(_, _, _, v *kernel.Tensor, _ *kernel.Options) { v.stride[2] = 6 }},
		{"stride overflows int", "q", "fits an int", func(_, q, _, _ *kernel.Tensor, _ *kernel.Options) { q.stride[0] = math.MaxInt }},
		{"sizes overflow int", "q", "fits an int", func(_, q, _, _ *kernel.Tensor, _ *kernel.Options) {
			*q = kernel.BHLD(shared, math.MaxInt, math.MaxInt, 3, 6)
		}},
		{"products that wrap to small", "k", "fits an int", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) { *k = kernel.BHLD(shared, 2, 2, math.MaxInt/3, 6) }},
		{"batch differs", "k", "batch 2", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) { k.shape[0] = 1 }},
		{"head size differs", "k", "head size 6", func(_, _, k, _ *kernel.Tensor, _ *kernel.Options) { k.shape[3] = 5 }},
		{"heads not divisible", "k", "divides", func(_, _, k, v *kernel.Tensor, _ *kernel.Options) { *k = kernel.BHLD(shared, 2, 3, 7, 6) }},
		{"no key heads", "k", "divides", func(_, _, k, v *kernel.Tensor, _ *kernel.Options) { k.shape[1], v.shape[1] = 0, 0 }},
		{"value length differs", "v", "length 7", func(_, _, _, v *kernel.Tensor, _ *kernel.Options) { v.shape[2] = 6 }},
		{"value heads differ", "v", "2 heads", func(_, _, _, v *kernel.Tensor, _ *kernel.Options) { v.shape[1] = 1 }},
		{"out shape differs", "out", "[2 4 3 5]", func(o, _, _, _ *kernel.Tensor, _ *kernel.Options) { o.shape[3] = 4 }},
		{"out rows overlap", "out", "overlap", func(o, _, _, _ *kernel.Tensor, _ *kernel.Options) { o.stride[2] = 4 }},
		{"out broadcast", "out", "overlap", func(o, _, _, _ *kernel.Tensor, _ *kernel.Options) { o.stride[0] = 0 }},
		{"out is q", "out", "overlaps q", func(o, q, _, _ *kernel.Tensor, _ *kernel.Options) { o.f32, q.f32 = shared, shared }},
		{"out meets k by one element", "out", "overlaps k", func(o, _, k, _ *kernel.Tensor, _ *kernel.Options) { o.f32, k.f32 = shared[167:], shared }},
		{"out is v", "out", "overlaps v", func(o, _, _, v *kernel.Tensor, _ *kernel.Options) { o.f32, v.f32 = shared, shared[1:] }},
		{"scale NaN", "Options.Scale", "finite", func(_, _, _, _ *kernel.Tensor, o *kernel.Options) { o.Scale = nan32 }},
		{"scale Inf", "Options.Scale", "finite", func(_, _, _, _ *kernel.Tensor, o *kernel.Options) { o.Scale = -inf32 }},
		{"threads", "Options.Threads", "at least 1", func(_, _, _, _ *kernel.Tensor, o *kernel.Options) { o.Threads = -1 }},
		{"lengths too few", "Options.Mask", "one per batch row", func(_, _, _, _ *kernel.Tensor, o *kernel.Options) { o.Mask = kernel.KeyLengths([]int{7}) }},
		{"lengths nil", "Options.Mask", "one per batch row", func(_, _, _, _ *kernel.Tensor, o *kernel.Options) { o.Mask = kernel.KeyLengths(nil) }},
		{"length too long", "Options.Mask", "0 to 7", func(_, _, _, _ *kernel.Tensor, o *kernel.Options) { o.Mask = kernel.KeyLengths([]int{7, 8}) }},
		{"length negative", "Options.Mask", "0 to 7", func(_, _, _, _ *kernel.Tensor, o *kernel.Options) {
			o.Mask = kernel.Causal(0).And(kernel.KeyLengths([]int{-1, 7}))
		}},
		{"too many masks", "Options.Mask", "fewer", func(_, _, _, _ *kernel.Tensor, o *kernel.Options) {
			for range maxRules + 1 {
				o.Mask = o.Mask.And(kernel.Causal(0))
			}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			out, q, k, v := good()
			var o kernel.Options
			test.call(&out, &q, &k, &v, &o)
			before := append([]float32(nil), out.f32...)
			err := kernel.Attention(out, q, k, v, o)
			var arg *kernel.ArgumentError
			if !errors.As(err, &arg) {
				t.Fatalf("got %v, want an ArgumentError", err)
			}
			if arg.Arg != test.arg || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %q, want one about %s that says %q", err, test.arg, test.want)
			}
			for i := range before {
				if before[i] != out.f32[i] {
					t.Fatalf("out[%d] was overwritten", i)
				}
			}
		})
	}
}

func TestGoodCalls(t *testing.T) {
	out, q, k, v := good()
	for name, call := range map[string]func() error{
		"plain": func() error { return kernel.Attention(out, q, k, v, kernel.Options{}) },
		"k and v share": func() error {
			return kernel.Attention(kernel.BHLD(make([]float32, 144), 2, 4, 3, 6), q, k, k, kernel.Options{})
		},
		"k broadcast": func() error { k := k; k.stride[0] = 0; return kernel.Attention(out, q, k, v, kernel.Options{}) },
		"out touches q": func() error {
			s := make([]float32, 264)
			return kernel.Attention(kernel.BHLD(s[144:], 2, 4, 3, 5), kernel.BHLD(s, 2, 4, 3, 6), k, v, kernel.Options{})
		},
		"negative scale":  func() error { return kernel.Attention(out, q, k, v, kernel.Options{Scale: -1}) },
		"negative offset": func() error { return kernel.Attention(out, q, k, v, kernel.Options{Mask: kernel.Causal(math.MinInt)}) },
		"huge offset":     func() error { return kernel.Attention(out, q, k, v, kernel.Options{Mask: kernel.Causal(math.MaxInt)}) },
		"stride of one head": func() error {
			out := kernel.Strided(make([]float32, 40), [4]int{1, 1, 3, 5}, [3]int{10, math.MinInt + 50, 5})
			return kernel.Attention(out, kernel.BHLD(q.f32, 1, 1, 3, 6), kernel.BHLD(k.f32, 1, 1, 7, 6), kernel.BHLD(v.f32, 1, 1, 7, 5), kernel.Options{})
		},
		"no queries": func() error {
			return kernel.Attention(kernel.BHLD([]float32(nil), 2, 4, 0, 5), kernel.BHLD([]float32{}, 2, 4, 0, 6), k, v, kernel.Options{})
		},
		"unused stride": func() error {
			q := kernel.Strided(q.f32, [4]int{1, 1, 1, 6}, [3]int{-1, math.MaxInt, 0})
			return kernel.Attention(kernel.BHLD(out.f32, 1, 1, 1, 5), q, kernel.BHLD(k.f32, 1, 1, 7, 6), kernel.BHLD(v.f32, 1, 1, 7, 5), kernel.Options{})
		},
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTierErrors(t *testing.T) {
	out, q, k, v := good()
	err := kernel.Attention(out, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: "sse9"}})
	var te *kernel.TierError
	if !errors.As(err, &te) || te.Tier != "sse9" || te.Source != "Options.Tier" || !strings.Contains(te.Reason, "generic") {
		t.Errorf("unknown tier: got %v", err)
	}
	for _, info := range kernel.Tiers() {
		err := kernel.Attention(out, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: info.Name}})
		if info.Runs != (err == nil) {
			t.Errorf("tier %s: runs %v, but the call gave %v", info.Name, info.Runs, err)
		}
		if !info.Runs && !errors.As(err, &te) {
			t.Errorf("tier %s: got %v, want a TierError", info.Name, err)
		}
	}
}
