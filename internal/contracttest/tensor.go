package contracttest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// Canary fills outputs, and the gaps in them, before a call.
const Canary = testutil.Canary

// NegInf is -Inf.
var NegInf = float32(math.Inf(-1))

// View returns t as what it is defined as, to look into it.
func View(t *kernel.Tensor) *view.Tensor { return (*view.Tensor)(t) }

// Floats returns the slice of a float32 tensor, gaps included.
func Floats(t kernel.Tensor) []float32 { return View(&t).F32() }

// IsSet distinguishes a tensor from the zero Tensor.
func IsSet(t kernel.Tensor) bool { return View(&t).IsSet() }

// Row returns row (b, h, l) of t: the memory of a float32 tensor, or a copy of its
// numbers as float32.
func Row(t *kernel.Tensor, b, h, l int) []float32 {
	v := View(t)
	if v.DType() == view.Float32 {
		return v.Row(b, h, l)
	}
	at, row := v.Index(b, h, l), make([]float32, v.Dim(3))
	for e := range row {
		switch v.DType() {
		case view.Float16:
			row[e] = kernel.F16(Bits(t, at+e)).Float32()
		case view.BFloat16:
			row[e] = kernel.BF16(Bits(t, at+e)).Float32()
		case view.Int8:
			scales, _ := v.RowScales(b, h, l, 1)
			row[e] = float32(int8(Bits(t, at+e))) * scales[e*v.Scales().Dim(3)/len(row)]
		case view.Int4:
			scales, _ := v.RowScales(b, h, l, 1)
			row[e] = float32(int8(Bits(t, at+e)<<4)>>4) * scales[e*v.Scales().Dim(3)/len(row)]
		case ukernel.Float8E4M3:
			row[e] = kernel.F8E4M3(Bits(t, at+e)).Float32()
		case ukernel.Float8E5M2:
			row[e] = kernel.F8E5M2(Bits(t, at+e)).Float32()
		default:
			panic("contracttest: unknown element type")
		}
	}
	return row
}

// EachRow calls f for every row of t that exists, as Row returns it.
func EachRow(t *kernel.Tensor, f func(b, h, l int, row []float32)) {
	v := View(t)
	for b := range v.Dim(0) {
		for h := range v.Dim(1) {
			for l := range v.Length(b) {
				f(b, h, l, Row(t, b, h, l))
			}
		}
	}
}

// Widened returns t in float32, by the definition of its type: t itself if it is of
// float32, else a copy with the same strides, or a contiguous one if t is paged or
// ragged. What is no row of t is NaN.
func Widened(t kernel.Tensor) kernel.Tensor {
	if !IsSet(t) || t.DType() == kernel.Float32 {
		return t
	}
	v, shape := View(&t), t.Shape()
	wide := kernel.Strided(testutil.Filled(v.Len(), testutil.NaN), shape, t.Strides())
	if v.IsPaged() || v.IsRagged() {
		n := shape[0] * shape[1] * shape[2] * shape[3]
		wide = kernel.BHLD(testutil.Filled(n, testutil.NaN), shape[0], shape[1], shape[2], shape[3])
	}
	EachRow(&t, func(b, h, l int, row []float32) { copy(Row(&wide, b, h, l), row) })
	return wide
}

// As converts a float32 tensor, neither paged nor ragged, with all of its memory, gaps included.
// Int8 and Int4 are not the nearest number but a number that keeps what is NaN or infinite, and
// Int4 lies in other places if its strides would be odd.
func As(t kernel.Tensor, dtype kernel.DType) kernel.Tensor {
	switch dtype {
	case kernel.Float32:
		return t
	case kernel.Float16:
		return rounded(t, numeric.ToF16)
	case kernel.BFloat16:
		return rounded(t, numeric.ToBF16)
	case kernel.Int8:
		return asInt8(t)
	case kernel.Int4:
		return asInt4(t)
	case kernel.Float8E4M3:
		return rounded(t, numeric.ToF8E4M3)
	case kernel.Float8E5M2:
		return rounded(t, numeric.ToF8E5M2)
	}
	panic("contracttest: unknown element type")
}

