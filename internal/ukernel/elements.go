package ukernel

// An Element is a type of the elements of tensors: a kernel.DType. What is known of a type is its
// row of elements, its conversions in [Converters], and the skinny kernels that widen it in
// registers.
type Element uint8

const (
	Float32    Element = iota // IEEE-754 binary32
	Float16                   // IEEE-754 binary16
	BFloat16                  // the upper half of a binary32
	Int8                      // integers with scales
	Float8E4M3                // 8 bits, of which 3 are fraction
	Float8E5M2                // the upper half of a binary16
	Int4                      // integers with scales, two of them in a byte, the first in its low half

	Elements = iota // number of types
)

var elements = [Elements]struct {
	name     string
	bits     int
	isFloat  bool // queries, outputs and biases may have it, too, not keys and values alone
	isScaled bool // the elements are multiplied by scales
}{
	Float32:    {name: "float32", bits: 32, isFloat: true},
	Float16:    {name: "float16", bits: 16, isFloat: true},
	BFloat16:   {name: "bfloat16", bits: 16, isFloat: true},
	Int8:       {name: "int8", bits: 8, isScaled: true},
	Float8E4M3: {name: "float8_e4m3", bits: 8},
	Float8E5M2: {name: "float8_e5m2", bits: 8},
	Int4:       {name: "int4", bits: 4, isScaled: true},
}

// IsKnown tells whether there is such a type.
func (e Element) IsKnown() bool { return int(e) < Elements }

// String returns the name: "float32".
func (e Element) String() string {
	if !e.IsKnown() {
		return "unknown"
	}
	return elements[e].name
}

// Size returns the number of bytes of an element of a known type. It is 0 for types of part of a
// byte.
func (e Element) Size() int { return elements[e].bits / 8 }

// Bytes returns the number of bytes of n elements of a known type. They are whole bytes.
func (e Element) Bytes(n int) int {
	if b := elements[e].bits; b < 8 {
		return n / (8 / b)
	}
	return n * (elements[e].bits / 8)
}

// PerByte returns the number of elements that share a byte, 1 if an element takes whole bytes.
func (e Element) PerByte() int {
	if !e.IsKnown() {
		return 1
	}
	return max(1, 8/elements[e].bits)
}

// IsFloat tells whether queries, outputs and biases may have the type. Others are for keys and
// values.
func (e Element) IsFloat() bool { return e.IsKnown() && elements[e].isFloat }

// IsScaled tells whether elements have scales.
func (e Element) IsScaled() bool { return e.IsKnown() && elements[e].isScaled }

// WidenRows converts n rows of d elements of a narrow type to float32, which is exact, row r from
// src[r·lds:] to dst[r·ldd:]. src are the elements' bytes as they lie in memory, in the order of
// the machine, and lds counts bytes.
type WidenRows func(dst []float32, ldd int, src []byte, lds, n, d int)

// NarrowRows rounds n rows of d numbers to a narrow type. dst are bytes as in WidenRows, and ldd
// counts them.
type NarrowRows func(dst []byte, ldd int, src []float32, lds, n, d int)

