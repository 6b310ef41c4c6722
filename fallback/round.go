package fallback

import (
	"math"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/scalar"
)

// roundLanes is LaneKernels.Round.
func roundLanes(dst, s []float32, ld, n int, scales []float32, lsc, bits int, unit []float32) {
	for lane := range unit {
		var largest uint32 // as bits, which have the order of magnitudes; those of NaN are above infinity
		for j := range n {
			x := float32(s[j*ld+lane] * scales[j*lsc])
			largest = max(largest, math.Float32bits(x)&^(1<<31))
		}
		var magic float32
		unit[lane], magic = roundingUnit(largest, bits)
		for j := range n {
			x := float32(s[j*ld+lane] * scales[j*lsc])
			switch {
			case unit[lane] == 0 || unit[lane] != unit[lane]:
				x = unit[lane]
			default:
				x = float32(x+magic) - magic
			}
			dst[j*ld+lane] = x
		}
	}
}

// roundingUnit returns the unit of numbers of which the largest magnitude has the given bits, and the
// number by whose addition they are rounded to it: 1.5·2^23 units.
func roundingUnit(largest uint32, bits int) (unit, magic float32) {
	switch {
	case largest >= contract.BeyondRounding:
		return scalar.NaN, 0
	case largest < contract.LeastRounded:
		return 0, 0
	}
	exponent := largest &^ (1<<23 - 1)
	return math.Float32frombits(exponent - uint32(bits)<<23), math.Float32frombits(exponent + (23-uint32(bits))<<23 | 1<<22)
}

// scaleRows is LaneKernels.ScaleRows.
func scaleRows(s []float32, ld int, a []float32, lda, n int, scales []float32, lsc int, load bool, max []float32) {
	for j := range n {
		row, in, d := window(s, j*ld, len(max)), window(a, j*lda, len(max)), scales[j*lsc]
		for lane, x := range in {
			if load {
				x = scalar.FMA(x, d, row[lane])
			} else {
				x = float32(x * d)
			}
			row[lane] = x
			max[lane] = scalar.Larger(x, max[lane])
		}
	}
}
