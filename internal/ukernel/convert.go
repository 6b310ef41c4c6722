package ukernel

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

	// QuantizeInt8 makes scaled integers of finite numbers. group neighbours of a row share a
	// scale, and group divides d. With m the largest magnitude of a group,
	//
	//	scales[r·lsc+g] = m/127
	//	dst[r·ldd+x]    = src[r·lds+x]/scale, rounded to an integer, ties to even, at most ±127
	//
	// where both quotients are rounded, and dst is 0 if the scale is. At a number that is not
	// finite it returns false, and has written neither the number's group nor those after it.
	QuantizeInt8 func(dst []int8, ldd int, scales []float32, lsc int, src []float32, lds, group, n, d int) bool

	// Finite tells whether all of src is finite.
	Finite func(src []float32) bool
}
