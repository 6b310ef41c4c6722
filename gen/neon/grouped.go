package neon

import (
	"math"
	"slices"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/internal/ukernel"
)

// Grouped formats, see package quantized. A word of 4 bits and the one with the bits beyond become words of bytes.

// groupVectors is how many vectors of lanes are widened at a time: their pairs of int8 fill one.
const groupVectors = 2

// A groupWords makes words of bytes, for some vectors of lanes.
type groupWords struct {
	*neon
	format   ukernel.PackedFormat
	lower    a64.Vec // masks of the lower halves of bytes, and of what is put above them
	upper    a64.Vec
	low, far []a64.Vec // a word, and that with further bits
}

// more is the number of bits beyond 4.
func (w *groupWords) more() int { return w.format.Bits() - 4 }

// bytes sets x to word g, or to word g+4 if high is set, of vector v.
func (w *groupWords) bytes(x, t a64.Vec, v int, high bool) {
	low := w.low[v]
	if high {
		w.Op("VUSHR", 4, low.B16(), x.B16())
	} else {
		w.Op("VAND", w.lower.B16(), low.B16(), x.B16())
	}
	if w.more() == 0 {
		return
	}
	bits := w.far[v]
	if !high {
		w.Op("VSHL", 4, bits.B16(), t.B16())
		bits = t
	}
	w.Op("VBIT", w.upper.B16(), bits.B16(), x.B16())
}

// each emits the loop over the words g < 4 of the numbers at p, which are word bytes apart. It loads
// them one by one, and leaves p after all words.
func (w *groupWords) each(p, word, count, words a64.GP, body func()) {
	load := func(from a64.GP, xs []a64.Vec) {
		w.LoadVecs(from, xs)
		w.Op("ADD", word, from, from)
	}
	next := func() {
		w.Op("MOVD", 4/max(w.more(), 1), count)
		loop.Times(w.neon, count, "word", func() {
			load(p, w.low)
			body()
			for _, x := range w.far {
				w.Op("VUSHR", w.more(), x.B16(), x.B16())
			}
		})
	}
	if w.more() == 0 {
		next()
		return
	}
	far := w.GP()
	w.Op("ADD", word.Shl(2), p, far)
	w.Op("MOVD", w.more(), words)
	loop.Times(w.neon, words, "far", func() {
		load(far, w.far)
		next()
	})
}

// WeightWidenGrouped is WeightWidenQ for grouped formats.
func (g *neon) WeightWidenGrouped(q ukernel.PackedFormat) {
	g.widenBlocks(q, groupVectors*emit.VecLanes, 2*groupVectors, func(b *blockCursor) func() {
		w := &groupWidener{blockCursor: b, masks: []a64.Vec{b.Broadcast(0xff), b.Broadcast(0xff << 8), b.Broadcast(0xff << 16)}}
		w.words = groupWords{neon: w.neon, format: w.format, lower: w.Broadcast(0x0f0f0f0f)}
		if more := w.words.more(); more > 0 {
			w.words.upper = w.Broadcast((1<<more - 1) << 4 * 0x01010101)
		}
		return w.convert
	})
}

// A groupWidener converts some lanes of a block of a grouped format. A weight is d·q + m with the d and m of
// its half of the steps. As in blockGemmer, q is taken where it is in its word, and d is smaller by as much. Byte 3 is
// shifted, and in brain formats all are.
type groupWidener struct {
	*blockCursor
	words groupWords
	masks []a64.Vec    // of bytes but the last
	d     [4][]a64.Vec // by bytes of a word
}

