package rope

import (
	"math"
	"math/big"
	"math/bits"
)

// An angle is a fixed-point fraction of a turn, in units of 2^-128. Arithmetic is
// modulo whole turns, and products with positions are exact. (In float64 an angle of a
// million radians has an error of 1e-10; in float32 it has no correct digit left.)
type angle struct{ hi, lo uint64 }

// times returns n·t, for n of either sign.
func (t angle) times(n int) angle {
	carry, lo := bits.Mul64(t.lo, uint64(n))
	hi := t.hi*uint64(n) + carry
	if n < 0 { // uint64(n) is 2^64 too much
		hi -= t.lo
	}
	return angle{hi, lo}
}

// cosSin returns the cosine and the sine of t times a magnitude, each rounded to float32: to the
// nearest, except for one in some 10^8 that is close to halfway between two floats.
func (t angle) cosSin(magnitude float64) (cos, sin float32) {
	quadrant := (t.hi + 1<<61) >> 62 // the nearest quarter of a turn
	x := angle{t.hi - quadrant<<62, t.lo}.radians()
	z := float64(x * x)
	c, s := taylor(&cosTaylor, z), float64(x*taylor(&sinTaylor, z))
	switch quadrant & 3 {
	case 1:
		c, s = -s, c
	case 2:
		c, s = -c, -s
	case 3:
		c, s = s, -c
	}
	return float32(c * magnitude), float32(s * magnitude)
}

// radians returns t, from -1/8 to 1/8, as an angle: its first 53 significant bits
// times 2π.
func (t angle) radians() float64 {
	sign := 1.0
	if t.hi>>63 != 0 {
		lo, borrow := bits.Sub64(0, t.lo, 0)
		hi, _ := bits.Sub64(0, t.hi, borrow)
		t, sign = angle{hi, lo}, -1
	}
	shift := bits.LeadingZeros64(t.hi)
	if t.hi == 0 {
		shift += bits.LeadingZeros64(t.lo)
		t = angle{t.lo, 0}
	}
	top := (t.hi<<(shift&63) | t.lo>>(64-shift&63)) >> 11
	return sign * 2 * math.Pi * math.Ldexp(float64(top), -53-shift)
}

// sinTaylor and cosTaylor are the coefficients of Taylor's series of sin(x)/x and
// cos(x) in z = x², rounded to float64. Up to π/4 the terms that are left out are
// below 2^-58.
var (
	sinTaylor = [9]float64{1, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800,
		1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000}
	cosTaylor = [9]float64{1, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800,
		1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000}
)

// taylor evaluates a polynomial by Horner's rule; every operation rounds.
func taylor(c *[9]float64, z float64) float64 {
	y := c[8]
	for i := 7; i >= 0; i-- {
		y = float64(y*z) + c[i]
	}
	return y
}

// Frequencies are computed in multiple precision, once for each Rope, so that package
// math, whose results depend on the architecture, is not involved.

// precision is the number of bits that a frequency is computed with. The 128 bits that are kept are
// the exact value's, but for one frequency in 2^100.
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
