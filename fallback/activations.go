package fallback

import (
	"math"

	"github.com/attn-go/attn/internal/scalar"
)

// unary returns a function of each number of a slice, given that of one.
func unary(f func(x float32) float32) func(dst, src []float32) {
	return func(dst, src []float32) {
		for i, x := range window(src, 0, len(dst)) {
			dst[i] = f(x)
		}
	}
}

// gated returns a function of each number of gate, times up, rounded.
func gated(f func(x float32) float32) func(dst, gate, up []float32) {
	return func(dst, gate, up []float32) {
		up = window(up, 0, len(dst))
		for i, x := range window(gate, 0, len(dst)) {
			dst[i] = float32(f(x) * up[i])
		}
	}
}

// slopes computes a function and its slope, given the slope for x and f(x). Each operation is rounded.
func slopes(f, slope, src []float32, of func(x float32) float32, at func(x, y float32) float32) {
	slope = window(slope, 0, len(f))
	for i, x := range window(src, 0, len(f)) {
		y := of(x)
		k := at(x, y)
		switch {
		case x < -scalar.Steep:
			k = 0
		case x > scalar.Steep:
			k = 1
		}
		f[i], slope[i] = y, k
	}
}

// ratio returns f(x)/x, and 1/2 for 0.
func ratio(y, x float32) float32 {
	if x == 0 {
		return 0.5
	}
	return y / x
}

// siluSlope is s·(1 + x·(1-s)), s = SiLU(x)/x, with x·(1-s) = -SiLU(-x).
func siluSlope(f, slope, src []float32) {
	slopes(f, slope, src, scalar.SiLU, func(x, y float32) float32 {
		return float32(ratio(y, x) * (1 - scalar.SiLU(-x)))
	})
}

// geluSlope is Φ(x) + x·φ(x), with Φ(x) = GELU(x)/x and φ(x) = 2^(-x²·log2(e)/2)/sqrt(2π).
func geluSlope(f, slope, src []float32) {
	slopes(f, slope, src, scalar.GELU, func(x, y float32) float32 {
		power := scalar.Exp2(float32(float32(x*x) * (-math.Log2E / 2)))
		return ratio(y, x) + float32(x*float32(power*scalar.InvRootTwoPi))
	})
}

// geluTanhSlope is s·(1 + x·(1-s)·u), s = GELUTanh(x)/x and u twice the slope of the argument of tanh, with
// x·(1-s) = -GELUTanh(-x).
func geluTanhSlope(f, slope, src []float32) {
	slopes(f, slope, src, scalar.GELUTanh, func(x, y float32) float32 {
		u := scalar.TanhSlope0 + float32(float32(x*x)*scalar.TanhSlope1)
		return float32(ratio(y, x) * (1 - float32(scalar.GELUTanh(-x)*u)))
	})
}
