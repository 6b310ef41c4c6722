package engine

import "math"

// BlockKeys is the number of keys in a block of the numeric contract. Keys are cut
// at absolute positions, and blocks are merged in order.
const BlockKeys = 256

var (
	negInf       = float32(math.Inf(-1))
	canonicalNaN = math.Float32frombits(0x7FC00000) // the NaN of every NaN row
	ln2          = math.Float32frombits(0x3F317218)
)

// log2Units returns x·log2 e, rounded once: a score in the unit of exp2.
func log2Units(x float32) float32 { return float32(float64(x) * math.Log2E) }

// fill sets all elements of s to x.
func fill(s []float32, x float32) {
	for i := range s {
		s[i] = x
	}
}

// canonize replaces every NaN of s by the canonical one.
func canonize(s []float32) {
	for i, x := range s {
		if x != x {
			s[i] = canonicalNaN
		}
	}
}
