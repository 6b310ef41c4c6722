package neon

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/internal/ukernel"
)

// A weightMaker makes weights d·q + minimum of numbers q. The Neoverse cores convert integers on
// half of their vector units, in two steps each. So q is put into the mantissa of a power of 2,
// which makes their sum:
//
//	in its lowest bits     z = 2^23 + q;    d·(z - 2^23) + minimum
//	in its highest bits    z = 2^bits + q;  d·z - (2^bits + offset)·d
//
// The difference z - 2^23 is exact. The highest bits are for formats with an offset and one scale,
// where all of the second line is exact, as d is a binary16: that saves the subtraction. In
// formats with bfloat16 scales they have the values of numbers, and d is multiplied by the
// difference of z and 2^bits + offset.
//
// VBIT puts q into a register with the power of 2, and FMLA adds to one with the minimum. Both
// overwrite it, so the pair of a vector of lanes is loaded from the stack each time: there are
// loads to spare.
type weightMaker struct {
	*neon
	format ukernel.PackedFormat
	pairs  a64.GP
	power  a64.Vec // of 2, in formats with bfloat16 scales plus the offset

	table, lower a64.Vec // of values, and a mask of the lower halves of bytes
}

// newWeightMaker makes pairs for n vectors.
func (g *neon) newWeightMaker(q ukernel.PackedFormat, n int) weightMaker {
	w := weightMaker{neon: g, format: q}
	power := float32(0x1p23)
	if w.inHighest() {
		power = w.base()
	}
	w.pairs, w.power = g.GP(), g.Broadcast(math.Float32bits(power))
	g.Op("MOVD", g.Frame(2 * n)[0].Addr(), w.pairs)
	for v := range n {
		g.StoreTo(w.power, a64.At(w.pairs, 2*v*emit.VecBytes))
	}
	if q.BFloat16Scales() {
		g.Free(w.power)
		w.power = g.Broadcast(math.Float32bits(power + float32(q.Offset())))
	}
	if w.looksUp() {
		w.table, w.lower = g.valueBytes(q), g.Broadcast(0x0f0f0f0f)
	}
	return w
}

// inHighest reports whether numbers are put into the highest bits. Values of 8 bits would be no
// byte of a word there.
func (w *weightMaker) inHighest() bool {
	return w.format.Offset() > 0 && !w.format.Grouped() && w.format != ukernel.IQ4
}

// shifts reports whether numbers are shifted to where they are taken.
func (w *weightMaker) shifts() bool { return w.inHighest() || w.looksUp() }

// width is how many bits of a word a number has, or its value, which is looked up as a byte.
func (w *weightMaker) width() int {
	switch {
	case w.format.BFloat16Scales():
		return 7
	case w.looksUp():
		return 8
	}
	return w.format.Bits()
}

// base is the power of 2 with numbers in the highest bits.
func (w *weightMaker) base() float32 { return float32(int(1) << w.width()) }

// lowest is the lowest of the bits that numbers are put into.
func (w *weightMaker) lowest() int {
	if w.inHighest() {
		return 23 - w.width()
	}
	return 0
}

// looksUp tells whether numbers stand for values.
func (w *weightMaker) looksUp() bool { return w.format.Values() != nil }

// lookUp looks up the lower halves of the bytes of x, if numbers stand for values.
func (w *weightMaker) lookUp(x a64.Vec) {
	if w.looksUp() {
		w.Op("VAND", w.lower.B16(), x.B16(), x.B16())
		w.Op("VTBL", x.B16(), []a64.Arr{w.table.B16()}, x.B16())
	}
}

// valueBytes loads the values of numbers, a byte each.
func (g *neon) valueBytes(q ukernel.PackedFormat) a64.Vec {
	at, table := g.GP(), g.Vec()
	g.Op("MOVD", g.valueData(q, 0), at)
	g.LoadFrom(a64.At(at, 0), table)
	g.Free(at)
	return table
}

// valueData has the values of numbers, less some offset.
func (g *neon) valueData(q ukernel.PackedFormat, less int) a64.Global {
	words := make([]uint32, 4)
	for i, v := range q.Values() {
		words[i/4] |= uint32(v-uint8(less)) << (i % 4 * 8)
	}
	return g.Data(fmt.Sprintf("values%vLess%dNEON", q, less), words...)
}

// addOffset stores the minima of formats with an offset, for the scales in d.
func (w *weightMaker) addOffset(d []a64.Vec) {
	offset := -float32(w.format.Offset())
	if w.inHighest() {
		offset -= w.base()
	}
	m := w.Vecs(len(d))
	w.times(m, d, offset)
	w.setMinima(m)
}

// setMinima stores the minima of the first vectors.
func (w *weightMaker) setMinima(m []a64.Vec) {
	for v, x := range m {
		w.StoreTo(x, a64.At(w.pairs, (2*v+1)*emit.VecBytes))
	}
}

// weights sets xs to the weights of vectors from v on, where insert puts the numbers of vector v+i
// into zs[i]. One step of all follows the other, for cores that execute in order.
func (w *weightMaker) weights(v int, xs, zs, d []a64.Vec, insert func(i int, z a64.Vec)) {
	bfloat16 := w.format.BFloat16Scales()
	for i, x := range xs {
		w.Op("FLDPQ", a64.At(w.pairs, 2*(v+i)*emit.VecBytes), a64.Pair{First: zs[i], Second: x})
	}
	for i := range xs {
		insert(i, zs[i])
	}
	for i := range xs {
		if !w.inHighest() || bfloat16 {
			w.FSUB(zs[i], zs[i], w.power)
		}
	}
	for i, x := range xs {
		if bfloat16 {
			w.FMUL(x, zs[i], d[i])
		} else {
			w.Op("VFMLA", d[i].S4(), zs[i].S4(), x.S4())
		}
	}
}
