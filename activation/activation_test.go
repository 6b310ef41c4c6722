package activation_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/attn-go/attn/activation"
	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// functions lists the exported functions with the function of single numbers that they are
// made of.
var functions = []struct {
	name  string
	plain func(dst, src []float32, exec kernel.Exec) error
	gated func(dst, gate, up []float32, exec kernel.Exec) error
	want  func(x float32) float32
}{
	{"SiLU", activation.SiLU, activation.SwiGLU, scalar.SiLU},
	{"GELU", activation.GELU, activation.GeGLU, scalar.GELU},
	{"GELUTanh", activation.GELUTanh, activation.GeGLUTanh, scalar.GELUTanh},
}

// lengths go from none to several calls of a kernel.
var lengths = []int{0, 1, 17, 1 << 13, 2<<13 + 3}

// random returns n numbers of a kind.
func random(n, seed int, kind testutil.Kind) []float32 {
	x, r := make([]float32, n), testutil.Rand(seed)
	kind.Fill(&r, x, 1, n, n)
	return x
}

// Slices, apart and in place, give on every tier what single numbers give.
func TestActivations(t *testing.T) {
	contracttest.EachDefault(t, func(t *testing.T) {
		for _, f := range functions {
			for _, n := range lengths {
				src, dst, want := random(n, n, testutil.NonFinite), make([]float32, n), make([]float32, n)
				for i, x := range src {
					want[i] = f.want(x)
				}
				for _, to := range [][]float32{dst, src} {
					if err := f.plain(to, src, kernel.Exec{}); err != nil {
						t.Fatalf("%s: %v", f.name, err)
					}
					testutil.CheckBits(t, f.name, to, want)
				}
			}
		}
	})
}

// The gated forms too, in the place of each argument, and with one slice for all.
func TestGated(t *testing.T) {
	contracttest.EachDefault(t, func(t *testing.T) {
		for _, f := range functions {
			for _, n := range lengths {
				for place := range 4 {
					gate, up := random(n, n, testutil.NonFinite), random(n, n+1, testutil.Specials)
					if place == 3 {
						up = gate
					}
					want := make([]float32, n)
					for i, x := range gate {
						want[i] = float32(f.want(x) * up[i])
					}
					dst := [][]float32{make([]float32, n), gate, up, gate}[place]
					if err := f.gated(dst, gate, up, kernel.Exec{}); err != nil {
						t.Fatalf("%s: %v", f.name, err)
					}
					testutil.CheckBits(t, f.name+", gated", dst, want)
				}
			}
		}
	})
}

// The gated forms have the bits of two calls.
func TestGatedIsActivationAndProduct(t *testing.T) {
	for _, f := range functions {
		gate, up := random(1000, 1, testutil.Mantissas), random(1000, 2, testutil.Mantissas)
		got, want := make([]float32, 1000), make([]float32, 1000)
		if err := errors.Join(f.gated(got, gate, up, kernel.Exec{}), f.plain(want, gate, kernel.Exec{})); err != nil {
			t.Fatal(err)
		}
		for i := range want {
			want[i] = float32(want[i] * up[i])
		}
		testutil.CheckBits(t, f.name, got, want)
	}
}

func TestErrors(t *testing.T) {
	x := testutil.Filled(100, 7)
	for _, c := range []struct {
		what     string
		dst, src []float32
		want     string
	}{
		{"shorter", x[:9], x[50:60], "length 10, that of src"},
		{"longer", x[:11], x[50:60], "length 10, that of src"},
		{"nil", nil, x[:1], "length 1, that of src"},
		{"one before", x[9:19], x[10:20], "src itself, or memory of its own"},
		{"one after", x[11:21], x[10:20], "src itself, or memory of its own"},
		{"the last element", x[19:29], x[10:20], "src itself, or memory of its own"},
	} {
		for _, f := range functions {
			contracttest.CheckArgument(t, c.what, f.plain(c.dst, c.src, kernel.Exec{}), "dst", c.want)
		}
	}
	for _, c := range []struct {
		what          string
		dst, gate, up []float32
		arg, want     string
	}{
		{"dst is shorter", x[:9], x[50:60], x[70:80], "dst", "length 10, that of gate"},
		{"dst is nil", nil, x[50:60], x[70:80], "dst", "length 10, that of gate"},
		{"up is shorter", x[:10], x[50:60], x[70:79], "up", "length 10, that of gate"},
		{"up is longer", x[:10], x[50:60], x[70:81], "up", "length 10, that of gate"},
		{"gate is nil", x[:10], nil, x[70:80], "dst", "length 0, that of gate"},
		{"dst overlaps gate", x[51:61], x[50:60], x[70:80], "dst", "gate itself, or memory of its own"},
		{"dst overlaps up", x[79:89], x[50:60], x[70:80], "dst", "up itself, or memory of its own"},
		{"dst is gate and overlaps up", x[50:60], x[50:60], x[55:65], "dst", "up itself, or memory of its own"},
	} {
		for _, f := range functions {
			contracttest.CheckArgument(t, c.what, f.gated(c.dst, c.gate, c.up, kernel.Exec{}), c.arg, c.want)
		}
	}
	contracttest.SetDefault(t, nil, &check.Failure{Where: "ATTN_TIER", Got: `"mmx"`, Want: "another tier", Kind: check.ErrTier})
	for _, f := range functions {
		for _, err := range []error{f.plain(x[:10], x[20:30], kernel.Exec{}), f.gated(x[:10], x[20:30], x[40:50], kernel.Exec{})} {
			if !errors.Is(err, kernel.ErrTier) || !strings.Contains(err.Error(), `: ATTN_TIER: "mmx"`) {
				t.Errorf("ATTN_TIER names a tier that does not exist: got %v, want one of the kind ErrTier", err)
			}
		}
	}
	for i := range x {
		if x[i] != 7 {
			t.Fatalf("element %d was changed", i)
		}
	}
}

// Neighbouring slices do not overlap, and gate and up may.
func TestAcceptsNeighbours(t *testing.T) {
	x := testutil.Filled(100, 7)
	for _, f := range functions {
		if err := errors.Join(f.plain(x[10:20], x[20:30], kernel.Exec{}), f.gated(x[10:20], x[20:30], x[:10], kernel.Exec{}), f.gated(x[10:20], x[20:30], x[25:35], kernel.Exec{})); err != nil {
			t.Error(err)
		}
	}
}

func TestAllocateNothing(t *testing.T) {
	x, y := make([]float32, 1000), make([]float32, 1000)
	for _, f := range functions {
		testutil.CheckNoMallocs(t, f.name, 100, func() {
			if f.plain(x, x, kernel.Exec{}) != nil || f.gated(x, x, y, kernel.Exec{}) != nil {
				t.Fatal("refused")
			}
		})
	}
}
