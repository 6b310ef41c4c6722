package fallback

import "math/bits"

// Dropout drops weights at random, for n rows of len(pos) lanes of which the first is
// key j0. The random number of a weight is word (j0+j) mod 4 of [Philox] at the counter
// (sequence, head[lane], pos[lane], (j0+j)/4). A weight is multiplied by scale if its
// number is at least threshold, else it becomes +0.
func Dropout(s []float32, ld, j0, n int, keys []uint32, sequence uint32, head, pos []uint32, threshold uint32, scale float32) {
	for lane, i := range pos {
		var words [4]uint32
		for j := range n {
			key := j0 + j
			if j == 0 || key%4 == 0 {
				words = Philox(keys, [4]uint32{sequence, head[lane], i, uint32(key / 4)})
			}
			p := &s[j*ld+lane]
			if words[key%4] >= threshold {
				*p = float32(*p * scale)
			} else {
				*p = 0
			}
		}
	}
}

// PhiloxRounds is the number of rounds of Philox4x32-10.
const PhiloxRounds = 10

// Philox returns the four random words of a counter by Philox4x32-10 (Salmon, Moraes,
// Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, SC 2011). keys are the
// round keys, see [PhiloxKeys].
func Philox(keys []uint32, c [4]uint32) [4]uint32 {
	for r := range PhiloxRounds {
		hi0, lo0 := bits.Mul32(0xd2511f53, c[0])
		hi1, lo1 := bits.Mul32(0xcd9e8d57, c[2])
		c = [4]uint32{hi1 ^ c[1] ^ keys[2*r], lo1, hi0 ^ c[3] ^ keys[2*r+1], lo0}
	}
	return c
}

// PhiloxKeys returns the round keys, two per round. Those of the first round are the low
// and the high word of the seed. Every further round adds a constant to each.
func PhiloxKeys(seed uint64) (keys [2 * PhiloxRounds]uint32) {
	lo, hi := uint32(seed), uint32(seed>>32)
	for r := range PhiloxRounds {
		keys[2*r], keys[2*r+1] = lo, hi
		lo, hi = lo+0x9e3779b9, hi+0xbb67ae85
	}
	return keys
}
