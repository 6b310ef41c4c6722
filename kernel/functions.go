package kernel

import (
	"fmt"
	"unsafe"

	"github.com/attn-go/attn/fallback"
)

// FMA returns x·y + z, rounded once. x and y must not both be constants: a compiler
// multiplies constants itself, and rounds.
func FMA(x, y, z float32) float32 { return fallback.FMA(x, y, z) }

// Exp2 returns 2^x to the bit as the contract's exp2, within 0.80 ulp: exactly 0 below
// -126, where float32 has no more normal numbers, +Inf from 128 on, NaN for NaN.
func Exp2(x float32) float32 { return fallback.Exp2(x) }

// Tanh returns the hyperbolic tangent of x to the bit as the contract's tanh, within
// 1.85 ulp: odd, ±1 from ±9.0110 on, NaN for NaN.
func Tanh(x float32) float32 { return fallback.Tanh(x) }

// Log2 returns the binary logarithm of x to the bit as the contract's log2, within
// 1.66 ulp, around 1 too: -Inf for ±0, +Inf for +Inf, NaN for NaN and below 0.
func Log2(x float32) float32 { return fallback.Log2(x) }

// Exp2Slice computes dst[i] = Exp2(src[i]) on the default tier. dst may be src. That
// their lengths differ, or that they overlap otherwise, is an [ArgumentError], and a
// tier that ATTN_TIER names and that does not run is a [TierError]; dst is then
// untouched.
func Exp2Slice(dst, src []float32) error {
	return onSlices(dst, src, func(f *functions) func(dst, src []float32) { return f.exp2 })
}

// TanhSlice computes dst[i] = Tanh(src[i]) on the default tier, as [Exp2Slice] does
// with Exp2.
func TanhSlice(dst, src []float32) error {
	return onSlices(dst, src, func(f *functions) func(dst, src []float32) { return f.tanh })
}

// sliceElements is how much a kernel is given at once: some microseconds of work, as
// assembly cannot be interrupted.
const sliceElements = 1 << 14

func onSlices(dst, src []float32, function func(f *functions) func(dst, src []float32)) error {
	if len(dst) != len(src) {
		return &ArgumentError{"dst", fmt.Sprintf("length %d", len(dst)), fmt.Sprintf("length %d, that of src", len(src))}
	}
	if d, s := memoryOf(dst), memoryOf(src); d != s && d.overlaps(s) {
		return &ArgumentError{"dst", "memory that overlaps a part of src", "src itself, or memory of its own"}
	}
	t, err := tierFor("")
	if err != nil {
		return err
	}
	f := function(&t.widest().functions)
	for len(dst) > 0 {
		n := min(len(dst), sliceElements)
		f(dst[:n], src[:n])
		dst, src = dst[n:], src[n:]
	}
	return nil
}

// memoryOf is what the elements of s lie in.
func memoryOf(s []float32) memory {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(s)))
	return memory{at, at + 4*uintptr(len(s))}
}
