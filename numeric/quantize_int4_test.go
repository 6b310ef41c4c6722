package numeric_test

import (
	"math"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// By its documentation: the scale is -1/8 of the number of largest magnitude, and the elements are
// quotients rounded to float32 and then to an integer. Quotients of float32 by binary64 are rounded
// to the same float32: binary64 has more than twice as many digits.
func TestQuantizeInt4(t *testing.T) {
	kinds := [...]testutil.Kind{testutil.Dyadics, testutil.Mantissas, testutil.Specials, testutil.Zeros}
	for n := range 600 {
		r := testutil.Rand(n)
		group, groups := 2+2*r.IntN(20), r.IntN(4)
		src := make([]float32, group*groups)
		for i := range src {
			src[i] = kinds[n%4].Next(&r)
			if n%5 == 0 {
				src[i] = math.Float32frombits(uint32(r.IntN(1 << (9 + n%20)))) // subnormal, or somewhat larger
			}
		}
		dst, scales := slices.Repeat([]kernel.Int4x2{0x99}, len(src)/2), testutil.Filled(groups, 99)
		if err := numeric.QuantizeInt4(dst, scales, src, group, kernel.Exec{}); err != nil {
			t.Fatal(err)
		}
		for i, x := range src {
			m := float32(0)
			for _, y := range src[i/group*group:][:group] {
				if y > 0 && y >= max(m, -m) || -y > max(m, -m) {
					m = y
				}
			}
			scale, want := float32(float64(m)/-8)+0, int8(0)
			if scale < 0x1p-126 && scale > -0x1p-126 {
				scale = 0
			}
			if scale != 0 {
				want = int8(min(max(math.RoundToEven(float64(float32(float64(x)/float64(scale)))), -8), 7))
			}
			got, second := dst[i/2].Numbers()
			if i%2 == 1 {
				got = second
			}
			if math.Float32bits(scales[i/group]) != math.Float32bits(scale) || got != want {
				t.Fatalf("%v of %v is %d·%v, want %d·%v", x, m, got, scales[i/group], want, scale)
			}
		}
	}
}

func TestQuantizeInt4Errors(t *testing.T) {
	src := []float32{1, 2, 3, 4}
	for _, c := range []struct {
		arg         string
		dst         int
		scales, src []float32
		group       int
		want        string
	}{
		{"group", 2, make([]float32, 2), src, 0, "at least 1"},
		{"group", 2, make([]float32, 4), src, 1, "a multiple of 2"},
		{"src", 2, make([]float32, 1), src[:3], 2, "a multiple of the group"},
		{"dst", 4, make([]float32, 2), src, 2, "2, one for each 2 of src"},
		{"scales", 2, make([]float32, 3), src, 2, "one for each group: 2"},
		{"scales", 2, src[2:], src, 2, "memory of its own"},
		{"src", 2, make([]float32, 2), []float32{1, 2, testutil.NaN, 4}, 2, "NaN as element 2"},
	} {
		dst := make([]kernel.Int4x2, c.dst)
		err := numeric.QuantizeInt4(dst, c.scales, c.src, c.group, kernel.Exec{})
		contracttest.CheckArgument(t, "", err, c.arg, c.want)
		if slices.ContainsFunc(dst, func(x kernel.Int4x2) bool { return x != 0 }) {
			t.Errorf("%v: something was written", err)
		}
	}
}

func TestQuantizeInt4AllocatesNothing(t *testing.T) {
	src, dst, scales := testutil.Floats(96), make([]kernel.Int4x2, 48), make([]float32, 3)
	testutil.CheckNoMallocs(t, "QuantizeInt4", 100, func() {
		if err := numeric.QuantizeInt4(dst, scales, src, 32, kernel.Exec{}); err != nil {
			t.Fatal(err)
		}
	})
}
