package neon

import (
	"math"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
)

// Grouped formats, see package quantized. A word of 4 bits and the one with the bits
// beyond become words of bytes. The kernels that widen them are one function, to which
// each tells, in the place of arguments, its kind of scales, its bits beyond 4, the power
// of the weightMaker, and the bytes of a lane in a block.

// groupVectors is how many vectors of lanes are widened at a time: their pairs of int8 fill one.
const groupVectors = 2

// grouped are the places of these arguments.
func (g *neon) grouped() (kind, more, power, size a64.Param) {
	return g.Len("dst").Local(), g.Cap("dst").Local(), g.Len("b").Local(), g.Cap("b").Local()
}

// WeightWidenGrouped is WeightWidenQ for grouped formats.
func (g *neon) WeightWidenGrouped(q ukernel.PackedFormat) {
	const name = "weightWidenGrouped"
	f := spec.WeightWidenQ(q)
	if q == spec.GroupedFormats[0] {
		g.Shared(name, f, "widens blocks of grouped formats, whose kernels jump to it.")
		g.widenGrouped(q)
	}
	g.Kernel(f)
	kind, more, power, size := g.grouped()
	x := g.GP()
	for _, a := range []struct {
		value any
		to    a64.Param
	}{{spec.ScaleKind(q), kind}, {q.Bits() - 4, more}, {math.Float32bits(0x1p23), power}, {q.BlockBytes(1), size}} {
		g.Op("MOVD", a.value, x)
		g.Op("MOVD", x, a.to)
	}
	g.TailJump(name)
}

// widenGrouped emits that function. q is a format of it.
func (g *neon) widenGrouped(q ukernel.PackedFormat) {
	kind, more, power, size := g.grouped()
	w := &groupWidener{blockCursor: g.newBlockCursor(q, 2*groupVectors), kind: kind, more: g.LoadParam(more), per: g.GP(), words: g.GP(), bits: g.GP()}
	g.Load(power, w.words)
	g.Op("VDUP", w.words, w.power.S4())
	w.masks = []a64.Vec{g.Broadcast(0xff), g.Broadcast(0xff << 8), g.Broadcast(0xff << 16)}
	w.lower, w.upper, w.by = g.Broadcast(0x0f0f0f0f), g.Vec(), g.Vec()
	g.Op("MOVD", 1<<4, w.words)
	g.Op("LSL", w.more, w.words, w.words)
	g.Op("SUB", 1<<4, w.words, w.words)
	g.Op("VDUP", w.words, w.upper.B16())
	g.Op("NEG", w.more, w.words)
	g.Op("VDUP", w.words, w.by.S4())
	g.Op("MOVD", 4, w.per) // 4, 2 and 1 words of 1, 2 and 4
	g.Op("LSR", 1, w.more, w.words)
	g.Op("LSR", w.words, w.per, w.per)
	for i := range w.d {
		w.d[i] = g.Vecs(groupVectors)
	}
	g.widenBlocks(w.blockCursor, groupVectors*emit.VecLanes, func(to a64.GP) { g.Load(size, to) }, w.passHead, w.convert)
}

// A groupWidener converts some lanes of a block of a grouped format. A weight is d·q + m with the d
// and m of its half of the steps. As in blockGemmer, q is taken where it is in its word, and d is
// smaller by as much. Byte 3 is shifted, and with 8 bits all are.
type groupWidener struct {
	*blockCursor
	kind  a64.Param
	more  a64.GP // bits beyond 4
	per   a64.GP // words that a word with these is for
	words a64.GP // left of those
	bits  a64.GP // pointer to them

	lower, upper a64.Vec      // masks of the lower halves of bytes, and of what is put above them
	by           a64.Vec      // the shift from a word's further bits to the next word's
	masks        []a64.Vec    // of bytes but the last
	d            [4][]a64.Vec // by bytes of a word
	low, far     []a64.Vec    // a word, and that with further bits
	qs, xs, zs   []a64.Vec    // words of bytes; weights, and numbers
	t            a64.Vec      // scratch
}

