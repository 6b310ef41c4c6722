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
// other, with and without tiles. NaN is between the layers.
func TestChain(t *testing.T) {
	kinds := map[string]func(w Matrix, bias []float32, exec kernel.Exec) (*Linear, error){"float32": New, "bfloat16": RoundBFloat16, "int8": QuantizeInt8}
	type size struct{ m, k, inner, n int }
	for _, s := range []size{{0, 8, 8, 8}, {1, 32, 64, 16}, {37, 40, 50, 33}, {330, 33, 97, 20}, {40, 8, 0, 5}} {
		for one, first := range kinds {
			for two, second := range kinds {
				for _, tiles := range []bool{false, true} {
					for _, o := range []Options{{}, {Activation: GELU}, {Activation: SiLU, DynamicInt8: true}} {
						if o.Threads = 1 + s.m%2*2; o.DynamicInt8 && (one != "int8" || two != "int8") || two == "int8" && s.inner == 0 {
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

// TestChainOfSmall: numbers between the layers are rounded and flushed as the rows of a call are.
func TestChainOfSmall(t *testing.T) {
	const m, inner = 40, 96
	r, identity := testutil.Rand(7), make([]float32, inner*inner)
	for i := range inner {
		identity[i*inner+i] = 1
	}
	for turn := range 8 {
		bias := make([]float32, inner)
		for i := range bias {
			near := []uint32{0x23800000, 0x23000000, 0x237f8000, 0x00800000, 0x007fffff, 1}[r.IntN(6)]
			bias[i] = math.Float32frombits(uint32(r.IntN(2))<<31 | near + uint32(r.IntN(2<<(2*turn))))
		}
		first, err1 := RoundBFloat16(DenseMatrix(make([]float32, inner), inner, 1), bias, kernel.Exec{})
		second, err2 := RoundBFloat16(DenseMatrix(identity, inner, inner), nil, kernel.Exec{})
		x, between, want, got := make([]float32, m), make([]float32, m*inner), make([]float32, m*inner), make([]float32, m*inner)
		o := Options{Exec: kernel.Exec{Tier: kernel.Tier(withTiles().Handle())}}
		err := errors.Join(err1, err2, first.Apply(DenseMatrix(between, m, inner), DenseMatrix(x, m, 1), o),
			second.Apply(DenseMatrix(want, m, inner), DenseMatrix(between, m, inner), o),
			Chain(DenseMatrix(got, m, inner), DenseMatrix(x, m, 1), first, second, o))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(words(got), words(want)) {
			t.Error("other bits than of two calls")
		}
	}
}

// TestChainPanics: memory of calls that panic counts no longer. Else recycled memory would reach
// its limit, and all calls would allocate theirs anew.
func TestChainPanics(t *testing.T) {
	const m, inner, panics = 320, 16384, 16 // 20 MiB between the layers, 320 in all calls
	layer := func(n, k int) *Linear {
		l, err := New(DenseMatrix(make([]float32, n*k), n, k), nil, kernel.Exec{})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first, second := layer(inner, 8), layer(8, inner)
	out, x := DenseMatrix(make([]float32, m*8), m, 8), DenseMatrix(make([]float32, m*8), m, 8)
	for range panics {
		func() {
			defer func() { _ = recover() }()
			t.Error(Chain(out, x, first, second, Options{Exec: kernel.Exec{Threads: 2, ParallelFor: func(int, func(int)) { panic("bad") }}}))
		}()
	}
	kernel.ReleaseMemory()
	testutil.CheckNoMallocs(t, "Chain", 1, func() {
		if err := Chain(out, x, first, second, Options{Exec: kernel.Exec{Threads: 1}}); err != nil {
			t.Fatal(err)
		}
	})
}

// TestMostChained: rows between layers are some for each thread, but not of too many bytes.
func TestMostChained(t *testing.T) {
	for _, c := range [][3]int{{0, 1, chainRows}, {1536, 4, 4 * chainRows}, {20480, 64, 819}, {1 << 30, 64, minRows}} {
		if n := mostChained(c[0], c[1]); n != c[2] {
			t.Errorf("%d numbers, %d threads: %d rows, want %d", c[0], c[1], n, c[2])
		}
	}
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
