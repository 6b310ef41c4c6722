// Package numeric has the functions of the numeric contract (see package kernel) for
// programs that compute with the same bits on every CPU: a fused multiply-add, exp2,
// tanh and log2, conversions between float32, binary16 and bfloat16, and quantization
// to int8.
package numeric

import (
	"fmt"

	"github.com/attn-go/attn/fallback"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// FMA returns x·y + z, rounded once. x and y must not both be constants: a compiler
// multiplies constants itself, and rounds.
func FMA(x, y, z float32) float32 { return fallback.FMA(x, y, z) }

// Exp2 returns 2^x with the bits of the contract's exp2, within 0.80 ulp: exactly 0
// below -126, where float32 has no more normal numbers, +Inf from 128 on, NaN for NaN.
func Exp2(x float32) float32 { return fallback.Exp2(x) }

// Tanh returns the hyperbolic tangent of x with the bits of the contract's tanh, within
// 1.85 ulp: odd, ±1 from ±9.0110 on, NaN for NaN.
func Tanh(x float32) float32 { return fallback.Tanh(x) }

// Log2 returns the binary logarithm of x with the bits of the contract's log2, within
// 1.66 ulp, also around 1: -Inf for ±0, +Inf for +Inf, NaN for NaN and below 0.
func Log2(x float32) float32 { return fallback.Log2(x) }

// Exp2Slice computes dst[i] = Exp2(src[i]) on the default tier. dst may be src; if
// they overlap in part or their lengths differ, it returns a [*kernel.ArgumentError].
// If ATTN_TIER names a tier that cannot run, it returns a [*kernel.TierError]. After
// an error dst is untouched.
func Exp2Slice(dst, src []float32) error {
	return onSlices(dst, src, func(f *ukernel.Functions) func(dst, src []float32) { return f.Exp2 })
}

// TanhSlice computes dst[i] = Tanh(src[i]), see [Exp2Slice].
func TanhSlice(dst, src []float32) error {
	return onSlices(dst, src, func(f *ukernel.Functions) func(dst, src []float32) { return f.Tanh })
}

// sliceElements is how many elements one call of a kernel computes: some microseconds
// of work, as assembly cannot be preempted.
const sliceElements = 1 << 14

func onSlices(dst, src []float32, function func(f *ukernel.Functions) func(dst, src []float32)) error {
	if len(dst) != len(src) {
		return &kernel.ArgumentError{Arg: "dst", Got: fmt.Sprintf("length %d", len(dst)), Want: fmt.Sprintf("length %d, that of src", len(src))}
	}
	if d, s := view.MemoryOf(dst), view.MemoryOf(src); d != s && d.Overlaps(s) {
		return &kernel.ArgumentError{Arg: "dst", Got: "memory that overlaps a part of src", Want: "src itself, or memory of its own"}
	}
	t, unavailable := ukernel.Default()
	if unavailable != nil {
		return (*kernel.TierError)(unavailable)
	}
	f := function(&t.Functions)
	for len(dst) > 0 {
		n := min(len(dst), sliceElements)
		f(dst[:n], src[:n])
		dst, src = dst[n:], src[n:]
	}
	return nil
}

// ToF16 returns the F16 nearest to x, ties to even: infinite from 65520 on, subnormal
// below 2^-14. Every NaN becomes 0x7e00.
func ToF16(x float32) kernel.F16 { return kernel.F16(fallback.ToF16(x)) }

// ToBF16 returns the BF16 nearest to x, ties to even: infinite from half a unit beyond
// the largest number on. Every NaN becomes 0x7fc0.
func ToBF16(x float32) kernel.BF16 { return kernel.BF16(fallback.ToBF16(x)) }
