package neon

import (
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
