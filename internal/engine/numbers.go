package engine

import (
	"math"

	"github.com/attn-go/attn/contract"
)

// BlockKeys is the number of keys in a block of the numeric contract. Keys are cut
// at absolute positions, and blocks are merged in order.
const BlockKeys = contract.KeyBlock

var (
	negInf       = float32(math.Inf(-1))
	canonicalNaN = math.Float32frombits(contract.Canonical) // the NaN of every NaN row
	ln2          = math.Float32frombits(contract.Ln2)
)

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
