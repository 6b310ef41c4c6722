package fallback

import (
	"math"
	"testing"
)

// TestPhilox checks the known answers that come with Random123, the library of
// Philox's authors.
func TestPhilox(t *testing.T) {
	const ones = math.MaxUint32
	for _, c := range []struct {
		key           [2]uint32
		counter, want [4]uint32
	}{
		{[2]uint32{}, [4]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[2]uint32{ones, ones}, [4]uint32{ones, ones, ones, ones}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[2]uint32{0xa4093822, 0x299f31d0}, [4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		keys := PhiloxKeys(uint64(c.key[1])<<32 | uint64(c.key[0]))
		if got := Philox(keys[:], c.counter); got != c.want {
			t.Errorf("key %08x, counter %08x: %08x, want %08x", c.key, c.counter, got, c.want)
		}
	}
}

// The third known answer, as seed, sequence, head, position and keys. Its words
// are d16cfe09, 94fdcceb, 5001e420, 24126ea1.
func TestDropout(t *testing.T) {
	const (
		seed     = 0x299f31d0_a4093822
		sequence = 0x243f6a88
		head     = 0x85a308d3
		pos      = 0x13198a2e
		first    = 0x03707344 << 2 // its key with word 0
	)
	keys := PhiloxKeys(seed)
	for _, c := range []struct {
		threshold uint32
		want      []float32
	}{
		{0, []float32{3, 6, nan, 1.5}},
		{0x24126ea1, []float32{3, 6, nan, 1.5}},
		{0x24126ea2, []float32{3, 6, nan, 0}},
		{0x5001e421, []float32{3, 6, 0, 0}},
		{0x94fdcceb, []float32{3, 6, 0, 0}},
		{0xd16cfe09, []float32{3, 0, 0, 0}},
		{0xd16cfe0a, []float32{0, 0, 0, 0}},
	} {
		for from := range 4 {
			for to := from; to <= 4; to++ {
				s := []float32{2, 4, nan, 1}
				Dropout(s[from:to], 1, first+from, to-from, keys[:], sequence, []uint32{head}, []uint32{pos}, c.threshold, 1.5)
				equal(t, "p", s[from:to], c.want[from:to])
			}
		}
	}
}
