package linear

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/kernel"
)

// withTiles is package fallback as a tier, with a kernel for tiles in Go.
func withTiles() *tier.Tier {
	t := tier.Reference().Copy()
	t.Amend = func(table any, _ int) {
		if unit, ok := table.(*ukernel.Unit); ok {
			unit.GemmTiles = testutil.GemmTiles
		}
	}
	return t
}

// TestChain: a chain of two layers has the bits of two calls, with layers of every kind beside each
// other, with and without tiles. NaN and numbers too small for bfloat16 are between the layers.
func TestChain(t *testing.T) {
	kinds := map[string]func(w Matrix, bias []float32, exec kernel.Exec) (*Linear, error){"float32": New, "bfloat16": RoundBFloat16, "int8": QuantizeInt8}
	type size struct{ m, k, inner, n int }
	for _, s := range []size{{0, 8, 8, 8}, {1, 32, 64, 16}, {37, 40, 50, 33}, {700, 33, 97, 20}} {
		for one, first := range kinds {
			for two, second := range kinds {
				for _, tiles := range []bool{false, true} {
					for _, o := range []Options{{}, {Activation: GELU}, {Activation: SiLU, DynamicInt8: true}} {
						if o.Threads = 1 + s.m%2*2; o.DynamicInt8 && (one != "int8" || two != "int8") {
							continue
						}
						t.Run(fmt.Sprintf("%v/%s/%s/tiles=%v/%v", s, one, two, tiles, o.Activation), func(t *testing.T) {
							if o.Tier = kernel.Tier(tier.Reference().Handle()); tiles {
								o.Tier = kernel.Tier(withTiles().Handle())
							}
							chainOf(t, first, second, s.m, s.k, s.inner, s.n, o)
						})
					}
				}
			}
		}
	}
}

func chainOf(t *testing.T, makeFirst, makeSecond func(w Matrix, bias []float32, exec kernel.Exec) (*Linear, error), m, k, inner, n int, o Options) {
	r := testutil.Rand(m + k)
	floats := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = r.Float32() - 0.5
		}
		return x
	}
	x := floats(m * k)
	if m > 1 {
		x[k] = float32(math.NaN())
		for i := range k {
			x[i] *= 0x1p-70
		}
	}
	first, err1 := makeFirst(DenseMatrix(floats(inner*k), inner, k), nil, kernel.Exec{})
	second, err2 := makeSecond(DenseMatrix(floats(n*inner), n, inner), floats(n), kernel.Exec{})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	between, want, got := make([]float32, m*inner), make([]float32, m*n), make([]float32, m*n)
	plain := o
	plain.Activation = NoActivation
	err := errors.Join(first.Apply(DenseMatrix(between, m, inner), DenseMatrix(x, m, k), o),
		second.Apply(DenseMatrix(want, m, n), DenseMatrix(between, m, inner), plain),
		Chain(DenseMatrix(got, m, n), DenseMatrix(x, m, k), first, second, o))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(words(got), words(want)) {
		t.Error("other bits than of two calls")
	}
	testutil.CheckNoMallocs(t, "Chain", 3, func() {
		if err := Chain(DenseMatrix(got, m, n), DenseMatrix(x, m, k), first, second, o); err != nil {
			t.Fatal(err)
		}
	})
}

// TestChainErrors: layers must fit each other and the matrices.
func TestChainErrors(t *testing.T) {
	layer := func(n, k int) *Linear {
		l, err := New(DenseMatrix(make([]float32, n*k), n, k), nil, kernel.Exec{})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	out, x := DenseMatrix([]float32{7, 7, 7, 7}, 2, 2), DenseMatrix(make([]float32, 6), 2, 3)
	for want, err := range map[string]error{
		"linear.Chain: second: a layer of 5 inputs, want 4, the outputs of first":                                      Chain(out, x, layer(4, 3), layer(2, 5), Options{}),
		"linear.Chain: out: [2 2] with strides [2 1] in 4 elements, want [2 1], x's rows and the outputs of the layer": Chain(out, x, layer(4, 3), layer(1, 4), Options{}),
		"linear.Chain: x: [2 3] with strides [3 1] in 6 elements, want 2 columns, the inputs of the layer":             Chain(out, x, layer(4, 2), layer(2, 4), Options{}),
		"linear.Chain: Options.DynamicInt8: a layer of float32 weights, want a layer of quantized weights":             Chain(out, x, layer(4, 3), layer(2, 4), Options{DynamicInt8: true}),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if !slices.Equal(out.f32, []float32{7, 7, 7, 7}) {
		t.Error("an error changes the output")
	}
}
