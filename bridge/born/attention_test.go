package born

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/born-ml/born/backend/cpu"
	"github.com/born-ml/born/models/llama"
	"github.com/born-ml/born/nn"
	"github.com/born-ml/born/tensor"
)

type floats = tensor.Tensor[float32, *cpu.Backend]

var host = cpu.New()

// random returns normally distributed numbers.
func random(shape ...int) *floats { return tensor.Randn[float32](tensor.Shape(shape), host) }

// near reports numbers that differ by more than 5e-5. Born's own tests allow up to 1e-2.
func near(t *testing.T, what string, got, want *floats) {
	t.Helper()
	if !got.Shape().Equal(want.Shape()) {
		t.Fatalf("%s: shape %v, want %v", what, got.Shape(), want.Shape())
	}
	worst := 0.0
	for i, x := range got.Data() {
		worst = max(worst, math.Abs(float64(x)-float64(want.Data()[i])))
	}
	if !(worst <= 5e-5) {
		t.Errorf("%s differs by %g, want at most 5e-5", what, worst)
	}
}

// cases come from Born's attention_test.go, gqa_test.go, transpose_debug_test.go and model_test.go,
// and larger ones.
var cases = []struct{ batch, heads, queries, keys, d int }{
	{1, 1, 2, 2, 2},
	{1, 1, 4, 4, 8},
	{2, 4, 5, 7, 16},
	{1, 1, 3, 3, 8},
	{1, 2, 3, 3, 4},
	{2, 4, 3, 3, 4},
	{1, 4, 1, 5, 4},
	{2, 8, 10, 15, 64},
	{1, 12, 64, 64, 64},
	{2, 3, 33, 300, 64},
}

// TestSDPA compares with Born's nn.ScaledDotProductAttention: without a mask, with masks
// that broadcast in different ways, with another scale, and the weights.
func TestSDPA(t *testing.T) {
	attention := SDPA[*cpu.Backend](kernel.Exec{})
	for _, c := range cases {
		q := random(c.batch, c.heads, c.queries, c.d)
		k, v := random(c.batch, c.heads, c.keys, c.d), random(c.batch, c.heads, c.keys, c.d)
		masks := map[string]*floats{
			"no mask":      nil,
			"a bias":       random(c.batch, c.heads, c.queries, c.keys),
			"rows":         random(c.batch, 1, 1, c.keys),
			"of 2 dims":    random(c.queries, c.keys),
			"of 1 dim":     random(c.keys),
			"of 3, with 1": random(c.heads, 1, c.keys),
		}
		if c.queries == c.keys {
			masks["causal"] = nn.CausalMask(c.keys, host)
		}
		for name, mask := range masks {
			for _, scale := range []float32{0, 0.5} {
				out, weights := attention(q, k, v, mask, scale)
				wantOut, wantWeights := nn.ScaledDotProductAttention(q, k, v, mask, scale)
				near(t, fmt.Sprint(c, name, scale, " out"), out, wantOut)
				near(t, fmt.Sprint(c, name, scale, " weights"), weights, wantWeights)
			}
		}
	}
}

// TestAttention compares with Born's attention under its causal mask, and under one with the
// queries at the end of the keys, which Born has not.
func TestAttention(t *testing.T) {
	attention := Attention[*cpu.Backend](kernel.Exec{})
	for _, c := range cases {
		q := random(c.batch, c.heads, c.queries, c.d)
		k, v := random(c.batch, c.heads, c.keys, c.d), random(c.batch, c.heads, c.keys, c.d)
		mask := tensor.Zeros[float32](tensor.Shape{1, 1, c.queries, c.keys}, host)
		for i := range c.queries {
			for j := c.keys - c.queries + i + 1; j < c.keys; j++ {
				mask.Data()[i*c.keys+j] = float32(math.Inf(-1))
			}
		}
		out, weights := attention(q, k, v, nil, 0)
		want, _ := nn.ScaledDotProductAttention(q, k, v, mask, 0)
		near(t, fmt.Sprint(c), out, want)
		if weights != nil {
			t.Errorf("%v: there are weights", c)
		}
	}
}

// TestFewerKeyHeads: keys and values need not be repeated for the query heads.
func TestFewerKeyHeads(t *testing.T) {
	q, k, v := random(2, 6, 5, 8), random(2, 2, 9, 8), random(2, 2, 9, 8)
	attention := Attention[*cpu.Backend](kernel.Exec{})
	got, _ := attention(q, k, v, nil, 0)
	want, _ := attention(q, nn.RepeatKV(k, 3), nn.RepeatKV(v, 3), nil, 0)
	near(t, "out", got, want)
}

// TestBadShapes: what does not fit panics with a typed error, as Born's own function panics
// with a string.
func TestBadShapes(t *testing.T) {
	good := random(1, 2, 3, 4)
	for arg, call := range map[string]func(f llama.AttentionFunc[*cpu.Backend]){
		"q": func(f llama.AttentionFunc[*cpu.Backend]) { f(random(2, 3, 4), good, good, nil, 0) },
		"k": func(f llama.AttentionFunc[*cpu.Backend]) { f(good, random(1, 2, 3, 5), good, nil, 0) },
		"v": func(f llama.AttentionFunc[*cpu.Backend]) { f(good, good, random(1, 2, 4, 4), nil, 0) },
	} {
		for name, f := range map[string]llama.AttentionFunc[*cpu.Backend]{
			"Attention": Attention[*cpu.Backend](kernel.Exec{}), "SDPA": SDPA[*cpu.Backend](kernel.Exec{}),
		} {
			wantPanic(t, name+" "+arg, arg, func() { call(f) })
		}
	}
	wantPanic(t, "mask", "mask", func() { SDPA[*cpu.Backend](kernel.Exec{})(good, good, good, random(3, 1), 0) })
}

// wantPanic reports if f does not panic with an error about arg.
func wantPanic(t *testing.T, what, arg string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		err, _ := recover().(error)
		var bad *kernel.Error
		if !errors.As(err, &bad) || bad.Arg() != arg {
			t.Errorf("%s: the panic is %v, want an Error about %s", what, err, arg)
		}
	}()
	f()
}