// Converters convert n rows of d elements from one type to another, row r from
// src[r·lds:] to dst[r·ldd:].
type Converters struct {
	// Widen are the conversions to float32 by type. Float32 and types with scales have none.
	Widen [Elements]WidenRows

	// Narrow are the conversions from float32 by type, of the same types. They round to the
	// nearest number, ties to even. Beyond the largest, Float16 and BFloat16 become infinite,
	// Float8E4M3 and Float8E5M2 stay the largest. Every NaN becomes 0x7e00, 0x7fc0, 0x7f or 0x7e.
	Narrow [Elements]NarrowRows

	// WidenInt8 converts scaled integers; group neighbours share a scale,
	// 1 ≤ group ≤ d:
	//
	//	dst[r·ldd+x] = float32(src[r·lds+x])·scales[r·lsc+x/group]
	WidenInt8 func(dst []float32, ldd int, src []int8, lds int, scales []float32, lsc, group, n, d int)

	// QuantizeInt8 makes scaled integers of finite numbers. group neighbours of a row share a
	// scale, and group divides d. With m the largest magnitude of a group,
	//
	//	scales[r·lsc+g] = m/127, m at most contract.MostInt8, or 0 if m is below contract.LeastInt8
	//	dst[r·ldd+x]    = src[r·lds+x]/scale, rounded to an integer, ties to even
	//
	// where both quotients are rounded, and dst is 0 if the scale is. At a number that is not
	// finite it returns false, and has written neither the number's group nor those after it.
	QuantizeInt8 func(dst []int8, ldd int, scales []float32, lsc int, src []float32, lds, group, n, d int) bool

	// WidenInt4 is WidenInt8 for integers of 4 bits, two in a byte, the first in its low half. lds
	// counts bytes; d and group are even.
	WidenInt4 func(dst []float32, ldd int, src []byte, lds int, scales []float32, lsc, group, n, d int)

	// UnpackInt4 makes int8 of n rows of d integers of 4 bits, as WidenInt4 takes them; lds counts
	// bytes.
	UnpackInt4 func(dst []int8, ldd int, src []byte, lds, n, d int)

	// QuantizeInt4 is QuantizeInt8 for integers of 4 bits, as WidenInt4 takes them; ldd counts
	// bytes. With m the number of largest magnitude in a group, and the positive one if two have
	// it,
	//
	//	scales[r·lsc+g] = m/-8 + (+0), or 0 if m is below contract.LeastInt4 in magnitude
	//	dst[r·ldd+x]    = src[r·lds+x]/scale, rounded to an integer, ties to even, from -8 to 7
	QuantizeInt4 func(dst []byte, ldd int, scales []float32, lsc int, src []float32, lds, group, n, d int) bool

	// PairColumns and PairRows make pairs of 16 bits of n ≥ 1 rows of d integers, side by side, the
	// first in the low half of a word. d is a multiple of SkinnyGroup. A last row without a second
	// is its own second.
	//
	//	dst[r·d/2+x/2] has columns x and x+1, for an even x
	//	dst[r/2·d+x]   has rows r and r+1, for an even r
	PairColumns, PairRows func(dst []int32, src []int8, lds, n, d int)

	// Flush copies n rows of d numbers, of which those whose magnitude is below least
	// become +0. A NaN stays. dst may be src.
	Flush func(dst []float32, ldd int, src []float32, lds, n, d int, least float32)

	// RoundBF16 makes factors of products in bfloat16: dst[i] = bf(src[i]) of the contract, as
	// float32. dst may be src.
	RoundBF16 func(dst, src []float32)

	// WidenPairs widens n rows of d pairs of bfloat16 to float32: the low halves of words to rows
	// of even, and the high halves to rows of odd.
	//
	//	even[r·ldd+x], odd[r·ldd+x] = both halves of src[r·lds+x]
	WidenPairs func(even, odd []float32, ldd int, src []uint32, lds, n, d int)

	// NarrowPairs makes n rows of d pairs of factors: the upper halves of even's numbers, which are
	// bfloat16, become the lower halves of words, and the upper halves of odd's numbers the upper
	// ones.
	//
	//	dst[r·ldd+x] = even[r·lds+x]>>16 | odd[r·lds+x]&0xffff0000, as bits
	NarrowPairs func(dst []uint32, ldd int, even, odd []float32, lds, n, d int)

	// PackHalves is WeightKernels.Pack for numbers of 16 bits.
	PackHalves func(dst []uint16, ld int, src []uint16, lds, n, d int)

	// Gather copies len(off) rows of size ≥ 1 bytes to dst, one after the other, row r from
	// src[off[r]:], where dst is not. The bytes from src[next[r]:] on, which are needed soon, are
	// prefetched. There are as many next as off.
	Gather func(dst, src []byte, off []int, size int, next []int)

	// Finite tells whether all of src is finite.
	Finite func(src []float32) bool
}
