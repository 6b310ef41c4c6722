package rope

import (
	"math"
	"math/big"
)

// Frequencies are computed in multiple precision, once for each Rope, so that package
// math, whose results depend on the architecture, is not involved.

// precision is the number of bits that a frequency is computed with. The 128 bits that
// are kept are those of the exact value, but for one frequency in 2^100.
const precision = 320

// pi is π to 330 bits.
const pi = "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798"

// fullTurn returns 2π, the radians of a turn.
func fullTurn() *big.Float {
	full, _ := new(big.Float).SetPrec(precision).SetString(pi)
	return full.Add(full, full)
}

// angleOf returns an angle that is given in turns, rounded to the nearest.
func angleOf(turns *big.Float) angle {
	t := number(0).SetMantExp(turns, 128)
	i, _ := t.Add(t, number(0.5)).Int(nil)
	if t.Sign() < 0 && !t.IsInt() { // Int rounds towards zero
		i.Sub(i, big.NewInt(1))
	}
	i.And(i, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1)))
	lo := new(big.Int).And(i, new(big.Int).SetUint64(math.MaxUint64))
	return angle{i.Rsh(i, 64).Uint64(), lo.Uint64()}
}

// number returns x in the precision of precision.
func number(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }

// logarithm returns the natural logarithm of x ≥ 1. With b = x^(1/2^12), which is near 1,
//
//	ln x = 2^12·ln b = 2^13·artanh((b-1)/(b+1))
func logarithm(x float64) *big.Float {
	const roots, terms = 12, 32
	b := number(x)
	for range roots {
		b.Sqrt(b)
	}
	z := number(0).Quo(number(0).Sub(b, number(1)), number(0).Add(b, number(1)))
	square, power, sum := number(0).Mul(z, z), z, number(0)
	for k := range terms {
		sum.Add(sum, number(0).Quo(power, number(float64(2*k+1))))
		power = number(0).Mul(power, square)
	}
	return sum.SetMantExp(sum, roots+1)
}

// exponential returns e^x = (e^(x/2^16))^(2^16) for |x| < 2^6, the inner power by Taylor's
// series.
func exponential(x *big.Float) *big.Float {
	const halvings, terms = 16, 32
	x = number(0).SetMantExp(x, -halvings)
	sum, term := number(1), number(1)
	for k := 1; k < terms; k++ {
		term.Quo(term.Mul(term, x), number(float64(k)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}
