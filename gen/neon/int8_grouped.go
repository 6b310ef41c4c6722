package neon

import (
	"fmt"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// groupedBlocks are the blocks of grouped formats, with two sums for each lane. Bytes 0 and 1 of a
// word belong to the first group of steps, bytes 2 and 3 to the second. How products are summed up
// depends on the CPU.
//
// The bits of a number beyond 4 are put above the others, which makes bytes of up to 63. A format
// without them jumps over that. A loop of two iterations takes words p and p+1 of the lower bits,
// with p = 0 and 2, in their lower halves and then in the upper ones, which are words of bytes p,
// p+1, p+4 and p+5. In these halves, the further bits begin at bit s of words 4 to 5:
//
//	        p   word   s    s of word p+1
//	1 bit   0      4   0                1
//	        2      4   2                3
//	2 bits  0      4   0                2
//	        2      5   0                2
//
// 8-bit numbers have a function of their own: each word has another one with its upper bits, of
// which the highest is flipped.
//
// On the stack each row has, in this order, what arrange writes; what sums begin with; and minus
// the sums of its codes: both as pairs of words, for both groups, twice.
type groupedBlocks struct {
	groupedDot
	eight bool // bits
}

// A groupedDot is how the bytes of a block are multiplied.
type groupedDot interface {
	heights() []int
	rowVectors() int

	// arrange writes to p, for one row, the codes in xs as the loop needs them.
	arrange(t *int8Gemmer, xs []a64.Vec, p a64.GP)

	// clear allocates the sums, which begin with the numbers at place rowStart.
	clear(t *int8Gemmer, start func(row int) a64.Local)

	// enter allocates what the loop needs.
	enter(t *int8Gemmer)

	// load loads the codes of an iteration.
	load(t *int8Gemmer)

	// multiply adds the products of bytes a and b of two words to the sums of vector v. Half is 1
	// for words p+4 and p+5. The bytes may be changed.
	multiply(t *int8Gemmer, a, b a64.Vec, v, half int)

	// scale sets the first vectors of the sums to sums over both groups, times their integers in s,
	// which are pairs of int32 in two vectors for each vector of lanes.
	scale(t *int8Gemmer, s []a64.Vec)

	// groups returns the sums of both groups of a vector of lanes.
	groups(t *int8Gemmer, row []a64.Vec, v int) (first, second a64.Vec)
}

// Where the vectors of a row are, after the dot's.
const (
	rowStart = iota
	rowMinus
	rowPairs
)

func (b groupedBlocks) rowVectors() int { return b.groupedDot.rowVectors() + rowPairs }

// constants is the mask of lower halves.
func (groupedBlocks) constants(t *int8Gemmer) { t.constant = t.Broadcast(0x0f0f0f0f) }

// place is the memory of a vector of a row.
func (b groupedBlocks) place(t *int8Gemmer, row, vector int) a64.Local {
	return t.frame[row*b.rowVectors()+b.groupedDot.rowVectors()+vector]
}

// begin goes through the rows.
func (b groupedBlocks) begin(t *int8Gemmer, name string) {
	if !b.eight {
		t.passHead(name)
	}
	xs, sums, ones, start := t.Vecs(2), t.Vec(), t.Broadcast(0xffffffff), t.Vec()
	row, to := t.p, t.q
	t.Op("MOVD", t.xb, row)
	t.Op("MOVD", t.frame[0].Addr(), to)
	t.eachRow(t.t, name, func() {
		t.LoadVecs(row, xs)
		t.Op("ADD", t.ldx, row, row)
		t.SMULL(start, xs[0], ones)
		t.SMLAL2(start, xs[0], ones)
		t.SMLAL(start, xs[1], ones)
		t.SMLAL2(start, xs[1], ones)
		t.Zero(sums)
		t.SADALP(sums, start)
		t.Op("VEXT", 8, sums.B16(), sums.B16(), start.B16())
		t.Op("VADD", start.S4(), sums.S4(), sums.S4())
		t.Scope(func() {
			offset := t.Vec()
			t.Op("VDUP", t.offset, offset.S4())
			t.MUL(start, sums, offset)
		})
		at := b.groupedDot.rowVectors() * emit.VecBytes
		t.StoreTo(start, a64.At(to, at+rowStart*emit.VecBytes))
		t.StoreTo(sums, a64.At(to, at+rowMinus*emit.VecBytes))
		t.Scope(func() { b.arrange(t, xs, to) })
		t.Op("ADD", b.rowVectors()*emit.VecBytes, to, to)
	})
}

func (b groupedBlocks) group(t *int8Gemmer, name func(part string) string) {
	b.clear(t, func(row int) a64.Local { return b.place(t, row, rowStart) })
	t.Scope(func() { b.words(t, name) })
	b.add(t, name)
}

// words emits the loop over the words.
func (b groupedBlocks) words(t *int8Gemmer, name func(part string) string) {
	w := &wordPair{far: t.GP(), next: t.p, shift: t.GP()}
	w.low, w.bytes, w.shifts, w.far8, w.bits = t.Vecs(2), t.Vecs(2), t.Vecs(2), t.Vec(), t.Vec()
	t.Op("ADD", t.word.Shl(2), t.numbers, w.far)
	if b.eight {
		t.Op("ADD", t.word, w.far, w.shift)
	} else {
		t.Op("MOVD", 0, w.shift)
	}
	t.Op("MOVD", 2, t.t)
	b.enter(t)
	t.AlignLoop()
	loop.Times(t.neon, t.t, name("words"), func() {
		b.load(t)
		if !b.eight {
			t.Op("VDUP", w.shift, w.shifts[0].B16())
			t.Op("SUB", t.more, w.shift, w.shift)
			t.Op("VDUP", w.shift, w.shifts[1].B16())
		}
		t.Op("ADD", t.word, t.numbers, w.next)
		for v := range int8Vectors {
			t.LoadFrom(a64.At(t.numbers, v*emit.VecBytes), w.low[0])
			t.LoadFrom(a64.At(w.next, v*emit.VecBytes), w.low[1])
			for half := range 2 {
				if b.eight {
					w.makeEight(t, v, half)
				} else {
					w.make(t, v, half, name(fmt.Sprintf("vector%d%d", v, half)))
				}
				b.multiply(t, w.bytes[0], w.bytes[1], v, half)
			}
		}
		t.prefetch(t.numbers)
		t.prefetch(w.next)
		t.Op("ADD", t.word, w.next, t.numbers)
		if b.eight {
			t.prefetch(w.far)
			t.prefetch(w.shift)
			t.Op("ADD", t.word.Shl(1), w.far, w.far)
			t.Op("ADD", t.word, w.far, w.shift)
			return
		}
		t.Op("ADD", t.more.Shl(1), w.shift, w.shift)
		t.Op("ADD", t.more, w.shift, w.shift)
		t.Op("SUB", 4, w.shift, w.shift)
		t.Op("LSR", 1, t.more, w.next)
		t.Op("MADD", w.next, w.far, t.word, w.far)
	})
}

// A wordPair is the registers that make bytes of two words.
type wordPair struct {
	far, next, shift   a64.GP    // the words with further bits, word p+1, -s or the word after far
	low, bytes, shifts []a64.Vec // of words p and p+1
	far8, bits         a64.Vec
}

// make sets bytes to the bytes of vector v.
func (w *wordPair) make(t *int8Gemmer, v, half int, done string) {
	for i, low := range w.low {
		if half == 0 {
			t.Op("VAND", t.constant.B16(), low.B16(), w.bytes[i].B16())
		} else {
			t.Op("VUSHR", 4, low.B16(), w.bytes[i].B16())
		}
	}
	t.Jump("CBZ", done, t.more)
	t.LoadFrom(a64.At(w.far, v*emit.VecBytes), w.far8)
	if half == 0 {
		t.Op("VSHL", 4, w.far8.B16(), w.far8.B16())
	}
	for i, x := range w.bytes {
		t.USHL(w.bits, w.far8, w.shifts[i])
		t.Op("VAND", t.mask.B16(), w.bits.B16(), w.bits.B16())
		t.Op("VORR", w.bits.B16(), x.B16(), x.B16())
	}
	t.Label(done)
}

// makeEight is make for 8 bits.
func (w *wordPair) makeEight(t *int8Gemmer, v, half int) {
	for i, x := range w.bytes {
		t.LoadFrom(a64.At([]a64.GP{w.far, w.shift}[i], v*emit.VecBytes), w.far8)
		if half == 0 {
			t.Op("VMOV", w.low[i].B16(), x.B16())
			t.Op("VSLI", 4, w.far8.B16(), x.B16())
		} else {
			t.Op("VMOV", w.far8.B16(), x.B16())
			t.Op("VSRI", 4, w.low[i].B16(), x.B16())
		}
		t.Op("VEOR", t.mask.B16(), x.B16(), x.B16())
	}
}

// heads is where the head of the segment or block is written down.
func (t *int8Gemmer) heads() a64.Param { return t.Cap("b").Local() }

// passHead goes past the head before a block, if there is one.
func (t *int8Gemmer) passHead(name string) {
	t.JumpIfBit(segmentedBit, t.offset, name+"segmented")
	t.Label(name + "head")
	t.Op("MOVD", t.block, t.heads())
	t.Op("ADD", 2, t.minima, t.t)
	t.Op("MADD", t.lanes, t.block, t.t, t.block)
	t.Label(name + "passed")
	t.Apart(func() {
		t.Label(name + "segmented")
		t.Op("AND", spec.InputSegment-1, t.left, t.t)
		t.Jump("CBZ", name+"head", t.t)
		t.Goto(name + "passed")
	})
}

// pairs loads the integers of scales, part 0, or of minima, part 1, of 8 lanes as int32.
func (t *int8Gemmer) pairs(name string, part int) []a64.Vec {
	xs := t.Vecs(2 * int8Vectors)
	t.Scope(func() {
		bytes, halves := t.Vec(), t.Vec()
		t.JumpIfBit(singleBit, t.offset, name+"single")
		t.Op("ADD", t.lane.Shl(1), t.block, t.q)
		if part > 0 {
			t.Op("ADD", t.lanes.Shl(1), t.q, t.q)
		}
		t.LoadFrom(a64.At(t.q, 0), bytes)
		t.Label(name + "pairs")
		t.Apart(func() {
			t.Label(name + "single")
			t.Op("ADD", t.lane, t.block, t.q)
			if part > 0 {
				t.Op("ADD", t.lanes, t.q, t.q)
			}
			t.loadTwice(t.q, bytes)
			t.Goto(name + "pairs")
		})
		for i := 0; i < len(xs); i += 2 {
			if i > 0 {
				t.Op("VEXT", 8, bytes.B16(), bytes.B16(), bytes.B16())
			}
			t.SXTLBytes(halves, bytes)
			t.SXTL(xs[i], halves)
			t.SXTL2(xs[i+1], halves)
		}
	})
	return xs
}

// loadTwice loads 8 bytes as pairs of the same bytes.
func (g *neon) loadTwice(p a64.GP, to a64.Vec) {
	g.Op("FMOVD", a64.At(p, 0), to)
	g.Op("VZIP1", to.B16(), to.B16(), to.B16())
}
