// Package rows allocates, copies and converts rows of tensors.
package rows

import (
	"unsafe"

	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// MaxConvert is the most elements that one call of a converter should convert: about
// 30 µs if they come from memory. Assembly cannot be preempted.
const MaxConvert = 128 << 10

// WidenHalves returns the converter from Float16 or BFloat16 to float32.
func WidenHalves(t *ukernel.Tier, from view.DType) func(dst []float32, ldd int, src []uint16, lds, n, d int) {
	if from == view.BFloat16 {
		return t.Convert.WidenBF16
	}
	return t.Convert.WidenF16
}

// NarrowHalves returns the converter from float32 to Float16 or BFloat16.
func NarrowHalves(t *ukernel.Tier, to view.DType) func(dst []uint16, ldd int, src []float32, lds, n, d int) {
	if to == view.BFloat16 {
		return t.Convert.NarrowBF16
	}
	return t.Convert.NarrowF16
}

// Copy copies n rows of d elements, lds apart, to rows ldd apart.
func Copy[E any](dst []E, ldd int, src []E, lds, n, d int) {
	if ldd == d && lds == d {
		copy(dst[:n*d], src)
		return
	}
	for r := range n {
		copy(dst[r*ldd:][:d], src[r*lds:])
	}
}

// Aligned returns n floats that start on a cache line, so that no vector of a tile is
// split over two.
func Aligned(n int) []float32 {
	const line = 64
	s := make([]float32, n+line/4)
	skip := int(-uintptr(unsafe.Pointer(&s[0]))%line) / 4
	return s[skip : skip+n : skip+n]
}
