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

	Elements = iota // number of types
)

var elements = [Elements]struct {
	name     string
	size     int  // bytes
	isFloat  bool // queries, outputs and biases may have it, too, not keys and values alone
	isScaled bool // the elements are multiplied by scales
}{
	Float32:    {name: "float32", size: 4, isFloat: true},
	Float16:    {name: "float16", size: 2, isFloat: true},
	BFloat16:   {name: "bfloat16", size: 2, isFloat: true},
	Int8:       {name: "int8", size: 1, isScaled: true},
	Float8E4M3: {name: "float8_e4m3", size: 1},
	Float8E5M2: {name: "float8_e5m2", size: 1},
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

// Size returns the number of bytes of an element of a known type.
func (e Element) Size() int { return elements[e].size }

// IsFloat tells whether queries, outputs and biases may have the type. Others are for keys and values.
func (e Element) IsFloat() bool { return e.IsKnown() && elements[e].isFloat }

// IsScaled tells whether elements have scales.
func (e Element) IsScaled() bool { return e.IsKnown() && elements[e].isScaled }
