package emit

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/spec"
)

// A Widener converts a vector of elements to float32, 4 of them at a time: a vector has one
// such group of float32, two of 16 bits, four of bytes.
//
//	binary16   is converted
//	bfloat16   becomes the upper half, above a zero
//	int8       plus 128 becomes the lowest byte of 4b4b4bxx, a number between 2^23 and 2^24;
//	           the number for 0 is subtracted, which is exact; times scale
//
// On the Neoverse cores a conversion of integers, and of binary16, takes two micro-operations,
// and a shift to twice the width is executed by only some of the vector units. Instructions
// that all of them execute take less time for int8 and bfloat16.
type Widener struct {
	*Gen
	Element spec.Element

	zero             a64.Vec // bfloat16
	flip, high, bias a64.Vec // int8
}

// int8High has the byte above an int8 in all four bytes.
const int8High = 0x4b4b4b4b

func (g *Gen) NewWidener(e spec.Element) *Widener {
	w := &Widener{Gen: g, Element: e}
	switch e {
	case spec.BF16:
		w.zero = g.Broadcast(0)
	case spec.Int8:
		w.flip, w.high, w.bias = g.Broadcast(0x80808080), g.Broadcast(int8High), g.Broadcast(int8High&^0xff|0x80)
	}
	return w
}

// Groups is the number of groups in a vector.
func (w *Widener) Groups() int { return VecLanes >> w.Element.Shift() }

// Prepare emits the operations on whole vectors.
func (w *Widener) Prepare(xs ...a64.Vec) {
	if w.Element == spec.Int8 {
		for _, x := range xs {
			w.Op("VEOR", w.flip.B16(), x.B16(), x.B16())
		}
	}
}

// Widen widens a group of x into to, and returns the register of the result: float32 stays
// in x. The groups of a vector must come in order: for int8 an even group leaves in half
// what the next one needs. For the next one half may be to.
func (w *Widener) Widen(x a64.Vec, group int, half, to, scale a64.Vec) a64.Vec {
	switch w.Element {
	case spec.Float32:
		return x
	case spec.F16:
		[]func(d, n a64.Vec){w.FCVTL, w.FCVTL2}[group](to, x)
	case spec.BF16:
		w.Op(zips[group], x.H8(), w.zero.H8(), to.H8())
	case spec.Int8:
		if group%2 == 0 {
			w.Halve(x, group/2, half)
		}
		w.WidenHalf(half, group%2, to, scale)
	}
	return to
}

// Halve leaves in half what groups 2n and 2n+1 of int8 need.
func (w *Widener) Halve(x a64.Vec, n int, half a64.Vec) {
	w.Op(zips[n], w.high.B16(), x.B16(), half.B16())
}

// WidenHalf widens a group of a half of int8 into to.
func (w *Widener) WidenHalf(half a64.Vec, group int, to, scale a64.Vec) {
	w.Op(zips[group], w.high.H8(), half.H8(), to.H8())
	w.FSUB(to, to, w.bias)
	w.FMUL(to, to, scale)
}

var zips = [2]string{"VZIP1", "VZIP2"}
