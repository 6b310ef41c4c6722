// Package littleendian turns numbers as files have them, little-endian, into numbers of this machine.
package littleendian

import (
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"

	"github.com/attn-go/attn/kernel"
)

// A Number is a number without pointers that files have.
type Number interface {
	~uint16 | ~int16 | ~uint32 | ~int32 | ~float32 | ~uint64 | ~int64 | ~float64
}

// native tells whether numbers of files lie as those of this machine.
var native = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Copy writes the numbers of raw to dst, and panics unless it has as many.
func Copy[E Number](dst []E, raw []byte) {
	size := int(unsafe.Sizeof(*new(E)))
	check(len(raw), len(dst), size)
	to := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(dst))), len(raw))
	copy(to, raw)
	for i := 0; !native && i < len(to); i += size {
		slices.Reverse(to[i : i+size])
	}
}

// check panics unless so many bytes are so many numbers.
func check(bytes, numbers, size int) {
	if bytes != numbers*size {
		panic(fmt.Sprintf("littleendian: %d bytes for %d numbers of %d bytes", bytes, numbers, size))
	}
}

// Append appends the numbers of raw to x, and panics unless it has whole ones.
func Append[E Number](x []E, raw []byte) []E {
	n := len(raw) / int(unsafe.Sizeof(*new(E)))
	x = slices.Grow(x, n)[:len(x)+n]
	Copy(x[len(x)-n:], raw)
	return x
}

// Size returns the bytes of a number of a type that [Widen] takes.
func Size(dtype kernel.DType) int {
	if dtype == kernel.Float32 {
		return 4
	}
	return 2
}

// Widen writes the numbers of raw, which have a type, to dst as float32, which is exact. It panics unless raw has as many, and if
// the type is another one than kernel.Float32, kernel.Float16 and kernel.BFloat16.
func Widen(dst []float32, raw []byte, dtype kernel.DType) {
	check(len(raw), len(dst), Size(dtype))
	switch dtype {
	case kernel.Float32:
		Copy(dst, raw)
	case kernel.Float16:
		for i := range dst {
			dst[i] = kernel.F16(binary.LittleEndian.Uint16(raw[2*i:])).Float32()
		}
	case kernel.BFloat16:
		for i := range dst {
			dst[i] = kernel.BF16(binary.LittleEndian.Uint16(raw[2*i:])).Float32()
		}
	default:
		panic(fmt.Sprintf("littleendian: numbers of type %v", dtype))
	}
}

// View returns the numbers of raw as they lie there, without a copy. It returns false if there are none, if this machine has another order
// of bytes, or if raw begins between two numbers.
func View[E Number](raw []byte) ([]E, bool) {
	size := int(unsafe.Sizeof(*new(E)))
	at := unsafe.Pointer(unsafe.SliceData(raw))
	if !native || len(raw) == 0 || uintptr(at)%uintptr(size) != 0 {
		return nil, false
	}
	return unsafe.Slice((*E)(at), len(raw)/size), true
}
