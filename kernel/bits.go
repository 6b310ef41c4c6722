package kernel

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/attn-go/attn/internal/check"
)

// OfBits returns the numbers that bits stand for, in the same memory: a view for programs
// that keep half floats as integers, as in
//
//	k := kernel.BLHD(kernel.OfBits[kernel.F16](cache), b, l, h, d)
func OfBits[E F16 | BF16](bits []uint16) []E {
	return unsafe.Slice((*E)(unsafe.Pointer(unsafe.SliceData(bits))), len(bits))
}

// OfBytes returns the numbers that data holds, little-endian, in the same memory: a view for
// files that a program has mapped or read, such as safetensors and GGUF. It is valid as long
// as data is, and memory that is mapped for reading must not be written to.
//
// The error is an [*ArgumentError] if the size of E does not divide the number of bytes or
// the address of the first one, or if this machine is big-endian and E has more than a byte.
// No bytes are no numbers, on every machine.
func OfBytes[E Element](data []byte) ([]E, error) {
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
	return (*ArgumentError)(&check.Failure{Arg: "data", Got: fmt.Sprintf(got, args...), Want: want})
}

// littleEndian says whether numbers lie in memory as they do in files.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1
