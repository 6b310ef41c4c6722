package numeric_test

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// TestQuantizeInt8 compares with exact arithmetic: the scale is m/127 rounded once,
// the elements are quotients rounded to float32 and then to an integer.
func TestQuantizeInt8(t *testing.T) {
	round := func(x, y float32) float32 { // x/y, rounded
		q := new(big.Rat).Quo(new(big.Rat).SetFloat64(float64(x)), new(big.Rat).SetFloat64(float64(y)))
		z, _ := q.Float32()
		return z
	}
	for n := range 600 {
		r := rng(n)
		group, groups := 1+r.intn(40), r.intn(4)
		src := make([]float32, group*groups)
		for i := range src {
			src[i] = []values{dyadics, mantissas, specials, zeros}[n%4].next(&r)
			if n%5 == 0 {
				src[i] = math.Float32frombits(uint32(r.intn(400))) // subnormal
			}
		}
		dst, scales := make([]int8, len(src)), make([]float32, groups)
		if err := numeric.QuantizeInt8(dst, scales, src, group); err != nil {
			t.Fatal(err)
		}
		for i, x := range src {
			m := float32(0)
			for _, y := range src[i/group*group:][:group] {
				m = max(m, float32(math.Abs(float64(y))))
			}
			scale, want := round(m, 127), int8(0)
			if scale != 0 {
				want = int8(min(max(math.RoundToEven(float64(round(x, scale))), -127), 127))
			}
			if scales[i/group] != scale || dst[i] != want {
				t.Fatalf("%v of at most %v is %d·%v, want %d·%v", x, m, dst[i], scales[i/group], want, scale)
			}
			if scale > 0x1p-126 && math.Abs(float64(x)-float64(dst[i])*float64(scale)) > 0.50001*float64(scale) {
				t.Fatalf("%v has become %v·%v, which is farther than half a step", x, dst[i], scale)
			}
		}
	}
}

func TestQuantizeErrors(t *testing.T) {
	src := []float32{1, 2, 3, 4}
	for _, test := range []struct {
		arg         string
		dst         []int8
		scales, src []float32
		group       int
	}{
		{"group", make([]int8, 4), make([]float32, 2), src, 0},
		{"group", make([]int8, 4), make([]float32, 2), src, -2},
		{"src", make([]int8, 4), make([]float32, 1), src, 3},
		{"dst", make([]int8, 3), make([]float32, 2), src, 2},
		{"scales", make([]int8, 4), make([]float32, 3), src, 2},
		{"scales", make([]int8, 4), src[2:], src, 2},
		{"src", make([]int8, 4), make([]float32, 2), []float32{1, 2, 3, nan32}, 2},
		{"src", make([]int8, 4), make([]float32, 2), []float32{1, -inf32, 3, 4}, 2},
	} {
		fill(src[:], 7)
		err := numeric.QuantizeInt8(test.dst, test.scales, test.src, test.group)
		var arg *kernel.ArgumentError
		if !errors.As(err, &arg) || arg.Arg != test.arg {
			t.Errorf("got %v, want an ArgumentError about %s", err, test.arg)
		}
		if slices.ContainsFunc(test.dst, func(x int8) bool { return x != 0 }) || slices.ContainsFunc(test.scales, func(x float32) bool { return x != 0 && x != 7 }) {
			t.Errorf("%v: something was written", err)
		}
	}
}
