// Package numeric has the functions that the numeric contract, package contract, is made
// of, for programs that also want the same bits on every CPU:
//
//   - [FMA], [Exp2], [Tanh] and [Log2] of single numbers
//   - [Exp2Slice], [TanhSlice] and [AddSlice], which use the vector instructions of the CPU
//   - conversion from float32 to binary16 and bfloat16 by [ToF16] and [ToBF16], to floats of 8 bits
//     by [ToF8E4M3] and [ToF8E5M2], and back by the methods of [kernel.F16] and so on
//   - quantization to 8 and 4 bits by [QuantizeInt8] and [QuantizeInt4]
//   - the rotation of vectors before they are quantized, by [Hadamard]
//   - the largest of many numbers by [Argmax] and [TopK]
//
// # Keep your own code bit-exact
//
// A model has the same bits on every CPU if the Go code between the calls of this module has.
// These rules are enough:
//
//   - Round every product before it is added: float32(a*b) + c, or FMA(a, b, c) where one
//     rounding is wanted. The compiler fuses a*b + c into one instruction on arm64, riscv64,
//     s390x, ppc64le, loong64 and, with GOAMD64=v3, on amd64; a conversion prevents that. The
//     same holds for float64, and for x -= a*b and -(a*b) + c.
//   - Do not use the functions of package math that approximate, such as math.Exp, Log, Sin, Erf
//     and Pow: some architectures have assembly of their own with other last bits. Exp2, Tanh,
//     Log2 of this package, package activation and package rope have one definition. Sqrt, Abs,
//     Floor, Trunc, RoundToEven, FMA and the four operations are exact everywhere.
//   - Add in an order that depends on nothing but the data: not on the number of goroutines, on
//     who finishes first, or on the order of a map.
//   - Do not look at the bits of a NaN. Which NaN an operation returns differs between CPUs.
//     Attention, linear layers and norms return 0x7FC00000.
//   - Take random numbers from generators of integers, such as math/rand/v2's PCG. NormFloat64 and
//     ExpFloat64 use math.Log and math.Exp.
//
// To test that on an amd64 machine alone, compare the results of go test and GOAMD64=v3 go test:
// only the latter fuses.
package numeric

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// FMA returns x·y + z, rounded once. x and y must not both be constants, as a compiler
// may replace the product of constants by the rounded one.
func FMA(x, y, z float32) float32 { return scalar.FMA(x, y, z) }

// Exp2 returns 2^x with the bits of the contract's exp2, from -126 on within 0.80 ulp. Below, where
// float32 has no normal numbers, it is exactly 0. It is +Inf from 128 on, and NaN for NaN.
func Exp2(x float32) float32 { return scalar.Exp2(x) }

// Tanh returns the hyperbolic tangent of x with the bits of the contract's tanh, within
// 1.85 ulp. It is an odd function, ±1 from ±9.0110 on, and NaN for NaN.
func Tanh(x float32) float32 { return scalar.Tanh(x) }

// Log2 returns the binary logarithm of x with the bits of the contract's log2, within
// 1.66 ulp, also around 1. It is -Inf for ±0, +Inf for +Inf, and NaN for NaN and below 0.
func Log2(x float32) float32 { return scalar.Log2(x) }

// Exp2Slice computes dst[i] = Exp2(src[i]). dst may be src. If they overlap in part, their lengths
// differ, or exec or ATTN_TIER names a tier that cannot run, the error is a [*kernel.Error], which
// leaves dst untouched. exec says how the call is computed; the zero Exec is the default.
func Exp2Slice(dst, src []float32, exec kernel.Exec) error {
	return exp2.Run(&exec, &elementwise.Call{Slices: [6][]float32{dst, src}})
}

// TanhSlice computes dst[i] = Tanh(src[i]). Arguments and errors are as for [Exp2Slice].
func TanhSlice(dst, src []float32, exec kernel.Exec) error {
	return tanh.Run(&exec, &elementwise.Call{Slices: [6][]float32{dst, src}})
}

// AddSlice computes dst[i] = x[i] + y[i], and a NaN 0x7FC00000 where that is a NaN: the residual
// connection of a model. dst may be x or y. exec and errors are as for [Exp2Slice].
func AddSlice(dst, x, y []float32, exec kernel.Exec) error {
	return add.Run(&exec, &elementwise.Call{Slices: [6][]float32{dst, x, y}})
}

// An element takes as long as so many FMAs of a product, with avx2 on Zen 3 and in L2.
const (
	functionFMAs = 25
	sumFMAs      = 8
	quantizeFMAs = 30
)

