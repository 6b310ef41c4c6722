// Package numbers makes the input of measurements. The same call makes the same numbers
// everywhere.
package numbers

import (
	"math"
	"math/rand/v2"

	"github.com/attn-go/attn/kernel"
)

// Normals returns n normally distributed numbers of mean 0 and variance 1.
func Normals(n int) []float32 {
	r := rand.New(rand.NewPCG(1, 2))
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(r.NormFloat64())
	}
	return s
}

// Portable returns n numbers of mean 0 and variance 1, nearly normal, that are easily made in
// any language: number i is the sum of the four 16-bit parts of word i of SplitMix64 from the
// seed (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014),
// less its mean, times √3/2^16 in float64.
func Portable(seed uint64, n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		seed += 0x9e3779b97f4a7c15
		z := (seed ^ seed>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
		sum := z&0xffff + z>>16&0xffff + z>>32&0xffff + z>>48
		s[i] = float32(float64(int64(sum)-2*0xffff) * (math.Sqrt(3) / 0x1p16))
	}
	return s
}

// Alloc returns n zeros as kernel.Alloc does: in huge pages, as a kvcache.Cache has its memory.
func Alloc[E kernel.Element](n int) []E {
	x, err := kernel.Alloc[E](n)
	if err != nil { // with a GOMEMLIMIT that is less, which is no limit for make
		return make([]E, n)
	}
	return x
}

// Huge returns n numbers in huge pages. It takes little time: it repeats the same 65537
// normals.
func Huge(n int) []float32 {
	x := Alloc[float32](n)
	period := Normals(min(n, 1<<16+1))
	for at := 0; at < n; {
		at += copy(x[at:], period)
	}
	return x
}

// Convert returns the numbers converted to another type, in huge pages.
func Convert[E kernel.Element](x []float32, convert func(float32) E) []E {
	y := Alloc[E](len(x))
	for i := range x {
		y[i] = convert(x[i])
	}
	return y
}

// Bools returns n random values, 7 of 8 true.
func Bools(n int) []bool {
	r := rand.New(rand.NewPCG(3, 4))
	s := make([]bool, n)
	for i := range s {
		s[i] = r.IntN(8) != 0
	}
	return s
}
