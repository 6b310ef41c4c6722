package fallback

import (
	"math"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/quantized"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/ukernel"
)

// quantizeRow is WeightKernels.Quantize, block by block.
func quantizeRow(dst []uint32, src []float32) {
	for ; len(src) > 0; dst, src = dst[ukernel.RowWords:], src[contract.WeightBlock:] {
		quantizeBlock((*[ukernel.RowWords]uint32)(dst), (*[contract.WeightBlock]float32)(src))
	}
}

func quantizeBlock(dst *[ukernel.RowWords]uint32, src *[contract.WeightBlock]float32) {
	m := largest(src[:])
	*dst = [ukernel.RowWords]uint32{}
	switch {
	case m >= infBits:
		dst[8], dst[9] = contract.Canonical, contract.Canonical
		return
	case m < contract.LeastOfBlock:
		return
	}
	a := math.Float32frombits(m)
	d, inverse := float32(a*math.Float32frombits(contract.PerCode)), contract.MostCode/a
	var sums [2]int32 // of the groups
	for i, x := range src {
		q := roundToInt(float32(x * inverse))
		sums[i/16] += q
		dst[i%8] |= uint32(uint8(q)) << (i / 8 * 8)
	}
	sum := sums[0] + sums[1]
	dst[8], dst[9] = math.Float32bits(d), math.Float32bits(float32(d*float32(sum)))
	dst[10], dst[11] = uint32(-sum), uint32(uint16(-sums[0]))|uint32(-sums[1])<<16
}

// roundToInt rounds a number of magnitude below 2^22, ties to even.
func roundToInt(x float32) int32 {
	return int32(math.Float32bits(x+math.Float32frombits(contract.RoundMagic)) - contract.RoundMagic)
}

// gemmInt8 goes through the blocks, and takes the lanes of a block one by one: their numbers are
// unpacked once for all rows.
func gemmInt8(f ukernel.PackedFormat, c []float32, ldc int, x []uint32, ldx int, b []byte, lanes, m, k int, load bool) {
	if m == 0 {
		return
	}
	for i := range m {
		if !load {
			clear(window(c, i*ldc, lanes))
		}
	}
	offset, grouped, bfloat16 := int32(f.Offset()), f.Grouped(), f.BFloat16Scales()
	for block := range k / contract.WeightBlock {
		b, x := quantized.BlockAt(f, lanes, b, block), x[block*ukernel.RowWords:]
		for lane := range lanes {
			if f.Float32Scales() {
				gemmTwoScales(c[lane:], ldc, x, ldx, &b, lane, m)
				continue
			}
			words := b.Values(lane)
			dw, min := b.Scale(lane)
			var s, t [2]int32
			if grouped {
				s, t = b.Integers(lane)
			}
			for i := range m {
				row := (*[ukernel.RowWords]uint32)(x[i*ldx:])
				d, acc := math.Float32frombits(row[8]), &c[i*ldc+lane]
				if grouped {
					sum, minima := groupSums(offset, row, &words, s, t)
					*acc = scalar.FMA(float32(sum), float32(d*dw), *acc)
					if offset == 0 {
						*acc = scalar.FMA(float32(-minima), float32(d*min), *acc)
					}
					continue
				}
				sum := int32(0)
				if !bfloat16 {
					sum = int32(row[10]) * offset
				}
				for g, w := range words {
					sum += dot4(w, row[g])
				}
				*acc = scalar.FMA(float32(sum), float32(d*dw), *acc)
				if bfloat16 {
					*acc = scalar.FMA(float32(int32(row[10])<<bfloat16Shift), float32(d*dw), *acc)
				}
				if offset == 0 {
					*acc = scalar.FMA(min, math.Float32frombits(row[9]), *acc)
				}
			}
		}
	}
}

// gemmTwoScales is gemmInt8 for a lane of a block with scales of float32.
func gemmTwoScales(c []float32, ldc int, x []uint32, ldx int, b *quantized.Block, lane, m int) {
	words := b.Words(lane)
	scales, _ := b.Scales(lane)
	for i := range m {
		row := (*[ukernel.RowWords]uint32)(x[i*ldx:])
		var t float32
		for half := 1; half >= 0; half-- {
			s := [2]int32{}
			s[half] = 1
			sum, _ := groupSums(int32(b.Format.Offset()), row, &words, s, [2]int32{})
			t = scalar.FMA(float32(sum), scales[half], t)
		}
		c[i*ldc] = scalar.FMA(t, math.Float32frombits(row[8]), c[i*ldc])
	}
}

// groupSums returns the sums of a block of a grouped format: the sums of the products, times s, and
// the sums of the codes, times t.
func groupSums(offset int32, row *[ukernel.RowWords]uint32, words *[8]uint32, s, t [2]int32) (sum, minima int32) {
	const ones = 0x01010101
	for i := range s {
		var products, codes int32 // of bytes 0 and 1, or 2 and 3
		for g, w := range words {
			const half = 0xffff
			q := row[g] & (half << (16 * i))
			products += dot4(w, q)
			codes += dot4(ones, q)
		}
		sum += s[i] * (products - offset*codes)
		minima += t[i] * codes
	}
	return sum, minima
}

// bfloat16Shift: the offset of formats with bfloat16 scales is 2^bfloat16Shift.
const bfloat16Shift = 4

// dot4 is the sum of the products of four bytes: w's are unsigned, q's are signed.
func dot4(w, q uint32) int32 {
	return int32(w&255)*int32(int8(q)) + int32(w>>8&255)*int32(int8(q>>8)) +
		int32(w>>16&255)*int32(int8(q>>16)) + int32(w>>24)*int32(int8(q>>24))
}
