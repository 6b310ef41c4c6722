package decoder

import (
	"math"
	"math/big"
)

// frequencies returns base^(-2i/dims)/factors[i] for all pairs i. math.Pow does not have the
// same bits everywhere, so this is computed in multiple precision and rounded.
func frequencies(base float64, dims int, factors []float32) []float64 {
	n := dims / 2
	step := root(base, n)
	f, power := make([]float64, n), number(1)
	for i := range f {
		x, _ := number(0).Quo(number(1), power).Float64()
		f[i] = x / float64(factors[i])
		power.Mul(power, step)
	}
	return f
}

// number returns x with enough bits that rounding errors do not reach a float64.
func number(x float64) *big.Float { return new(big.Float).SetPrec(256).SetFloat64(x) }

// root returns the n-th root of x by Newton's method. It begins with some 40 bits, and each
// step doubles them.
func root(x float64, n int) *big.Float {
	y := number(math.Pow(x, 1/float64(n)))
	for range 4 {
		power := number(1)
		for range n - 1 {
			power.Mul(power, y)
		}
		next := number(0).Quo(number(x), power) // x/y^(n-1)
		next.Add(next, number(0).Mul(y, number(float64(n-1))))
		y = next.Quo(next, number(float64(n)))
	}
	return y
}
