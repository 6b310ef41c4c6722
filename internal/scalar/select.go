package scalar

import (
	"math"

	"github.com/attn-go/attn/contract"
)

// Numbers of the contract, and -Inf.
var (
	NaN           = math.Float32frombits(contract.Canonical) // of every result that is one
	NegInf        = float32(math.Inf(-1))
	Log2E         = math.Float32frombits(contract.Log2E)
	LeastNormal   = math.Float32frombits(contract.LeastNormal)   // that is not subnormal
	LeastBF16     = math.Float32frombits(contract.LeastBF16)     // that a product in bfloat16 takes
	LeastGradient = math.Float32frombits(contract.LeastGradient) // that counts, 2^-100
)

// Larger returns x if x > y, else y. Unlike the built-in max it ignores a NaN in x, as
// the vector instructions do.
func Larger(x, y float32) float32 {
	if x > y {
		return x
	}
	return y
}

// Canonical returns x, or the NaN 0x7fc00000.
func Canonical(x float32) float32 {
	if x != x {
		return math.Float32frombits(contract.Canonical) // a constant: NaN is loaded
	}
	return x
}

// Flush returns x, or +0 if its magnitude is below least, which is above 0. A NaN stays.
func Flush(x, least float32) float32 {
	if x < least && x > -least {
		return 0
	}
	return x
}

// BackwardWeight returns the weight of a score, not yet normalised: Weight(min(s - lse, 0)), or +0
// if s is -Inf. A NaN stays.
func BackwardWeight(s, lse float32) float32 {
	switch x := s - lse; {
	case s == NegInf:
		return 0
	case x > 0:
		return 1
	default:
		return Weight(x)
	}
}

// Limited returns x, or the nearer limit, most or -most, if x is beyond.
func Limited(x, most float32) float32 {
	switch {
	case x > most:
		return most
	case x < -most:
		return -most
	}
	return x
}

// SumOfHalves adds the upper half of some chains to the lower half until one is left, and returns
// it. Their number is a power of 2.
func SumOfHalves(acc []float32) float32 {
	for half := len(acc) / 2; half > 0; half /= 2 {
		for r, x := range acc[half : 2*half] {
			acc[r] += x
		}
	}
	return acc[0]
}

// SumOfHalves16 is SumOfHalves of 16 numbers, which stay as they are.
func SumOfHalves16(a *[16]float32) float32 {
	even := ((a[0] + a[8]) + (a[4] + a[12])) + ((a[2] + a[10]) + (a[6] + a[14]))
	odd := ((a[1] + a[9]) + (a[5] + a[13])) + ((a[3] + a[11]) + (a[7] + a[15]))
	return even + odd
}

// SumOfHalves64 is SumOfHalves of binary64.
func SumOfHalves64(a *[8]float64) float64 {
	return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]))
}
