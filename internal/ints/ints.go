// Package ints computes with sizes that may overflow an int.
package ints

import (
	"math"
	"math/bits"
)

// MulSat returns a·b, at most math.MaxInt: a size that overflows fits no slice. A
// negative factor gives -1, which no check accepts.
func MulSat(a, b int) int {
	if a < 0 || b < 0 {
		return -1
	}
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi != 0 || lo > math.MaxInt {
		return math.MaxInt
	}
	return int(lo)
}

// AddSat returns a+b, at most math.MaxInt, and -1 if a or b is negative.
func AddSat(a, b int) int {
	switch {
	case a < 0 || b < 0:
		return -1
	case b > math.MaxInt-a:
		return math.MaxInt
	}
	return a + b
}

// CeilDiv returns ⌈a/b⌉ for a ≥ 0 and b > 0.
func CeilDiv(a, b int) int { return (a + b - 1) / b }

// RoundUp returns the least multiple of step that is at least a, for a ≥ 0 and step > 0.
func RoundUp(a, step int) int { return CeilDiv(a, step) * step }

// Clamp32 returns n, limited to the range of an int32.
func Clamp32(n int) int32 { return int32(max(min(n, math.MaxInt32), math.MinInt32)) }
