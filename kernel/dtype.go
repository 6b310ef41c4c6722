package kernel

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// DType is the element type of a Tensor.
type DType uint8

const (
	Float32  DType = iota // IEEE-754 binary32
	Float16               // IEEE-754 binary16
	BFloat16              // the upper half of a binary32

	// The others are for keys and values alone.
	Int8       // integers with scales, see Tensor.Scaled
	Float8E4M3 // 8 bits with 3 of fraction, see F8E4M3
	Float8E5M2 // 8 bits with 2 of fraction, see F8E5M2
	Int4       // integers of 4 bits with scales, see Int4x2
)

// String returns the type's name, such as "float32", or "unknown".
func (t DType) String() string { return view.DType(t).String() }

// Float is a floating-point type that the elements of queries and outputs may have, too.
type Float interface {
	float32 | F16 | BF16
}

// Element is a type that the elements of a Tensor may have. An Int4x2 is two of them.
type Element interface {
	Float | int8 | F8E4M3 | F8E5M2 | Int4x2
}

// F16 is an IEEE-754 binary16, as bits: 11 bits of precision, magnitudes from 2^-24
// to 65504. Package numeric converts to it.
type F16 uint16

// BF16 is a bfloat16, as bits: the upper half of a float32, with 8 bits of precision.
// Package numeric converts to it.
type BF16 uint16

// F8E4M3 is a float of 8 bits with 4 of exponent and 3 of fraction, as bits, of the [OCP] 8-bit
// Floating Point Specification, Revision 1.0: 4 bits of precision, magnitudes from 2^-9 to 448, a
// NaN, 0x7f and 0xff, and no infinity. PyTorch calls it float8_e4m3fn. Package numeric converts to
// it.
//
// Keys and values of 8 bits have no scales of their own. If keys were divided by a number before
// they were rounded, Options.Scale is multiplied by it; for values the output is.
//
// [OCP]: https://www.opencompute.org/documents/ocp-8-bit-floating-point-specification-ofp8-revision-1-0-2023-12-01-pdf-1
type F8E4M3 uint8

// F8E5M2 is the other float of 8 bits of that specification, with 5 of exponent and 2 of fraction:
// the upper half of an [F16], magnitudes from 2^-16 to 57344, infinity and NaN. For the rest see
// [F8E4M3].
type F8E5M2 uint8

// Int4x2 is two neighbouring elements of 4 bits, integers from -8 to 7 in two's complement, the
// first in the low half of the byte, as ONNX's INT4 has them. A [Tensor] of them counts numbers, in
// its shape and in its strides: a row of D numbers takes D/2 bytes. So D and all strides are even,
// and so is the number of elements that share a scale, see [Tensor.Scaled]. [numeric.QuantizeInt4]
// makes them.
//
// [numeric.QuantizeInt4]: https://pkg.go.dev/github.com/attn-go/attn/numeric#QuantizeInt4
type Int4x2 uint8

// Numbers returns the two integers, -8 to 7, in the order of a row.
func (x Int4x2) Numbers() (first, second int8) { return int8(x<<4) >> 4, int8(x) >> 4 }

// Float32 returns the same number as a float32. A NaN stays a NaN.
func (x F16) Float32() float32 { return scalar.F16(uint16(x)) }

// Float32 returns the same number as a float32. A NaN stays a NaN.
func (x BF16) Float32() float32 { return scalar.BF16(uint16(x)) }

// Float32 returns the same number as a float32. A NaN stays a NaN.
func (x F8E4M3) Float32() float32 { return scalar.F8E4M3(uint8(x)) }

// Float32 returns the same number as a float32. A NaN stays a NaN.
func (x F8E5M2) Float32() float32 { return scalar.F8E5M2(uint8(x)) }

// viewOf returns the view of data by its type.
func viewOf[E Element](data []E, shape [4]int, strides [3]int) view.Tensor {
	switch data := any(data).(type) {
	case []float32:
		return view.Floats(data, shape, strides)
	case []F16:
		return view.Other(view.Float16, data, shape, strides)
	case []BF16:
		return view.Other(view.BFloat16, data, shape, strides)
	case []int8:
		return view.Other(view.Int8, data, shape, strides)
	case []F8E4M3:
		return view.Other(ukernel.Float8E4M3, data, shape, strides)
	case []F8E5M2:
		return view.Other(ukernel.Float8E5M2, data, shape, strides)
	case []Int4x2:
		return view.Other(view.Int4, data, shape, strides)
	}
	panic("attn: unknown element type") // Element allows no other
}

// FromBits returns the numbers that bits stand for, in the same memory: a view for programs
// that keep half floats as integers, as in
//
//	k := kernel.BLHD(kernel.FromBits[kernel.F16](cache), b, l, h, d)
func FromBits[E F16 | BF16](bits []uint16) []E {
	return unsafe.Slice((*E)(unsafe.Pointer(unsafe.SliceData(bits))), len(bits))
}

// FromBytes returns the numbers that data holds, little-endian, in the same memory: a view for
// files that a program has mapped or read, such as safetensors and GGUF. It is valid as long
// as data is, and memory that is mapped for reading must not be written to.
//
// The error is an [*Error] if the size of E does not divide the number of bytes or
// the address of the first one, or if this machine is big-endian and E has more than a byte.
// No bytes are no numbers, on every machine.
func FromBytes[E Element](data []byte) ([]E, error) {
	size := int(unsafe.Sizeof(*new(E)))
	p := unsafe.SliceData(data)
	switch {
	case len(data)%size != 0:
		return nil, bytesError(size, "%d bytes", len(data))
	case len(data) == 0:
		return nil, nil // wherever it begins
	case uintptr(unsafe.Pointer(p))%uintptr(size) != 0:
		return nil, bytesError(size, "an address of %d more than a multiple of %d", uintptr(unsafe.Pointer(p))%uintptr(size), size)
	case size > 1 && !littleEndian:
		return nil, bytesError(size, "a big-endian machine")
	}
	return unsafe.Slice((*E)(unsafe.Pointer(p)), len(data)/size), nil
}

func bytesError(size int, got string, args ...any) error {
	want := fmt.Sprintf("whole numbers of %d bytes at a multiple of that, on a little-endian machine", size)
	return &Error{Where: "kernel.FromBytes: data", Got: fmt.Sprintf(got, args...), Want: want}
}

// littleEndian says whether numbers lie in memory as they do in files.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1
