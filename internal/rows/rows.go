// Package rows allocates, copies and converts rows of tensors.
package rows

import (
	"unsafe"

	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
)

// MaxConvert is the most elements that one call of a converter should convert: about
// 30 µs if they come from memory. Assembly cannot be preempted.
const MaxConvert = 128 << 10

// Widen writes n rows of head h of batch row b of x, from row l on, to dst as float32,
// one after the other. It gathers rows from pages.
func Widen(t *tier.Tier, dst []float32, x *view.Tensor, b, h, l, n int) {
	d := x.Dim(3)
	for stop := l + n; l < stop; l += n {
		n = x.Run(l, min(stop-l, max(1, MaxConvert/d)))
		at := x.Index(b, h, l)
		switch x.DType() {
		case view.Float32:
			Copy(dst, d, x.F32()[at:], x.Stride(2), n, d)
		case view.Int8:
			scales, stride := x.RowScales(b, h, l, n)
			t.Convert().WidenInt8(dst, d, x.I8()[at:end(at, n, x)], x.Stride(2), scales, stride, x.Group(), n, d)
		case view.Float16, view.BFloat16:
			WidenHalves(t, x.DType())(dst, d, x.U16()[at:end(at, n, x)], x.Stride(2), n, d)
		default:
			panic("attn: unknown element type")
		}
		dst = dst[n*d:]
	}
}

// end returns the index after n ≥ 1 rows of x that start at at. Slices that go to
// assembly end there, so that page tables or starts that change during a call cannot
// lead it out of the caller's slice.
func end(at, n int, x *view.Tensor) int { return at + (n-1)*x.Stride(2) + x.Dim(3) }

// WidenRow writes d elements of a Float16 or BFloat16 tensor, from index at on, to dst.
func WidenRow(t *tier.Tier, dst []float32, x *view.Tensor, at, d int) {
	WidenHalves(t, x.DType())(dst, d, x.U16()[at:at+d], 0, 1, d)
}

// Store writes a row to a tensor that is not Int8, from index at on.
func Store(t *tier.Tier, x *view.Tensor, at int, row []float32) {
	if x.DType() == view.Float32 {
		copy(x.F32()[at:], row)
		return
	}
	NarrowHalves(t, x.DType())(x.U16()[at:], 0, row, 0, 1, len(row))
}

// WidenHalves returns the converter from Float16 or BFloat16 to float32.
func WidenHalves(t *tier.Tier, from view.DType) func(dst []float32, ldd int, src []uint16, lds, n, d int) {
	if from == view.BFloat16 {
		return t.Convert().WidenBF16
	}
	return t.Convert().WidenF16
}

// NarrowHalves returns the converter from float32 to Float16 or BFloat16.
func NarrowHalves(t *tier.Tier, to view.DType) func(dst []uint16, ldd int, src []float32, lds, n, d int) {
	if to == view.BFloat16 {
		return t.Convert().NarrowBF16
	}
	return t.Convert().NarrowF16
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
