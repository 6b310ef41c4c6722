// Package littleendian turns numbers as files have them, little-endian, into numbers of this
// machine.
package littleendian

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"unsafe"
)

// A Number is a number without pointers that files have.
type Number interface {
	~uint8 | ~uint16 | ~int16 | ~uint32 | ~int32 | ~float32 | ~uint64 | ~int64 | ~float64
}

// native tells whether this machine has the byte order of files.
var native = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Copy writes the numbers of raw to dst, and panics unless it has as many.
func Copy[E Number](dst []E, raw []byte) {
	to := bytesOf(dst)
	if len(raw) != len(to) {
		panic(fmt.Sprintf("littleendian: %d bytes for %d numbers", len(raw), len(dst)))
	}
	copy(to, raw)
	order(to, int(unsafe.Sizeof(*new(E))))
}

// bytesOf returns the memory of numbers.
func bytesOf[E Number](x []E) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(E))))
}

// order puts the bytes of numbers of so many bytes in the order of this machine.
func order(raw []byte, size int) {
	for i := 0; !native && i < len(raw); i += size {
		slices.Reverse(raw[i : i+size])
	}
}

// Append appends the numbers of raw to x, and panics unless it has whole ones.
func Append[E Number](x []E, raw []byte) []E {
	n := len(raw) / int(unsafe.Sizeof(*new(E)))
	x = slices.Grow(x, n)[:len(x)+n]
	Copy(x[len(x)-n:], raw)
	return x
}

// Read reads as many numbers from a byte of r on as dst has. The error comes from r.
func Read[E Number](dst []E, r io.ReaderAt, at int64) error {
	raw := bytesOf(dst)
	if n, err := r.ReadAt(raw, at); n < len(raw) {
		return err
	}
	order(raw, int(unsafe.Sizeof(*new(E))))
	return nil
}

// View returns the numbers of raw as they lie there, without a copy. It returns false if there are
// none, if this machine has another order of bytes, or if raw begins between two numbers.
func View[E Number](raw []byte) ([]E, bool) {
	size := int(unsafe.Sizeof(*new(E)))
	at := unsafe.Pointer(unsafe.SliceData(raw))
	if !native || len(raw) == 0 || uintptr(at)%uintptr(size) != 0 {
		return nil, false
	}
	return unsafe.Slice((*E)(at), len(raw)/size), true
}
