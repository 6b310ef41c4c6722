// Package powers computes roots and logarithms with the same bits on every machine, unlike package
// math.
package powers

import (
	"math"
	"math/big"
)

// Number returns x with enough bits that rounding errors do not reach a float64.
func Number(x float64) *big.Float { return new(big.Float).SetPrec(256).SetFloat64(x) }

// Root returns the n-th root of x by Newton's method, for x of 1 or more and n of 1 or more. It
// begins with some 40 bits, and each step doubles them.
func Root(x float64, n int) *big.Float {
	y := Number(math.Pow(x, 1/float64(n)))
	for range 4 {
		power := Number(1)
		for range n - 1 {
			power.Mul(power, y)
		}
		next := Number(0).Quo(Number(x), power) // x/y^(n-1)
		next.Add(next, Number(0).Mul(y, Number(float64(n-1))))
		y = next.Quo(next, Number(float64(n)))
	}
	return y
}

// Log returns ln x for x from 2^-1000 to 2^1000. math.Log does not have the same bits
// everywhere; this is the series of the inverse hyperbolic tangent, by sums and products alone.
func Log(x float64) float64 {
	fraction, exponent := math.Frexp(x) // from 1/2 to 1
	t := (fraction - 1) / (fraction + 1)
	square, power, sum := float64(t*t), t, 0.0
	for n := 1; n < 60; n += 2 {
		sum += power / float64(n)
		power = float64(power * square)
	}
	return float64(2*sum) + float64(float64(exponent)*math.Ln2)
}