func (w *groupWidener) convert() {
	w.header()
	w.words.low = w.Vecs(groupVectors)
	if w.words.more() > 0 {
		w.words.far = w.Vecs(groupVectors)
	}
	qs, xs, zs, t, to := w.Vecs(groupVectors), w.Vecs(groupVectors), w.Vecs(groupVectors), w.Vec(), w.scales
	w.words.each(w.numbers, w.row, w.count, w.GP(), func() {
		for half := range 2 {
			if half == 0 {
				w.Op("MOVD", w.to, to)
			} else {
				w.Op("ADD", w.row.Shl(2), w.to, to) // four rows on
			}
			for v, q := range qs {
				w.words.bytes(q, t, v, half == 1)
			}
			for i := range 4 {
				w.weights(i/2*groupVectors, xs, zs, w.d[i], func(v int, z a64.Vec) {
					switch {
					case i == len(w.masks):
						w.Op("VSRI", 24, qs[v].S4(), z.S4())
					case w.format.Brain() && i > 0:
						w.Op("VUSHR", 8*i, qs[v].S4(), t.S4())
						w.Op("VBIT", w.masks[0].B16(), t.B16(), z.B16())
					default:
						w.Op("VBIT", w.masks[i].B16(), qs[v].B16(), z.B16())
					}
				})
				w.StoreVecs(xs, to)
				w.Op("ADD", w.row.Shl(3), to, to)
			}
		}
		w.Op("ADD", w.row, w.to, w.to)
	})
}

// header makes the scales and minima, and sets numbers to those of the lanes.
func (w *groupWidener) header() {
	if w.format.Float32Scales() {
		w.singles()
		return
	}
	next := func() { w.Op("ADD", w.lanes.Shl(1), w.scales, w.scales) }
	minima := w.format.Offset() == 0
	d := w.scalesOf(w.format.Brain(), w.scales, groupVectors)
	next()
	var m []a64.Vec
	if minima {
		if !w.format.Brain() {
			m = w.scalesOf(false, w.scales, groupVectors)
		}
		next()
	}
	w.d[0], w.d[3] = w.products(d, 1)
	next()
	w.Scope(func() {
		if minima {
			if !w.format.Brain() {
				first, second := w.products(m, -1)
				w.setMinima(append(first, second...))
			}
			next()
		} else {
			w.addOffset(slices.Concat(w.d[0], w.d[3]))
		}
	})
	w.Op("ADD", w.lane.Shl(1), w.scales, w.numbers)
	w.scaleBytes()
}

// scaleBytes makes the scales of the other bytes of a word.
func (w *groupWidener) scaleBytes() {
	if w.format.Brain() {
		w.d[1], w.d[2] = w.d[0], w.d[3]
		return
	}
	w.d[1], w.d[2] = w.times(w.d[0], 0x1p-8), w.times(w.d[3], 0x1p-16)
}

// singles is header with scales of float32.
func (w *groupWidener) singles() {
	w.Op("ADD", w.lane.Shl(1), w.scales, w.numbers)
	for _, half := range []int{0, 3} {
		w.d[half] = w.Vecs(groupVectors)
		w.LoadVecs(w.numbers, w.d[half])
		w.Op("ADD", w.row, w.numbers, w.numbers)
	}
	w.Scope(func() { w.addOffset(slices.Concat(w.d[0], w.d[3])) })
	w.scaleBytes()
}

// times are the products of xs and a number.
func (g *neon) times(xs []a64.Vec, by float32) []a64.Vec {
	ys, factor := g.Vecs(len(xs)), g.Broadcast(math.Float32bits(by))
	for i, y := range ys {
		g.FMUL(y, xs[i], factor)
	}
	g.Free(factor)
	return ys
}

// products are those of the numbers in xs, times a sign, and the pairs of int8 at the scales. Every int8 is
// taken as the upper byte of an int16, and the numbers as smaller by as much, which is exact.
func (w *groupWidener) products(xs []a64.Vec, sign float32) (first, second []a64.Vec) {
	first, second = w.Vecs(groupVectors), w.Vecs(groupVectors)
	w.Scope(func() {
		pairs, xs := w.Vec(), w.times(xs, sign*0x1p-8)
		w.LoadFrom(a64.At(w.scales, 0), pairs)
		for _, ys := range [][]a64.Vec{first, second} {
			if &ys[0] == &second[0] {
				w.Op("VUSHR", 8, pairs.H8(), pairs.H8())
			}
			upper := w.Vec()
			w.Op("VSHL", 8, pairs.H8(), upper.H8())
			w.SXTL(ys[0], upper)
			w.SXTL2(ys[1], upper)
			for v, y := range ys {
				w.SCVTF(y, y)
				w.FMUL(y, y, xs[v])
			}
		}
	})
	return first, second
}