var (
	exp2 = elementwise.Function{Name: "numeric.Exp2Slice", Args: []string{"dst", "src"}, Outputs: 1, Like: 1, ElementFMAs: functionFMAs, Do: func(c *elementwise.Call) { c.Tier.Elementwise().Exp2(c.Slices[0], c.Slices[1]) }}
	tanh = elementwise.Function{Name: "numeric.TanhSlice", Args: []string{"dst", "src"}, Outputs: 1, Like: 1, ElementFMAs: functionFMAs, Do: func(c *elementwise.Call) { c.Tier.Elementwise().Tanh(c.Slices[0], c.Slices[1]) }}
	add  = elementwise.Function{Name: "numeric.AddSlice", Args: []string{"dst", "x", "y"}, Outputs: 1, Like: 1, ElementFMAs: sumFMAs, Do: func(c *elementwise.Call) { c.Tier.Elementwise().Add(c.Slices[0], c.Slices[1], c.Slices[2]) }}
)

// ToF16 returns the F16 nearest to x, ties to even. It is infinite for magnitudes from
// 65520 on and subnormal below 2^-14. Every NaN becomes 0x7e00.
func ToF16(x float32) kernel.F16 { return kernel.F16(scalar.ToF16(x)) }

// ToBF16 returns the BF16 nearest to x, ties to even. It is infinite for magnitudes from
// (2-2^-8)·2^127 on, half a unit beyond the largest finite BF16. Every NaN becomes
// 0x7fc0.
func ToBF16(x float32) kernel.BF16 { return kernel.BF16(scalar.ToBF16(x)) }

// ToF8E4M3 returns the F8E4M3 nearest to x, ties to even. It saturates: for magnitudes above 448,
// infinity too, it is ±448. It is subnormal below 2^-6. Every NaN becomes 0x7f.
func ToF8E4M3(x float32) kernel.F8E4M3 { return kernel.F8E4M3(scalar.ToF8E4M3(x)) }

// ToF8E5M2 returns the F8E5M2 nearest to x, ties to even. It saturates: for magnitudes above 57344,
// infinity too, it is ±57344. It is subnormal below 2^-14. Every NaN becomes 0x7e.
func ToF8E5M2(x float32) kernel.F8E5M2 { return kernel.F8E5M2(scalar.ToF8E5M2(x)) }

// Argmax returns the index of the largest number of x, the first of several that are equal: the
// most probable token of a model's logits. A NaN counts as less than any number. The result is
// -1 if x is empty or all of it is NaN.
func Argmax(x []float32) int {
	best := slices.IndexFunc(x, func(v float32) bool { return v == v })
	if best < 0 {
		return best
	}
	top := x[best]
	for i := best; i < len(x); i++ {
		for ; i+4 <= len(x); i += 4 { // mostly none of four is larger
			if y := x[i : i+4 : i+4]; y[0] > top || y[1] > top || y[2] > top || y[3] > top {
				break
			}
		}
		if i < len(x) && x[i] > top {
			best, top = i, x[i]
		}
	}
	return best
}

// TopK writes the indices of the len(dst) largest numbers of x to dst, the largest first, and of
// equal numbers the one with the smaller index first. A NaN counts as less than any number. It
// takes time in proportion to len(x), and to len(dst) for each of x that is among the largest
// so far: it is meant for a few, up to some hundred.
//
// If dst is longer than x the error is a [*kernel.Error], and dst is untouched.
func TopK(dst []int, x []float32) error {
	if len(dst) > len(x) {
		return &kernel.Error{Where: "numeric.TopK: dst", Got: fmt.Sprintf("length %d", len(dst)), Want: fmt.Sprintf("at most %d, the length of x", len(x))}
	}
	if view.MemoryOf(dst).Overlaps(view.MemoryOf(x)) {
		return &kernel.Error{Where: "numeric.TopK: dst", Got: "memory that overlaps x", Want: "memory of its own"}
	}
	k := len(dst)
	if k == 0 {
		return nil
	}
	n := 0 // found so far
	for i, v := range x {
		if n == k && !before(v, x[dst[k-1]]) {
			continue
		}
		at := min(n, k-1)
		for ; at > 0 && before(v, x[dst[at-1]]); at-- {
			dst[at] = dst[at-1]
		}
		dst[at] = i
		n = min(n+1, k)
	}
	return nil
}

// before tells whether v comes before w, which has a smaller index, among the largest numbers.
func before(v, w float32) bool { return v > w || w != w && v == v }
