package fallback

import (
	"math"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/scalar"
)

// softmax is LaneKernels.Softmax.
func softmax(s []float32, ld, n int, max, sum []float32) {
	weigh(scalar.Weight, s, ld, n, max, sum)
}

// weigh is softmax with such weights.
func weigh(weight func(x float32) float32, s []float32, ld, n int, max, sum []float32) {
	sum = window(sum, 0, len(max))
	clear(sum)
	for j := range n {
		row := window(s, j*ld, len(max))
		for lane, m := range max {
			p := weight(row[lane] - orZero(m))
			row[lane] = p
			sum[lane] += p
		}
	}
}

// softmaxBF16 is LaneKernels.SoftmaxBF16.
func softmaxBF16(s []float32, ld, n int, max, sum []float32) {
	weigh(scalar.WeightBF16, s, ld, n, max, sum)
}

// maxima is Unit.Maxima.
func maxima(s []float32, n int, scale float32, max []float32) {
	for lane := range max {
		m := [4]float32{scalar.NegInf, scalar.NegInf, scalar.NegInf, scalar.NegInf}
		for j := range n {
			m[j%4] = scalar.Larger(s[j*len(max)+lane], m[j%4])
		}
		max[lane] = scalar.Larger(scalar.Larger(m[3], m[2]), scalar.Larger(m[1], m[0])) * scale
	}
}

// softmaxPairs is Unit.SoftmaxPairs.
func softmaxPairs(s []float32, n int, scale float32, max, sum []float32) {
	w := len(max)
	for lane, m := range max {
		z, l := orZero(m), float32(0)
		weight := func(j int) float32 {
			p := scalar.WeightBF16(float32(s[j*w+lane]*scale) - z)
			l += p
			return p
		}
		for j := 0; j < n; j += 2 {
			pair := math.Float32bits(weight(j)) >> 16
			if j+1 < n {
				pair |= math.Float32bits(weight(j+1)) & 0xffff0000
			}
			s[j/2*w+lane] = math.Float32frombits(pair)
		}
		sum[lane] = l
	}
}

// mergeStats is LaneKernels.MergeStats.
func mergeStats(max, sum, blockMax, blockSum, alpha, beta []float32) {
	for lane, old := range max {
		m := scalar.Larger(blockMax[lane], old)
		z := orZero(m)
		al, be := scalar.Weight(old-z), scalar.Weight(blockMax[lane]-z)
		alpha[lane], beta[lane] = al, be
		sum[lane] = scalar.FMA(blockSum[lane], be, float32(sum[lane]*al))
		max[lane] = m
	}
}

// orZero replaces the maximum -Inf of a lane that has seen no key by 0: -Inf - -Inf
// would be NaN, while weight(-Inf - 0) is 0.
func orZero(m float32) float32 {
	if m == scalar.NegInf {
		return 0
	}
	return m
}

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

// pack is LaneKernels.Pack.
func pack(dst []float32, ld int, src []float32, off []int, n, d int, scale float32) {
	for lane, o := range off {
		for x, q := range window(src, o, d) {
			dst[x*ld+lane] = float32(q * scale)
		}
	}
}

// unpack is LaneKernels.Unpack.
func unpack(dst []float32, off []int, src []float32, ld, n, d int, sum []float32) uint64 {
	var nans uint64
	for lane, o := range window(off, 0, n) {
		inv, row := inverse(sum[lane]), window(dst, o, d)
		for x := range row {
			y := float32(src[x*ld+lane]*inv) + 0
			row[x] = y
			if y != y {
				nans |= 1 << lane
			}
		}
	}
	return nans
}

// inverse returns 1/sum, or 0 for a sum of 0, of a row that has seen no key.
func inverse(sum float32) float32 {
	if sum == 0 {
		return 0
	}
	return 1 / sum
}

// roundLanes is LaneKernels.Round.
func roundLanes(dst, s []float32, ld, n int, scales []float32, lsc, bits int, unit []float32) {
	for lane := range unit {
		var largest uint32 // as bits, which have the order of magnitudes; NaN is above infinity
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

// roundingUnit returns the unit of numbers of which the largest magnitude has the given bits, and
// the number by whose addition they are rounded to it: 1.5·2^23 units.
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
