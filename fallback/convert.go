package fallback

import (
	"encoding/binary"
	"math"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/ukernel"
)

// flush is Converters.Flush.
func flush(dst []float32, ldd int, src []float32, lds, n, d int, least float32) {
	for r := range n {
		to := window(dst, r*ldd, d)
		for x, y := range window(src, r*lds, d) {
			to[x] = scalar.Flush(y, least)
		}
	}
}

// factors is Unit.Factors.
func factors(dst []uint16, ldd int, src []uint16, lds, n, d int) {
	for r := range n {
		to := window(dst, r*ldd, d)
		for x, h := range window(src, r*lds, d) {
			if h&0x7fff < contract.LeastBF16>>16 {
				h = 0
			}
			to[x] = h
		}
	}
}

// roundBF16 is Converters.RoundBF16.
func roundBF16(dst, src []float32) {
	for i, x := range src {
		dst[i] = scalar.RoundBF16(x)
	}
}

// widenPairs is Converters.WidenPairs.
func widenPairs(even, odd []float32, ldd int, src []uint32, lds, n, d int) {
	for r := range n {
		low, high := window(even, r*ldd, d), window(odd, r*ldd, d)
		for x, w := range window(src, r*lds, d) {
			low[x], high[x] = scalar.BF16(uint16(w)), scalar.BF16(uint16(w>>16))
		}
	}
}

// narrowPairs is Converters.NarrowPairs.
func narrowPairs(dst []uint32, ldd int, even, odd []float32, lds, n, d int) {
	for r := range n {
		low, high := window(even, r*lds, d), window(odd, r*lds, d)
		to := window(dst, r*ldd, d)
		for x := range to {
			to[x] = math.Float32bits(low[x])>>16 | math.Float32bits(high[x])&0xffff0000
		}
	}
}

// widenBytes returns the conversion of rows of 8-bit numbers, given the conversion of one number.
func widenBytes(number func(uint8) float32) ukernel.WidenRows {
	return func(dst []float32, ldd int, src []byte, lds, n, d int) {
		for r := range n {
			to := window(dst, r*ldd, d)
			for x, b := range window(src, r*lds, d) {
				to[x] = number(b)
			}
		}
	}
}

// narrowBytes returns the conversion of rows to 8-bit numbers, given the conversion of one number.
func narrowBytes(bits func(float32) uint8) ukernel.NarrowRows {
	return func(dst []byte, ldd int, src []float32, lds, n, d int) {
		for r := range n {
			to := window(dst, r*ldd, d)
			for x, y := range window(src, r*lds, d) {
				to[x] = bits(y)
			}
		}
	}
}

// widenWords is widenBytes for 16-bit numbers.
func widenWords(number func(uint16) float32) ukernel.WidenRows {
	return func(dst []float32, ldd int, src []byte, lds, n, d int) {
		for r := range n {
			to, from := window(dst, r*ldd, d), window(src, r*lds, 2*d)
			for x := range to {
				to[x] = number(binary.NativeEndian.Uint16(from[2*x:]))
			}
		}
	}
}

// narrowWords is narrowBytes for 16-bit numbers.
func narrowWords(bits func(float32) uint16) ukernel.NarrowRows {
	return func(dst []byte, ldd int, src []float32, lds, n, d int) {
		for r := range n {
			to := window(dst, r*ldd, 2*d)
			for x, y := range window(src, r*lds, d) {
				binary.NativeEndian.PutUint16(to[2*x:], bits(y))
			}
		}
	}
}

// widenInt4 is Converters.WidenInt4.
func widenInt4(dst []float32, ldd int, src []byte, lds int, scales []float32, lsc, group, n, d int) {
	for r := range n {
		to, from := window(dst, r*ldd, d), window(src, r*lds, d/2)
		for g, at := 0, 0; at < d; g, at = g+1, at+group {
			scale := scales[r*lsc+g]
			for x := at; x < min(at+group, d); x += 2 {
				b := from[x/2]
				to[x], to[x+1] = float32(float32(int8(b<<4)>>4)*scale), float32(float32(int8(b)>>4)*scale)
			}
		}
	}
}

// unpackInt4 is Converters.UnpackInt4.
func unpackInt4(dst []int8, ldd int, src []byte, lds, n, d int) {
	for r := range n {
		to := window(dst, r*ldd, d)
		for x, b := range window(src, r*lds, d/2) {
			to[2*x], to[2*x+1] = int8(b<<4)>>4, int8(b)>>4
		}
	}
}

// pairColumns is Converters.PairColumns.
func pairColumns(dst []int32, src []int8, lds, n, d int) {
	for r := range n {
		row := window(src, r*lds, d)
		for x := 0; x < d; x += 2 {
			dst[(r*d+x)/2] = pair(row[x], row[x+1])
		}
	}
}

// pairRows is Converters.PairRows.
func pairRows(dst []int32, src []int8, lds, n, d int) {
	for r := 0; r < n; r += 2 {
		second := window(src, min(r+1, n-1)*lds, d)
		for x, first := range window(src, r*lds, d) {
			dst[r/2*d+x] = pair(first, second[x])
		}
	}
}

func pair(low, high int8) int32 { return int32(low)&0xffff | int32(high)<<16 }

// widenInt8 is Converters.WidenInt8.
func widenInt8(dst []float32, ldd int, src []int8, lds int, scales []float32, lsc, group, n, d int) {
	for r := range n {
		to, from := window(dst, r*ldd, d), window(src, r*lds, d)
		for g, at := 0, 0; at < d; g, at = g+1, at+group {
			scale := scales[r*lsc+g]
			for x := at; x < min(at+group, d); x++ {
				to[x] = float32(float32(from[x]) * scale)
			}
		}
	}
}

func gather(dst, src []byte, off []int, size int, _ []int) {
	for r, at := range off {
		copy(dst[r*size:][:size], src[at:at+size])
	}
}