// rounded converts every element of a tensor's memory.
func rounded[E kernel.Element](t kernel.Tensor, round func(float32) E) kernel.Tensor {
	data := make([]E, len(Floats(t)))
	for i, x := range Floats(t) {
		data[i] = round(x)
	}
	return kernel.Strided(data, t.Shape(), t.Strides())
}

// asInt8 gives every row as many scales as divide it, with a gap behind them.
func asInt8(t kernel.Tensor) kernel.Tensor {
	shape := t.Shape()
	groups := 1
	for _, n := range []int{2, 3, 4} {
		if shape[3]%n == 0 {
			groups = n
		}
	}
	data := slices.Repeat([]int8{0x55}, len(Floats(t)))
	scales := quantized(&t, groups, 0x1.9p-6, func(b, h, l, e int, x float32) {
		data[View(&t).At(b, h, l)+e] = int8(min(max(math.RoundToEven(float64(x)*40), -128), 127))
	})
	return kernel.Strided(data, shape, t.Strides()).Scaled(&scales)
}

// asInt4 is asInt8 with groups of an even number of elements.
func asInt4(t kernel.Tensor) kernel.Tensor {
	shape, strides := t.Shape(), t.Strides()
	groups := 1
	for _, n := range []int{2, 3, 4} {
		if shape[3]%(2*n) == 0 {
			groups = n
		}
	}
	n := len(Floats(t))
	if strides[0]|strides[1]|strides[2]|n != (strides[0]|strides[1]|strides[2]|n)&^1 {
		row := shape[3] + 2
		head := shape[2]*row + 6
		strides, n = [3]int{shape[1] * head, head, row}, shape[0]*shape[1]*head
	}
	data := slices.Repeat([]kernel.Int4x2{0x5a}, n/2)
	scales := quantized(&t, groups, 0x1.9p-3, func(b, h, l, e int, x float32) {
		at := b*strides[0] + h*strides[1] + l*strides[2] + e
		code := kernel.Int4x2(int8(min(max(math.RoundToEven(float64(x)*5), -8), 7))) & 15
		data[at/2] = data[at/2]&(0xf0>>(at%2*4)) | code<<(at%2*4)
	})
	return kernel.Strided(data, shape, strides).Scaled(&scales)
}

// quantized returns scales near one, so many for a row of t, with a gap behind them. It calls code
// for each element that is a number; what is not becomes the scale.
func quantized(t *kernel.Tensor, groups int, scale float32, code func(b, h, l, e int, x float32)) kernel.Tensor {
	shape := t.Shape()
	b, h, l, d := shape[0], shape[1], shape[2], shape[3]
	rows := groups + 2
	scales := kernel.Strided(testutil.Filled(b*h*l*rows, testutil.NaN), [4]int{b, h, l, groups}, [3]int{h * l * rows, l * rows, rows})
	EachRow(t, func(b, h, l int, row []float32) {
		s := Row(&scales, b, h, l)
		Fill(s, scale+0x1p-20*float32(View(t).At(b, h, l)%1000))
		for e, x := range row {
			if x-x != 0 {
				s[e*groups/d] = x
			} else {
				code(b, h, l, e, x)
			}
		}
	})
	return scales
}

// Fill sets every element of s to x.
func Fill(s []float32, x float32) {
	for i := range s {
		s[i] = x
	}
}

// Rows returns the view of rows lo up to hi of every head of a tensor that is neither
// paged nor ragged.
func Rows(t kernel.Tensor, lo, hi int) kernel.Tensor {
	v := View(&t)
	shape, at := t.Shape(), v.At(0, 0, lo)
	shape[2] = hi - lo
	part := kernel.Tensor(view.FromBytes(v.DType(), v.Bytes()[v.DType().Bytes(at):], shape, t.Strides()))
	if v.Scales() == nil {
		return part
	}
	scales := Rows(kernel.Tensor(*v.Scales()), lo, hi)
	return part.Scaled(&scales)
}

