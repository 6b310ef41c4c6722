// Package rows allocates, copies and converts rows of tensors.
package rows

import (
	"math"
	"sync"
	"unsafe"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
)

// MaxConvert is the most elements that one call of a converter should convert: about
// 30 µs if they come from memory. Assembly cannot be preempted.
const MaxConvert = 128 << 10

// Widen writes n rows of head h of batch row b of x, from row l on, to dst as float32,
// one after the other. It gathers rows from pages.
func Widen(t *tier.Tier, dst []float32, x *view.Tensor, b, h, l, n int) {
	widen(t, dst, x, b, h, l, n, x.Scales() != nil)
}

// one is the scale of integers without scales.
var one = []float32{1}

// WidenCodes is Widen for the integers of an Int8 or Int4 tensor without their scales.
func WidenCodes(t *tier.Tier, dst []float32, x *view.Tensor, b, h, l, n int) {
	widen(t, dst, x, b, h, l, n, false)
}

// WidenBFloat16 is Widen for products in bfloat16, which take rounded numbers.
func WidenBFloat16(t *tier.Tier, dst []float32, x *view.Tensor, b, h, l, n int) {
	d := x.Dim(3)
	for step := max(1, MaxConvert/d); n > 0; n, l = n-step, l+step {
		part := dst[:min(n, step)*d]
		dst = dst[len(part):]
		Widen(t, part, x, b, h, l, min(n, step))
		FactorsBF16(t, part, x.DType())
	}
}

// FactorsBF16 rounds widened numbers of a type, at most MaxConvert, as products in bfloat16 take
// them.
func FactorsBF16(t *tier.Tier, x []float32, was view.DType) {
	switch {
	case was == view.BFloat16:
		t.Convert().Flush(x, len(x), x, len(x), 1, len(x), scalar.LeastBF16)
	case was.Size() > 1: // no number of 8 bits is rounded
		t.Convert().RoundBF16(x, x)
	}
}

// NarrowsFactors tells whether NarrowFactors takes rows of x.
func NarrowsFactors(x *view.Tensor) bool {
	return x.DType() == view.Float32 || x.DType() == view.BFloat16
}

// HasFactors tells whether a tier has a kernel for factors in bfloat16, which copies short rows
// faster than Copy does.
func HasFactors(t *tier.Tier) bool { return t.Unit().GemmTiles != nil }

// NarrowFactors writes n rows of x, a stride apart from index at on, to rows of dst ldd apart, as
// products in bfloat16 take them. They are followed by zeros there, up to whole segments.
func NarrowFactors(t *tier.Tier, dst []uint16, ldd int, x *view.Tensor, at, stride, n int) {
	d := x.Dim(3)
	for most := max(1, MaxConvert/d); n > 0; n -= most {
		rows, columns := min(n, most), d
		end := at + (rows-1)*stride + d
		part := dst[:rows*ldd]
		if stride == d && ldd == d {
			rows, columns = 1, len(part)
		}
		for row := part; d < ldd && len(row) > 0; row = row[ldd:] {
			*(*[contract.BF16Segment]uint16)(row[ldd-contract.BF16Segment : ldd]) = [contract.BF16Segment]uint16{}
		}
		if x.DType() == view.Float32 {
			t.Convert().Narrow[view.BFloat16](view.BytesOf(part), 2*ldd, x.F32()[at:end], stride, rows, columns)
			t.Unit().Factors(part, ldd, part, ldd, rows, columns)
		} else {
			t.Unit().Factors(part, ldd, view.As[uint16](x.Bytes())[at:end], stride, rows, columns)
		}
		dst, at = dst[len(part):], at+most*stride
	}
}

func widen(t *tier.Tier, dst []float32, x *view.Tensor, b, h, l, n int, isScaled bool) {
	d := x.Dim(3)
	for stop := l + n; l < stop; l += n {
		n = x.Run(l, min(stop-l, max(1, MaxConvert/d)))
		from := source{at: x.Index(b, h, l), stride: x.Stride(2), scales: one, group: d}
		if isScaled {
			from.scales, from.scaleStride = x.RowScales(b, h, l, n)
			from.group = x.Group()
		}
		if !isScaled && from.stride == d { // one long row is faster than many, all the more if vectors do not divide them
			from.group = n * d
			from.widen(t, dst, x, 1, n*d)
		} else {
			from.widen(t, dst, x, n, d)
		}
		dst = dst[n*d:]
	}
}

