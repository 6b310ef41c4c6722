package rope

import (
	"math"
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

// canonicalNaN is the NaN of every result that is one.
var canonicalNaN = math.Float32frombits(0x7FC00000)
