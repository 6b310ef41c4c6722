package neon

import (
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
// The difference z - 2^23 is exact, and in brain formats that with the number of 0 is taken, which
// is multiplied by d. The highest bits are for formats with an offset and one scale, where all of
// the second line is exact, as d is a binary16: that saves the subtraction.
//
// VBIT puts q into a register with the power of 2, and FMLA adds to one with the minimum. Both
// overwrite it, so the pair of a vector of lanes is loaded from the stack each time: there are
// loads to spare.
type weightMaker struct {
	*neon
	format ukernel.PackedFormat
	pairs  a64.GP
	power  a64.Vec // of 2; of brain formats it becomes that plus the number of 0
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
	return w
}

// inHighest reports whether numbers are put into the highest bits.
func (w *weightMaker) inHighest() bool { return w.format.Offset() > 0 && !w.format.Grouped() }

// base is the power of 2 with numbers in the highest bits.
func (w *weightMaker) base() float32 { return float32(int(1) << w.format.Bits()) }

// lowest is the lowest of these bits.
func (w *weightMaker) lowest() int { return 23 - w.format.Bits() }

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
	w.product(v, xs, zs, d, false, insert)
}

// product is weights, of a brain format if that is set.
func (w *weightMaker) product(v int, xs, zs, d []a64.Vec, brain bool, insert func(i int, z a64.Vec)) {
	for i, x := range xs {
		w.Op("FLDPQ", a64.At(w.pairs, 2*(v+i)*emit.VecBytes), a64.Pair{First: zs[i], Second: x})
	}
	for i := range xs {
		insert(i, zs[i])
	}
	for i := range xs {
		if !w.inHighest() {
			w.FSUB(zs[i], zs[i], w.power)
		}
	}
	for i, x := range xs {
		if brain {
			w.FMUL(x, zs[i], d[i])
		} else {
			w.Op("VFMLA", d[i].S4(), zs[i].S4(), x.S4())
		}
	}
}
