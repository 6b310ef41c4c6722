package fallback

import (
	"math"
	"slices"

	"github.com/attn-go/attn/contract"
)

const infBits = 0x7f800000

// quantizeInt8 is Converters.QuantizeInt8. As a scale is a normal number, no integer is beyond
// ±127.
func quantizeInt8(dst []int8, ldd int, scales []float32, lsc int, src []float32, lds, group, n, d int) bool {
	for r := range n {
		to, from := window(dst, r*ldd, d), window(src, r*lds, d)
		for g, at := 0, 0; at < d; g, at = g+1, at+group {
			m := largest(from[at : at+group])
			if m >= infBits {
				return false
			}
			if m < contract.LeastInt8 {
				m = 0
			}
			scale := math.Float32frombits(min(m, contract.MostInt8)) / contract.MostCode
			scales[r*lsc+g] = scale
			quantize(to[at:at+group], from[at:at+group], scale)
		}
	}
	return true
}

// quantizeInt4 is Converters.QuantizeInt4. So the number that is farthest from 0 is exact, unless
// it becomes 0.
func quantizeInt4(dst []byte, ldd int, scales []float32, lsc int, src []float32, lds, group, n, d int) bool {
	const least, most = -8, 7
	for r := range n {
		to, from := window(dst, r*ldd, d/2), window(src, r*lds, d)
		for g, at := 0, 0; at < d; g, at = g+1, at+group {
			from := from[at : at+group]
			m := largest(from)
			if m >= infBits {
				return false
			}
			high, low := slices.Max(from), slices.Min(from)
			if high < -low {
				high = low
			}
			scale := float32(high/least) + 0 // not fused to a product and a sum in one
			if m < contract.LeastInt4 {
				scale = 0
			}
			scales[r*lsc+g] = scale
			if scale == 0 {
				clear(to[at/2 : (at+group)/2])
				continue
			}
			code := func(x float32) byte {
				return byte(math.Float32bits(max(min(x/scale, most), least)+0x1.8p23)) & 15
			}
			for x := 0; x < group; x += 2 {
				to[(at+x)/2] = code(from[x]) | code(from[x+1])<<4
			}
		}
	}
	return true
}

// finite tells whether all of src is finite.
func finite(src []float32) bool { return largest(src) < infBits }

// largest returns the largest magnitude of x as bits, which are ordered like magnitudes. Infinity
// and NaN have the largest.
func largest(x []float32) (m uint32) {
	for _, v := range x {
		m = max(m, math.Float32bits(v)&^(1<<31))
	}
	return m
}

// quantize divides by the scale.
func quantize(dst []int8, src []float32, scale float32) {
	if scale == 0 {
		clear(dst)
		return
	}
	for i, x := range src {
		// Adding 1.5·2^23 rounds to an integer, which the low bits of the sum hold.
		dst[i] = int8(math.Float32bits(x/scale + 0x1.8p23))
	}
}
