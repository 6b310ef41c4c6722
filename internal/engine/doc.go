// Package engine computes one call of attention, from a plan to the result.
//
// A [Job] holds the call. It is cut into tasks (plan.go), which workers take one by
// one. A task is some query tiles of a KV head, or one key block of a tile
// (split-KV, split.go). For each block of 256 keys a tile goes through
//
//	scores     S = K·Q̂ᵀ and its score modifications   scores.go, scoremod.go, sparse.go, additive.go
//	softmax    p = exp2(s-m), sums, dropout             softmax.go
//	PV         O = p·V, merged with earlier blocks      pv.go
//
// and ends with the epilogue (epilogue.go, outputs.go). Tiles of few rows use the
// skinny kernels (skinny.go). Rows that end as NaN are computed again without their
// hidden keys (nanpath.go).
//
// The engine trusts its caller: package kernel has checked every argument.
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