// WidenLast writes the last columns of n rows, from row l on, to dst, one after the other. The rows
// lie at equal distances, and the columns have one scale if they have any.
func WidenLast(t *tier.Tier, dst []float32, x *view.Tensor, b, h, l, n, columns int) {
	from := source{at: x.Index(b, h, l) + x.Dim(3) - columns, stride: x.Stride(2), scales: one, group: columns}
	if x.Scales() != nil {
		from.scales, from.scaleStride = x.RowScales(b, h, l, n)
		from.scales = from.scales[x.Scales().Dim(3)-1:]
	}
	from.widen(t, dst, x, n, columns)
}

// A source is where rows of a tensor begin, and their scales.
type source struct {
	at, stride         int
	scales             []float32
	scaleStride, group int
}

// widen writes n rows of d elements of x to dst, one after the other.
func (s *source) widen(t *tier.Tier, dst []float32, x *view.Tensor, n, d int) {
	bytes, convert := x.DType().Bytes, t.Convert()
	at, end := s.at, s.at+(n-1)*s.stride+d // no change of page tables or starts during a call leads assembly beyond
	switch x.DType() {
	case view.Float32:
		Copy(dst, d, x.F32()[at:], s.stride, n, d)
	case view.Int8:
		convert.WidenInt8(dst, d, x.I8()[at:end], s.stride, s.scales, s.scaleStride, s.group, n, d)
	case view.Int4:
		convert.WidenInt4(dst, d, x.Bytes()[bytes(at):bytes(end)], bytes(s.stride), s.scales, s.scaleStride, s.group, n, d)
	default:
		convert.Widen[x.DType()](dst, d, x.Bytes()[bytes(at):bytes(end)], bytes(s.stride), n, d)
	}
}

// WidenRow writes d elements of a tensor that is neither Float32 nor scaled, from index at on, to
// dst.
func WidenRow(t *tier.Tier, dst []float32, x *view.Tensor, at, d int) {
	size := x.DType().Size()
	t.Convert().Widen[x.DType()](dst, d, x.Bytes()[at*size:(at+d)*size], 0, 1, d)
}

// Store writes a row to a tensor that is not scaled, from index at on.
func Store(t *tier.Tier, x *view.Tensor, at int, row []float32) {
	if x.DType() == view.Float32 {
		copy(x.F32()[at:], row)
		return
	}
	t.Convert().Narrow[x.DType()](x.Bytes()[at*x.DType().Size():], 0, row, 0, 1, len(row))
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

// Start makes row the begin of a sum: zeros, or what it holds plus +0, which is the first summand
// and the only one where nothing else is added.
func Start(row []float32, accumulate bool) {
	if !accumulate {
		clear(row)
		return
	}
	for i, x := range row {
		row[i] = scalar.Canonical(x + 0)
	}
}

// A constant is a slice of one number, which calls share and nobody writes. It is kept for as many
// elements as rows have; longer ones are made by each call.
type constant struct {
	number float32
	mu     sync.Mutex
	made   []float32
}

var ones, negativeZeros = constant{number: 1}, constant{number: float32(math.Copysign(0, -1))}

// Ones returns n ones, which must not be written: a weight that changes nothing.
func Ones(n int) []float32 { return ones.of(n) }

// NegativeZeros returns n times -0, which must not be written: x + -0 is x, also for x = -0.
func NegativeZeros(n int) []float32 { return negativeZeros.of(n) }

// mostKept is how many elements are kept, in 4 MiB: more than rows have.
const mostKept = 1 << 20

func (c *constant) of(n int) []float32 {
	if n > mostKept {
		return filled(n, c.number)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.made) < n {
		c.made = filled(n, c.number)
	}
	return c.made[:n:n]
}

// filled returns n times a number.
func filled(n int, number float32) []float32 {
	x := make([]float32, n)
	Fill(x, number)
	return x
}

// Fill sets all elements of a row to a number.
func Fill(row []float32, number float32) {
	for i := range row {
		row[i] = number
	}
}

// Canonize sets every NaN of a row to scalar.NaN.
func Canonize(row []float32) {
	for i, x := range row {
		if x != x {
			row[i] = scalar.NaN
		}
	}
}
