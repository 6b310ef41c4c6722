package fallback

import (
	"testing"

	"github.com/attn-go/attn/internal/scalar"
)

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
	keys := scalar.PhiloxKeys(seed)
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
				dropout(s[from:to], 1, first+from, to-from, keys[:], sequence, []uint32{head}, []uint32{pos}, c.threshold, 1.5)
				equal(t, "p", s[from:to], c.want[from:to])
			}
		}
	}
}