// Batch returns the view of one batch row of a float32 tensor that is neither paged nor ragged.
func Batch(t kernel.Tensor, b int) kernel.Tensor {
	shape := t.Shape()
	shape[0] = 1
	return kernel.Strided(Floats(t)[View(&t).At(b, 0, 0):], shape, t.Strides())
}

// Bits returns the bits of the element at an index of t's slice.
func Bits(t *kernel.Tensor, at int) uint32 {
	v := View(t)
	switch v.DType().Size() {
	case 0:
		return uint32(v.Bytes()[at/2]) >> (at % 2 * 4) & 15
	case 1:
		return uint32(v.Bytes()[at])
	case 2:
		return uint32(binary.NativeEndian.Uint16(v.Bytes()[2*at:]))
	default:
		return binary.NativeEndian.Uint32(v.Bytes()[4*at:])
	}
}

// AllBits returns the bits of all elements of t's slice.
func AllBits(t *kernel.Tensor) []uint32 {
	all := make([]uint32, View(t).Len())
	for i := range all {
		all[i] = Bits(t, i)
	}
	return all
}

// Hash returns the SHA-256 of the bits of one tensor after the other, in the order [B,
// H, L, D], as float32 and little endian.
func Hash(tensors ...*kernel.Tensor) string {
	h := sha256.New()
	for _, t := range tensors {
		EachRow(t, func(_, _, _ int, row []float32) {
			for _, x := range row {
				h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)))
			}
		})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Same fails the test unless a and b have the same type and shape and hold the same
// bits. NaNs must be the same, too.
func Same(t testing.TB, what string, a, b *kernel.Tensor) {
	t.Helper()
	if a.Shape() != b.Shape() || a.DType() != b.DType() {
		t.Fatalf("%s: %v %v and %v %v", what, a.DType(), a.Shape(), b.DType(), b.Shape())
	}
	v, w := View(a), View(b)
	for bb := range v.Dim(0) {
		if n, m := v.Length(bb), w.Length(bb); n > m {
			t.Fatalf("%s: batch row %d has %d rows, want %d", what, bb, n, m)
		}
		for h := range v.Dim(1) {
			for l := range v.Length(bb) {
				for e := range v.Dim(3) {
					if x, y := Bits(a, v.Index(bb, h, l)+e), Bits(b, w.Index(bb, h, l)+e); x != y {
						t.Fatalf("%s: [%d %d %d %d] is %v (%#x), want %v (%#x)", what, bb, h, l, e, Row(a, bb, h, l)[e], x, Row(b, bb, h, l)[e], y)
					}
				}
			}
		}
	}
}

// SameRow fails the test unless got begins with the bits of want. NaNs must be the
// same, too.
func SameRow(t testing.TB, what string, got, want []float32) {
	t.Helper()
	for e := range want {
		if math.Float32bits(got[e]) != math.Float32bits(want[e]) {
			t.Fatalf("%s: element %d is %v (%08x), want %v (%08x)", what, e, got[e], math.Float32bits(got[e]), want[e], math.Float32bits(want[e]))
		}
	}
}

// CheckGaps fails the test if an element of out's slice that belongs to no row is no
// longer a canary.
func CheckGaps(t testing.TB, out *kernel.Tensor) {
	t.Helper()
	v := View(out)
	inRow := make([]bool, v.Len())
	EachRow(out, func(b, h, l int, row []float32) {
		at := v.Index(b, h, l)
		for i := range row {
			inRow[at+i] = true
		}
	})
	untouched := As(kernel.BHLD([]float32{Canary}, 1, 1, 1, 1), out.DType())
	for i := range inRow {
		if !inRow[i] && Bits(out, i) != Bits(&untouched, 0) {
			t.Fatalf("element %d, in a gap, was overwritten with %#x", i, Bits(out, i))
		}
	}
}
