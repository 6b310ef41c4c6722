package scalar

import (
	"math/bits"

	"github.com/attn-go/attn/contract"
)

// Philox returns the four random words of a counter by Philox4x32-10, see package
// contract. keys are the round keys, see [PhiloxKeys].
func Philox(keys []uint32, c [4]uint32) [4]uint32 {
	for r := range contract.PhiloxRounds {
		hi0, lo0 := bits.Mul32(contract.PhiloxM0, c[0])
		hi1, lo1 := bits.Mul32(contract.PhiloxM1, c[2])
		c = [4]uint32{hi1 ^ c[1] ^ keys[2*r], lo1, hi0 ^ c[3] ^ keys[2*r+1], lo0}
	}
	return c
}

// PhiloxKeys returns the round keys, two per round. The first round has the low and the high word
// of the seed. Every further round adds a constant to each.
func PhiloxKeys(seed uint64) (keys [2 * contract.PhiloxRounds]uint32) {
	lo, hi := uint32(seed), uint32(seed>>32)
	for r := range contract.PhiloxRounds {
		keys[2*r], keys[2*r+1] = lo, hi
		lo, hi = lo+contract.PhiloxW0, hi+contract.PhiloxW1
	}
	return keys
}
