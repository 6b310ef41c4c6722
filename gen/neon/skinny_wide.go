package neon

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/spec"
)

// A widener makes float32 of a vector of elements, 4 of them at a time: a vector
// has one such group of float32, two of 16 bits, four of bytes.
//
//	binary16   converted
//	bfloat16   put above a zero
//	int8       plus 128, put below bytes of 4b, which makes a number between 2^23 and 2^24;
//	           minus what that is for 0, which is exact; times scale
//
// A conversion of integers, and of binary16, takes two units of work on the Neoverse
// cores, and a shift to twice the width only some of their units do; what all of them
// do takes less time for int8 and bfloat16.
type widener struct {
	*neon
	element spec.Element

	zero             a64.Vec // bfloat16
	flip, high, bias a64.Vec // int8
}

// int8High is the byte above that of an integer, in all of a number.
const int8High = 0x4b4b4b4b

func (g *neon) newWidener(e spec.Element) *widener {
	w := &widener{neon: g, element: e}
	switch e {
	case spec.BF16:
		w.zero = g.broadcast(0)
	case spec.Int8:
		w.flip, w.high, w.bias = g.broadcast(0x80808080), g.broadcast(int8High), g.broadcast(int8High&^0xff|0x80)
	}
	return w
}

// groups is how many there are in a vector.
func (w *widener) groups() int { return vecLanes >> w.element.Shift() }

// prepare emits what is done to whole vectors.
func (w *widener) prepare(xs ...a64.Vec) {
	if w.element == spec.Int8 {
		for _, x := range xs {
			w.Op("VEOR", w.flip.B16(), x.B16(), x.B16())
		}
	}
}

// widen emits the float32 of a group of x into to, and returns where they are: float32
// stays in x. The groups of a vector come in order; int8 leaves in half, with an even
// one, what the next one needs, and half may be to then.
func (w *widener) widen(x a64.Vec, group int, half, to, scale a64.Vec) a64.Vec {
	zip := []string{"VZIP1", "VZIP2"}
	switch w.element {
	case spec.Float32:
		return x
	case spec.F16:
		[]func(d, n a64.Vec){w.FCVTL, w.FCVTL2}[group](to, x)
	case spec.BF16:
		w.Op(zip[group], x.H8(), w.zero.H8(), to.H8())
	case spec.Int8:
		if group%2 == 0 {
			w.Op(zip[group/2], w.high.B16(), x.B16(), half.B16())
		}
		w.Op(zip[group%2], w.high.H8(), half.H8(), to.H8())
		w.FSUB(to, to, w.bias)
		w.FMUL(to, to, scale)
	}
	return to
}
