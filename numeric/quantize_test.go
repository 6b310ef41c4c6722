package numeric_test

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// By exact arithmetic, the scale is m/127 rounded once, and the elements are quotients
// rounded to float32 and then to an integer.
func TestQuantizeInt8(t *testing.T) {
	round := func(x, y float32) float32 { // x/y, rounded
		q := new(big.Rat).Quo(new(big.Rat).SetFloat64(float64(x)), new(big.Rat).SetFloat64(float64(y)))
		z, _ := q.Float32()
		return z
	}
	kinds := [...]testutil.Kind{testutil.Dyadics, testutil.Mantissas, testutil.Specials, testutil.Zeros}
	for n := range 600 {
		r := testutil.Rand(n)
		group, groups := 1+r.IntN(40), r.IntN(4)
		src := make([]float32, group*groups)
		for i := range src {
			src[i] = kinds[n%4].Next(&r)
			if n%5 == 0 {
				src[i] = math.Float32frombits(uint32(r.IntN(1 << (9 + n%20)))) // subnormal, or somewhat larger
			}
		}
		dst, scales := slices.Repeat([]int8{99}, len(src)), testutil.Filled(groups, 99)
		if err := numeric.QuantizeInt8(dst, scales, src, group, kernel.Exec{}); err != nil {
			t.Fatal(err)
		}
		for i, x := range src {
			m := float32(0)
			for _, y := range src[i/group*group:][:group] {
				m = max(m, float32(math.Abs(float64(y))))
			}
			scale, want := round(min(m, math.Nextafter32(math.MaxFloat32, 0)), 127), int8(0)
			if scale < 0x1p-126 {
				scale = 0
			} else {
				want = int8(math.RoundToEven(float64(round(x, scale))))
			}
			if scales[i/group] != scale || dst[i] != want {
				t.Fatalf("%v of at most %v is %d·%v, want %d·%v", x, m, dst[i], scales[i/group], want, scale)
			}
			if scale != 0 && math.Abs(float64(x)-float64(dst[i])*float64(scale)) > 0.50001*float64(scale) {
				t.Fatalf("%v has become %v·%v, which is farther than half a step", x, dst[i], scale)
			}
		}
	}
}

func TestQuantizeInt8Errors(t *testing.T) {
	src := []float32{1, 2, 3, 4}
	for _, c := range []struct {
		arg         string
		dst         []int8
		scales, src []float32
		group       int
		want        string
	}{
		{"group", make([]int8, 4), make([]float32, 2), src, 0, "at least 1"},
		{"group", make([]int8, 4), make([]float32, 2), src, -2, "at least 1"},
		{"src", make([]int8, 4), make([]float32, 1), src, 3, "a multiple of the group"},
		{"dst", make([]int8, 3), make([]float32, 2), src, 2, "as many as src has: 4"},
		{"scales", make([]int8, 4), make([]float32, 3), src, 2, "one for each group: 2"},
		{"scales", make([]int8, 4), src[2:], src, 2, "memory of its own"},
		{"src", make([]int8, 4), make([]float32, 2), []float32{1, 2, 3, testutil.NaN}, 2, "NaN as element 3"},
		{"src", make([]int8, 4), make([]float32, 2), []float32{1, -testutil.Inf, 3, 4}, 2, "-Inf as element 1"},
	} {
		contracttest.Fill(src, 7)
		err := numeric.QuantizeInt8(c.dst, c.scales, c.src, c.group, kernel.Exec{})
		contracttest.CheckArgument(t, "", err, c.arg, c.want)
		if slices.ContainsFunc(c.dst, func(x int8) bool { return x != 0 }) || slices.ContainsFunc(c.scales, func(x float32) bool { return x != 0 && x != 7 }) {
			t.Errorf("%v: something was written", err)
		}
	}
}

func TestQuantizeInt8AllocatesNothing(t *testing.T) {
	src, dst, scales := testutil.Floats(96), make([]int8, 96), make([]float32, 3)
	testutil.CheckNoMallocs(t, "QuantizeInt8", 100, func() {
		if err := numeric.QuantizeInt8(dst, scales, src, 32, kernel.Exec{}); err != nil {
			t.Fatal(err)
		}
	})
}

// TestQuantizeLargest: what the largest numbers become is finite and within the error of
// the format.
func TestQuantizeLargest(t *testing.T) {
	for _, largest := range []float32{math.MaxFloat32, -math.MaxFloat32, math.Nextafter32(math.MaxFloat32, 0), 0x1.fffp127} {
		src := []float32{largest, largest / 2, -largest / 3, 1}
		codes, pairs, scale := make([]int8, 4), make([]kernel.Int4x2, 2), make([]float32, 1)
		if err := numeric.QuantizeInt8(codes, scale, src, 4, kernel.Exec{}); err != nil {
			t.Fatal(err)
		}
		check := func(i int, code int8) {
			back := float32(code) * scale[0]
			if off := math.Abs(float64(back) - float64(src[i])); !(off <= 0.50001*math.Abs(float64(scale[0]))) {
				t.Errorf("%v of at most %v has become %d·%v, which is %v", src[i], largest, code, scale[0], back)
			}
		}
		for i, code := range codes {
			check(i, code)
		}
		if err := numeric.QuantizeInt4(pairs, scale, src, 4, kernel.Exec{}); err != nil {
			t.Fatal(err)
		}
		for i := range src {
			first, second := pairs[i/2].Numbers()
			check(i, [...]int8{first, second}[i%2])
		}
	}
}
