package ukernel

import "github.com/attn-go/attn/fallback"

// Converters convert n rows of d elements from one type to another, row r from
// src[r·lds:] to dst[r·ldd:]. binary16 and bfloat16 are given as bits.
type Converters struct {
	// WidenF16 and WidenBF16 convert to float32, which is exact.
	WidenF16, WidenBF16 func(dst []float32, ldd int, src []uint16, lds, n, d int)

	// WidenInt8 converts scaled integers; group neighbours share a scale,
	// 1 ≤ group ≤ d:
	//
	//	dst[r·ldd+x] = float32(src[r·lds+x])·scales[r·lsc+x/group]
	WidenInt8 func(dst []float32, ldd int, src []int8, lds int, scales []float32, lsc, group, n, d int)

	// NarrowF16 and NarrowBF16 round to the nearest number, ties to even, and beyond
	// the largest to infinity. Every NaN becomes 0x7e00 or 0x7fc0.
	NarrowF16, NarrowBF16 func(dst []uint16, ldd int, src []float32, lds, n, d int)
}

// genericConverters define the results.
var genericConverters = Converters{
	WidenF16:   fallback.WidenF16,
	WidenBF16:  fallback.WidenBF16,
	WidenInt8:  fallback.WidenInt8,
	NarrowF16:  fallback.NarrowF16,
	NarrowBF16: fallback.NarrowBF16,
}
