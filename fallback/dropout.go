package fallback

import "github.com/attn-go/attn/internal/scalar"

// dropout is LaneKernels.Dropout.
func dropout(s []float32, ld, j0, n int, keys []uint32, sequence uint32, head, pos []uint32, threshold uint32, scale float32) {
	for lane, i := range pos {
		var words [4]uint32
		for j := range n {
			key := j0 + j
			if j == 0 || key%4 == 0 {
				words = scalar.Philox(keys, [4]uint32{sequence, head[lane], i, uint32(key / 4)})
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
