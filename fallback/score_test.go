package fallback

import (
	"math"
	"testing"
)

func TestALiBi(t *testing.T) {
	// keys 2 and 3, a gap between the rows; lanes before, at and after them
	s := []float32{
		0, 1, 2, 3, canary,
		0, 1, nan, inf,
	}
	top := []float32{-inf, 0.75, -inf, 7}
	alibi(s, 5, 2, 2, []float32{0.5, 0.25, 1, 8}, []int32{0, 3, 2, 1000}, top)
	equal(t, "s", s, []float32{
		-1, 0.75, 2, 3 - 8*998, canary,
		-1.5, 1, nan, inf,
	})
	equal(t, "max", top, []float32{-1, 1, 2, inf})
}

// Distances that float32 does not have are rounded to even.
func TestALiBiFar(t *testing.T) {
	s := []float32{0, 0, 0}
	top := []float32{-inf, -inf, -inf}
	alibi(s, 3, 1, 1, []float32{1, -1, 0}, []int32{1<<24 + 2, 1<<24 + 4, math.MaxInt32}, top)
	equal(t, "s", s, []float32{-(1 << 24), 1<<24 + 4, 0})
	s[0], s[1] = 0, 0
	alibi(s, 3, math.MaxInt32, 1, []float32{1, 1, 1}, []int32{0, 64, math.MaxInt32}, top)
	equal(t, "s", s, []float32{-(1 << 31), -(1<<31 - 128), 0})
}

func TestBias(t *testing.T) {
	const log2e = 0x1.715476p0
	src := []float32{1, -inf, -2, inf, 0, -inf}
	s := []float32{
		0, 1, 5, canary,
		nan, inf, inf, canary,
		1, 0, nan,
	}
	top := []float32{-inf, 3, -inf}
	bias(s, 4, 3, src, []int{0, 3, 3}, top)
	equal(t, "s", s, []float32{
		log2e, inf, inf, canary,
		-inf, inf, inf, canary,
		1 - 2*log2e, -inf, -inf,
	})
	equal(t, "max", top, []float32{log2e, inf, inf})
}

func TestMaskBool(t *testing.T) {
	keep := []bool{true, false, true, true}
	for _, hidden := range []bool{false, true} {
		s := []float32{
			0, 1, 2, canary,
			3, 4, nan,
		}
		top := []float32{-inf, -inf, 1}
		maskBool(s, 4, 2, keep, []int{0, 1, 2}, hidden, top)
		if hidden {
			equal(t, "s, true hides", s, []float32{-inf, 1, -inf, canary, 3, -inf, -inf})
			equal(t, "max, true hides", top, []float32{3, 1, 1})
		} else {
			equal(t, "s", s, []float32{0, -inf, 2, canary, -inf, 4, nan})
			equal(t, "max", top, []float32{0, 4, 2})
		}
	}
}
