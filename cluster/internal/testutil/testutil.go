// Package testutil is for the tests of this module: numbers that are the same on every machine,
// and comparison to the bit.
package testutil

import (
	"math"
	"testing"
)

// A Rand makes numbers from integers alone. Its value is the seed (SplitMix64: Steele, Lea,
// Flood, OOPSLA 2014).
type Rand uint64

// Uint64 returns a random number of 64 bits.
func (r *Rand) Uint64() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// IntN returns a random number in [0, n).
func (r *Rand) IntN(n int) int { return int(r.Uint64() % uint64(n)) }

// Fill sets every element of x to a multiple of 2^-16 in [-2, 2).
func (r *Rand) Fill(x []float32) {
	for i := range x {
		x[i] = float32(r.IntN(1<<18)-1<<17) / (1 << 16)
	}
}

// FillMantissas sets every element of x to a number of either sign that uses all 24 bits, of a
// magnitude of 2^-8 to 2^8: sums of such numbers are rounded.
func (r *Rand) FillMantissas(x []float32) {
	for i := range x {
		z := r.Uint64()
		sign, exponent := uint32(z>>63)<<31, uint32(127-8+z>>32&15)
		x[i] = math.Float32frombits(sign | exponent<<23 | uint32(z)&0x7fffff)
	}
}

// Floats returns n numbers of a Rand with the seed n.
func Floats(n int) []float32 {
	r, x := Rand(n), make([]float32, n)
	r.Fill(x)
	return x
}

// Filled returns n numbers x.
func Filled(n int, x float32) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = x
	}
	return s
}

// CheckBits fails the test unless got and want are of the same length and hold the same bits, or
// NaN. what names them in the message.
func CheckBits(t testing.TB, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i, y := range want {
		x := got[i]
		if math.Float32bits(x) != math.Float32bits(y) && !(x != x && y != y) {
			t.Fatalf("%s: [%d] is %v (%08x), want %v (%08x)", what, i, x, math.Float32bits(x), y, math.Float32bits(y))
		}
	}
}
