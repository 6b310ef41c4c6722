package neon

import (
	"math"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// A weightMaker makes weights of numbers. The Neoverse cores convert integers on half of their vector units, in two
// steps each. So numbers are put into the bits of a float32, whose sum with them is taken:
//
//	without an offset   2^23 and a number in its lowest bits; 2^23 is subtracted: exact
//	with an offset      2^bits and a number in its highest bits. A weight is d·(2^bits + q) - (2^bits + offset)·d
//	                    then, and all of that is exact, as d is a binary16
//
// The last step adds to a register with the minimum. It is overwritten, as is that with the power of 2, and both
// are loaded: there are loads to spare. On the stack each vector of lanes has this pair.
type weightMaker struct {
	*neon
	format spec.BlockFormat
	pairs  a64.GP
	power  a64.Vec // of 2
}

// newWeightMaker makes pairs for n vectors.
func (g *neon) newWeightMaker(q spec.BlockFormat, n int) weightMaker {
	w := weightMaker{neon: g, format: q}
	power := float32(0x1p23)
	if w.exact() {
		power = w.base()
	}
	w.pairs, w.power = g.GP(), g.Broadcast(math.Float32bits(power))
	g.Op("MOVD", g.Frame(2 * n)[0].Addr(), w.pairs)
	for v := range n {
		g.StoreTo(w.power, a64.At(w.pairs, 2*v*emit.VecBytes))
	}
	return w
}

// exact reports that the numbers lie in the highest bits.
func (w *weightMaker) exact() bool { return w.format.Offset() > 0 && !w.format.Grouped() }

// base is what is added to numbers in the highest bits.
func (w *weightMaker) base() float32 { return float32(int(1) << w.format.Bits()) }

// lowest is the lowest of these bits.
func (w *weightMaker) lowest() int { return 23 - w.format.Bits() }

// addOffset stores the minima of formats with an offset, for the scales in d.
func (w *weightMaker) addOffset(d []a64.Vec) {
	offset := -float32(w.format.Offset())
	if w.exact() {
		offset -= w.base()
	}
	w.setMinima(w.times(d, offset))
}

// setMinima stores those of the first vectors.
func (w *weightMaker) setMinima(m []a64.Vec) {
	for v, x := range m {
		w.StoreTo(x, a64.At(w.pairs, (2*v+1)*emit.VecBytes))
	}
}

// weights sets xs to the weights of vectors from v on, where insert puts the numbers of vector v+i into zs[i]. One step of
// all follows the other, for cores that execute in order.
func (w *weightMaker) weights(v int, xs, zs, d []a64.Vec, insert func(i int, z a64.Vec)) {
	for i, x := range xs {
		w.Op("FLDPQ", a64.At(w.pairs, 2*(v+i)*emit.VecBytes), a64.Pair{First: zs[i], Second: x})
	}
	for i := range xs {
		insert(i, zs[i])
	}
	for i := range xs {
		if !w.exact() {
			w.FSUB(zs[i], zs[i], w.power)
		}
	}
	for i, x := range xs {
		w.Op("VFMLA", d[i].S4(), zs[i].S4(), x.S4())
	}
}
