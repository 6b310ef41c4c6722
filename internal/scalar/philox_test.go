package scalar

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
