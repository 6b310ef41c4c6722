package fallback

import (
	"math"
	"slices"

	"github.com/attn-go/attn/contract"
)

const infBits = 0x7f800000

// quantizeInt8 makes scaled integers of n rows of d finite numbers. In a row, group neighbours
// share a scale; group divides d. With m the largest magnitude of a group,
//
//	scales[r·lsc+g] = m/127, m at most contract.MostInt8, or 0 if m is below contract.LeastInt8
//	dst[r·ldd+x]    = src[r·lds+x]/scale, rounded to an integer, ties to even
//
// where both quotients are rounded to float32. As a scale is a normal number, no integer is
// beyond ±127. If the scale is 0 the integers are 0. If a number is not finite,
// QuantizeInt8 returns false, and has written neither the number's group nor those after
// it.
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

// quantizeInt4 is quantizeInt8 for integers of 4 bits, two in a byte, the first in its low half. group is
// even, and ldd counts bytes. With m the number of largest magnitude in a group, the positive one of two,
//
//	scales[r·lsc+g] = m/-8 + (+0), or 0 if m is below contract.LeastInt4 in magnitude
//	number x of dst = src[r·lds+x]/scale, rounded to an integer, ties to even, -8 to 7
//
// So the number that is farthest from 0 is exact, unless it becomes 0.
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

// largest returns the largest magnitude of x as bits, which are ordered like magnitudes. Those
// of infinity and NaN are the largest.
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
