package numeric_test

import (
	"errors"
	"testing"

	"github.com/attn-go/attn/fallback"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// Slices of more than one call of a kernel, apart and in place, give what single
// numbers do.
func TestSliceFunctions(t *testing.T) {
	for _, f := range []struct {
		name  string
		slice func(dst, src []float32) error
		want  func(x float32) float32
	}{{"Exp2Slice", numeric.Exp2Slice, numeric.Exp2}, {"TanhSlice", numeric.TanhSlice, numeric.Tanh}} {
		for _, n := range []int{0, 1, 17, sliceElements, 2*sliceElements + 3} {
			src, dst := make([]float32, n), make([]float32, n)
			r := rng(n)
			nonfinite.fill(&r, src, 1, n, n)
			for _, to := range [][]float32{dst, src} {
				want := make([]float32, n)
				for i, x := range src {
					want[i] = f.want(x)
				}
				if err := f.slice(to, src); err != nil {
					t.Fatalf("%s: %v", f.name, err)
				}
				for i := range to {
					if !sameBits(to[i], want[i]) {
						t.Fatalf("%s of %d numbers: [%d] is %v, want %v", f.name, n, i, to[i], want[i])
					}
				}
			}
		}
	}
}

func TestSliceFunctionErrors(t *testing.T) {
	x := filled(100, 7)
	for _, c := range []struct {
		name     string
		dst, src []float32
	}{
		{"shorter", x[:9], x[50:60]},
		{"longer", x[:11], x[50:60]},
		{"nil", nil, x[:1]},
		{"one before", x[9:19], x[10:20]},
		{"one behind", x[11:21], x[10:20]},
		{"the last element", x[19:29], x[10:20]},
	} {
		for _, f := range []func(dst, src []float32) error{numeric.Exp2Slice, numeric.TanhSlice} {
			var wrong *kernel.ArgumentError
			if err := f(c.dst, c.src); !errors.As(err, &wrong) || wrong.Arg != "dst" {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
	for i := range x {
		if x[i] != 7 {
			t.Fatalf("element %d was changed", i)
		}
	}
	if err := numeric.TanhSlice(x[10:20], x[20:30]); err != nil {
		t.Errorf("neighbours: %v", err)
	}
}

func TestSliceFunctionsAllocate(t *testing.T) {
	x := make([]float32, 1000)
	if n := testing.AllocsPerRun(20, func() {
		if numeric.Exp2Slice(x, x) != nil || numeric.TanhSlice(x, x) != nil {
			t.Fatal("refused")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Exp2, Tanh, Log2 and FMA are the fallback's, whatever the tier.
func TestFunctionsOfNumbers(t *testing.T) {
	r := rng(1)
	for range 10000 {
		x, y, z := mantissas.next(&r), mantissas.next(&r), mantissas.next(&r)
		if !sameBits(numeric.Exp2(x), fallback.Exp2(x)) || !sameBits(numeric.Tanh(x), fallback.Tanh(x)) ||
			!sameBits(numeric.Log2(x), fallback.Log2(x)) || !sameBits(numeric.FMA(x, y, z), fallback.FMA(x, y, z)) {
			t.Fatalf("at %v, %v, %v", x, y, z)
		}
	}
}
