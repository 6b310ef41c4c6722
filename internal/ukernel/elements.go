package ukernel

// An Element is a type of the elements of tensors: a kernel.DType. What is known of a type is its row
// of elements, its conversions in [Converters], and the skinny kernels that widen it in registers.
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

// Size returns the number of bytes of an element of a known type that takes whole bytes, and else 0.
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

// IsFloat tells whether queries, outputs and biases may have the type. Others are for keys and values.
func (e Element) IsFloat() bool { return e.IsKnown() && elements[e].isFloat }

// IsScaled tells whether elements have scales.
func (e Element) IsScaled() bool { return e.IsKnown() && elements[e].isScaled }
