// Package train has what the training of the example models shares: weights in one slice, steps
// of the optimizer, checkpoints and the display of progress. All of it is the same, to the bit, on
// every CPU and with any number of threads.
package train

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/rand/v2"
)

// A Part is one tensor of a model's weights, of their gradients or of the optimizer's state.
type Part struct {
	Name    string
	Shape   []int
	Numbers *[]float32 // set by Allocate
	Center  float64    // its first random weights are from Center-Bound to Center+Bound
	Bound   float64
}

// Uniform returns a part whose first random weights are from -bound to bound.
func Uniform(name string, numbers *[]float32, bound float64, shape ...int) Part {
	return Part{Name: name, Shape: shape, Numbers: numbers, Bound: bound}
}

// len returns the number of elements.
func (p *Part) len() int {
	n := 1
	for _, d := range p.Shape {
		n *= d
	}
	return n
}

// Allocate returns zeros for all parts, one after the other, for the optimizer, and sets Numbers of
// each to its place there.
func Allocate(parts []Part) []float32 {
	n := 0
	for i := range parts {
		n += parts[i].len()
	}
	all := make([]float32, n)
	rest := all
	for i := range parts {
		n := parts[i].len()
		*parts[i].Numbers, rest = rest[:n:n], rest[n:]
	}
	return all
}

// Randomize sets all parts to random numbers, uniform between the bounds of each.
func Randomize(parts []Part, r *rand.Rand) {
	for _, p := range parts {
		for i := range *p.Numbers {
			u := float32(int32(r.Uint32()>>8)-1<<23) / (1 << 23) // in [-1, 1), exactly
			(*p.Numbers)[i] = float32(u*float32(p.Bound)) + float32(p.Center)
		}
	}
}

// Hash returns the SHA-256 of the bits of x, in hexadecimal.
func Hash(x []float32) string {
	h := sha256.New()
	var b [4]byte
	for _, x := range x {
		binary.LittleEndian.PutUint32(b[:], math.Float32bits(x))
		h.Write(b[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// HashBytes returns the SHA-256 of a text, in hexadecimal.
func HashBytes(text []byte) string {
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:])
}
