package numeric_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// Slices of one element to several calls of a kernel, apart and in place, give on every
// tier what single numbers give.
func TestSliceFunctions(t *testing.T) {
	const call = 1 << 14 // elements that a kernel gets at once
	contracttest.EachDefault(t, func(t *testing.T) {
		for _, f := range []struct {
			name  string
			slice func(dst, src []float32, exec kernel.Exec) error
			want  func(x float32) float32
		}{{"Exp2Slice", numeric.Exp2Slice, numeric.Exp2}, {"TanhSlice", numeric.TanhSlice, numeric.Tanh}} {
			for _, n := range []int{0, 1, 17, call, 2*call + 3} {
				src, dst, want := make([]float32, n), make([]float32, n), make([]float32, n)
				r := testutil.Rand(n)
				testutil.NonFinite.Fill(&r, src, 1, n, n)
				for i, x := range src {
					want[i] = f.want(x)
				}
				for _, to := range [][]float32{dst, src} {
					if err := f.slice(to, src, kernel.Exec{}); err != nil {
						t.Fatalf("%s: %v", f.name, err)
					}
					testutil.CheckBits(t, f.name, to, want)
				}
			}
		}
	})
}

func TestSliceFunctionErrors(t *testing.T) {
	functions := []func(dst, src []float32, exec kernel.Exec) error{numeric.Exp2Slice, numeric.TanhSlice}
	x := testutil.Filled(100, 7)
	for _, c := range []struct {
		what     string
		dst, src []float32
		want     string
	}{
		{"shorter", x[:9], x[50:60], "length 10, that of src"},
		{"longer", x[:11], x[50:60], "length 10, that of src"},
		{"nil", nil, x[:1], "length 1, that of src"},
		{"one before", x[9:19], x[10:20], "memory of its own"},
		{"one after", x[11:21], x[10:20], "memory of its own"},
		{"the last element", x[19:29], x[10:20], "memory of its own"},
	} {
		for _, f := range functions {
			contracttest.CheckArgument(t, c.what, f(c.dst, c.src, kernel.Exec{}), "dst", c.want)
		}
	}
	contracttest.SetDefault(t, nil, &check.Failure{Where: "ATTN_TIER", Got: `"mmx"`, Want: "another tier", Kind: check.ErrTier})
	for _, f := range functions {
		if err := f(x[:10], x[20:30], kernel.Exec{}); !errors.Is(err, kernel.ErrTier) || !strings.Contains(err.Error(), `: ATTN_TIER: "mmx"`) {
			t.Errorf("ATTN_TIER names a tier that does not exist: got %v, want one of the kind ErrTier", err)
		}
	}
	for i := range x {
		if x[i] != 7 {
			t.Fatalf("element %d was changed", i)
		}
	}
}

// AddSlice adds on every tier, apart and in place, and names what does not fit.
func TestAddSlice(t *testing.T) {
	contracttest.EachDefault(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 17, 1 << 14, 1<<15 + 3} {
			r := testutil.Rand(n)
			x, y, dst, want := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
			testutil.NonFinite.Fill(&r, x, 1, n, n)
			testutil.NonFinite.Fill(&r, y, 1, n, n)
			for i := range x {
				want[i] = x[i] + y[i]
			}
			if err := numeric.AddSlice(dst, x, y, kernel.Exec{}); err != nil {
				t.Fatal(err)
			}
			testutil.CheckBits(t, "apart", dst, want)
			if err := numeric.AddSlice(x, x, y, kernel.Exec{}); err != nil {
				t.Fatal(err)
			}
			testutil.CheckBits(t, "in place", x, want)
		}
	})
	x := make([]float32, 30)
	contracttest.CheckArgument(t, "shorter", numeric.AddSlice(x[:9], x[10:19], x[20:30], kernel.Exec{}), "y", "length 9, that of x")
	contracttest.CheckArgument(t, "overlap", numeric.AddSlice(x[:9], x[10:19], x[8:17], kernel.Exec{}), "dst", "y itself, or memory of its own")
}

// Neighbouring slices do not overlap.
func TestSliceFunctionsAcceptNeighbours(t *testing.T) {
	x := testutil.Filled(100, 7)
	if err := numeric.TanhSlice(x[10:20], x[20:30], kernel.Exec{}); err != nil {
		t.Error(err)
	}
	if err := numeric.Exp2Slice(x[20:30], x[10:20], kernel.Exec{}); err != nil {
		t.Error(err)
	}
}

func TestSliceFunctionsAllocateNothing(t *testing.T) {
	x := make([]float32, 1000)
	testutil.CheckNoMallocs(t, "Exp2Slice, TanhSlice, Hadamard", 100, func() {
		if numeric.Exp2Slice(x, x, kernel.Exec{}) != nil || numeric.TanhSlice(x, x, kernel.Exec{}) != nil || numeric.Hadamard(x[:960], 64, kernel.Exec{}) != nil {
			t.Fatal("refused")
		}
	})
}

// Exp2, Tanh, Log2 and FMA equal package fallback's, whatever the tier.
func TestFunctionsOfNumbers(t *testing.T) {
	r := testutil.Rand(1)
	for i := range 10000 {
		kind := []testutil.Kind{testutil.Mantissas, testutil.NonFinite}[i%2]
		x, y, z := kind.Next(&r), kind.Next(&r), kind.Next(&r)
		same := testutil.SameBits
		if !same(numeric.Exp2(x), scalar.Exp2(x)) || !same(numeric.Tanh(x), scalar.Tanh(x)) ||
			!same(numeric.Log2(x), scalar.Log2(x)) || !same(numeric.FMA(x, y, z), scalar.FMA(x, y, z)) {
			t.Fatalf("at %v, %v, %v", x, y, z)
		}
	}
}