func (w *groupWidener) convert() {
	w.header()
	for _, xs := range []*[]a64.Vec{&w.low, &w.far, &w.qs, &w.xs, &w.zs} {
		*xs = w.Vecs(groupVectors)
	}
	w.t = w.Vec()
	w.Jump("CBZ", "plain", w.more)
	w.Op("MOVD", w.kind, w.count)
	w.Op("CMP", spec.ScaleKind(ukernel.S8x16F32), w.count)
	w.Jump("BEQ", "eight")
	w.further("further", false)
	w.Goto("next")
	w.Label("eight")
	w.further("eightFurther", true)
	w.Goto("next")
	w.Label("plain")
	w.Op("MOVD", 4, w.count)
	w.wordsOf("plainWord", false)
	w.Label("next")
}

// further emits the loop over the words with further bits. Bytes are shifted, with 8 bits, or taken
// where they are in their words.
func (w *groupWidener) further(name string, shifted bool) {
	w.Op("ADD", w.row.Shl(2), w.numbers, w.bits)
	w.Op("MOVD", w.more, w.words)
	loop.Times(w.neon, w.words, name, func() {
		w.LoadVecs(w.bits, w.far)
		w.Op("ADD", w.row, w.bits, w.bits)
		if shifted { // a word for each
			w.word(true, true)
			return
		}
		w.Op("MOVD", w.per, w.count)
		w.wordsOf(name+"Word", true)
	})
}

// wordsOf emits the loop over count words of 4 bits.
func (w *groupWidener) wordsOf(name string, further bool) {
	loop.Times(w.neon, w.count, name, func() { w.word(further, false) })
}

// word emits the weights of a word, and goes on to the next one.
func (w *groupWidener) word(further, shifted bool) {
	to := w.scales
	w.LoadVecs(w.numbers, w.low)
	w.Op("ADD", w.row, w.numbers, w.numbers)
	for half := range 2 {
		if half == 0 {
			w.Op("MOVD", w.to, to)
		} else {
			w.Op("ADD", w.row.Shl(2), w.to, to) // four rows on
		}
		for v, q := range w.qs {
			w.bytes(q, v, half == 1, further)
		}
		for i := range 4 {
			w.byte(i, shifted)
			w.StoreVecs(w.xs, to)
			w.Op("ADD", w.row.Shl(3), to, to)
		}
	}
	w.Op("ADD", w.row, w.to, w.to)
	for _, x := range w.far {
		if further && !shifted {
			w.USHLWords(x, x, w.by)
		}
	}
}

// bytes sets x to word g, or to word g+4 if high is set, of vector v.
func (w *groupWidener) bytes(x a64.Vec, v int, high, further bool) {
	if high {
		w.Op("VUSHR", 4, w.low[v].B16(), x.B16())
	} else {
		w.Op("VAND", w.lower.B16(), w.low[v].B16(), x.B16())
	}
	if !further {
		return
	}
	bits := w.far[v]
	if !high {
		w.Op("VSHL", 4, bits.B16(), w.t.B16())
		bits = w.t
	}
	w.Op("VBIT", w.upper.B16(), bits.B16(), x.B16())
}

// byte makes weights of byte i of the words.
func (w *groupWidener) byte(i int, shifted bool) {
	d := w.d[i]
	if shifted {
		d = w.d[i/2*3]
	}
	w.weights(i/2*groupVectors, w.xs, w.zs, d, func(v int, z a64.Vec) {
		switch {
		case i == len(w.masks):
			w.Op("VSRI", 24, w.qs[v].S4(), z.S4())
		case shifted && i > 0:
			w.Op("VUSHR", 8*i, w.qs[v].S4(), w.t.S4())
			w.Op("VBIT", w.masks[0].B16(), w.t.B16(), z.B16())
		default:
			w.Op("VBIT", w.masks[i].B16(), w.qs[v].B16(), z.B16())
		}
	})
}
