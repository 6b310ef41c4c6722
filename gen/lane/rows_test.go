package lane

import (
	"math"
	"math/bits"
	"testing"
)

// TestQuotients tries all quotients a/b of a float32 and a float64 that are within 3.1·2^-53 units
// in the last place of float64 of the middle of two of them, of which one is in the middle of two
// float32: those for which the steps of quotients might give another float32 than a division. With
// a = A·2^s and integers A < 2^24, 2^52 ≤ B < 2^53 and N = K·2^29±1, 2^24 ≤ K ≤ 2^25, for b and the
// middle, they have |A·2^s - B·N| < 6.2, where s is 81 at least. So B is -D/N modulo 2^81, where
// D is not 0.
func TestQuotients(t *testing.T) {
	const mask = 1<<17 - 1 // of the upper word of 81 bits
	step, found := uint64(1), 0
	if testing.Short() {
		step = 64
	}
	for k := uint64(1 << 24); k <= 1<<25; k += step {
		for _, n := range []uint64{k<<29 + 1, k<<29 - 1} {
			hi, lo := inverse(n)
			for d := range uint64(7) {
				carry, low := bits.Mul64(lo, d)
				high := hi*d + carry
				for range 2 {
					if b := low; high&mask == 0 && b>>52 == 1 {
						found++
						tryQuotient(t, n, b)
					}
					low, carry = bits.Sub64(0, low, 0)
					high = -high - carry
				}
			}
		}
	}
	if found == 0 {
		t.Error("the smallest one was not found")
	}
}

// inverse returns 1/n modulo 2^128 for an odd n, by Newton's steps.
func inverse(n uint64) (hi, lo uint64) {
	lo = n
	for range 6 {
		h, l := bits.Mul64(n, lo)
		h += n * hi
		l, borrow := bits.Sub64(2, l, 0)
		h = -h - borrow
		carry, low := bits.Mul64(lo, l)
		hi, lo = hi*l+lo*h+carry, low
	}
	return hi, lo
}

// tryQuotient divides the float32 nearest to b·n, up to a power of two, by b in both ways.
func tryQuotient(t *testing.T, n, b uint64) {
	a, y := float64(float32(float64(b)*float64(n))), float64(b)
	inv := 1 / y
	q := a * inv
	if got, want := float32(math.FMA(math.FMA(-q, y, a), inv, q)), float32(a/y); got != want {
		t.Errorf("%v/%v is %v, want %v", a, y, got, want)
	}
}
