package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// ahead is the distance of prefetches in bytes. A core drops prefetches while too many lines are
// under way. So a product that takes less time than its weights should not be far ahead: one row of
// 4 and 8 bits on AVX2, and formats with one scale a block on AVX-512. Rows that take longer, and
// formats with 5 and 6 bits, gain by more distance. The distances are measured on Zen 3 and Zen 4.
func (t *int8Gemmer) ahead() int {
	near := t.rows == 1 && t.format.Bits() != 5 && t.format.Bits() != 6
	if t.g.EVEX() {
		near = !t.format.Grouped()
	}
	if near && t.prefetching() == prefetchesAhead {
		return 3072
	}
	return int8Ahead
}

const int8Ahead = 8192 // bytes

// A prefetching is which weights a tile prefetches.
type prefetching int

const (
	prefetchesAhead prefetching = iota // those at a distance, see ahead
	prefetchesTwice                    // those at a distance, into L2, and at half of it once more
	prefetchesBlock                    // a block's, where it begins
	prefetchesNone
)

// prefetching returns what the tile does, by measurements of Zen 4. While a row or two wait for
// their weights, buffers are in use, and the core drops prefetches. Those into L2 wait less for
// each other than those into L1, and what was dropped is asked for once more: so one row comes near
// the speed of reading. From L2 and L3 it takes a tenth more time. The prefetcher of a core's L2
// follows one row of a format with one scale a block, and two with 8 bits. They gain less from
// memory, if anything, and lose more from L3: they have no prefetches of their own.
//
// On Granite Rapids one row of a format with one scale a block takes more time without prefetches:
// CPUs with AMX ask, see mayAsk. The other choices are not measured there. They keep prefetches
// into L1, ahead or, as the further bits of 6 bits lie behind the others, where a block begins.
func (t *int8Gemmer) prefetching() prefetching {
	switch {
	case !t.g.EVEX() || !t.whole() || t.rows > fewRows:
	case t.asks && t.format.Bits() == 6:
		return prefetchesBlock
	case t.asks:
	case t.format == ukernel.S8, t.rows == 1 && !t.format.Grouped():
		return prefetchesNone
	default:
		return prefetchesTwice
	}
	return prefetchesAhead
}

// fewRows is the most rows that take so little time that the weights come too late.
const fewRows = 2

// moves tells whether the place to prefetch from moves on with the weights.
func (t *int8Gemmer) moves() bool { return t.prefetching() <= prefetchesTwice }

// startPrefetching emits the start of a tile.
func (t *int8Gemmer) startPrefetching() {
	if t.moves() {
		far := t.g.GP64()
		t.g.LEAQ(emit.At(t.block, t.ahead()), far)
		t.g.MOVQ(far, t.far)
	}
}

// prefetchBlock emits the start of a block.
func (t *int8Gemmer) prefetchBlock() {
	if t.prefetching() != prefetchesBlock {
		return
	}
	_, size := t.sizes(t.format)
	for line := 0; line < size*spec.PanelLanes; line += spec.LineBytes {
		t.g.PREFETCHT0(emit.At(t.block, line))
	}
}

// prefetch emits the prefetches of an iteration of a group of vectors, whole lines; prefetchRest
// emits what is left after the last iteration. Together they take each line of a block once, in the
// order of memory, also where weights are read in another order.
func (t *int8Gemmer) prefetch(iterations int) { t.prefetchBytes(t.linesOf(iterations)) }

func (t *int8Gemmer) prefetchRest(iterations int) {
	if !t.moves() {
		return
	}
	lanes := t.lanes()
	header, size := t.sizes(t.format)
	n := lanes*size - iterations*t.linesOf(iterations)
	if len(t.formats) == 1 {
		t.prefetchBytes(n)
		return
	}
	numbers, bytes := n-lanes*header, t.headers
	switch {
	case t.several && numbers != 0:
		panic("numbers are no whole lines")
	case lanes == someLanes:
		bytes = t.some
	case lanes != spec.PanelLanes:
		panic("nobody knows the size of the headers")
	}
	if t.several {
		n = lanes * ukernel.S4.HeaderBytes()
	}
	far := t.prefetchLines(n)
	t.g.ADDQ(bytes, far)
	if numbers > 0 {
		t.g.ADDQ(operand.U32(numbers), far)
	}
	t.g.MOVQ(far, t.far)
}

// lanes is how many a group of vectors has.
func (t *int8Gemmer) lanes() int { return len(t.acc[0]) * t.g.Lanes() }

// prefetchMinima prefetches what prefetchRest leaves with minima.
func (t *int8Gemmer) prefetchMinima() {
	if !t.moves() {
		return
	}
	lanes := t.lanes()
	from, to := lanes*ukernel.S4.HeaderBytes(), lanes*ukernel.U4.HeaderBytes()
	from = (from + spec.LineBytes - 1) / spec.LineBytes * spec.LineBytes
	if from >= to {
		return
	}
	far := t.g.GP64()
	t.g.MOVQ(t.far, far)
	for line := from; line < to; line += spec.LineBytes {
		t.ask(emit.At(far, line-to))
	}
}

// linesOf is the size of the whole lines that each of the iterations has, of several formats in
// their numbers alone.
func (t *int8Gemmer) linesOf(iterations int) int {
	if iterations == 0 {
		return 0
	}
	header, size := t.sizes(t.format)
	if len(t.formats) > 1 {
		size -= header
	}
	return t.lanes() * size / iterations / spec.LineBytes * spec.LineBytes
}

// prefetchHead prefetches the head of a whole panel.
func (t *int8Gemmer) prefetchHead() {
	if !t.moves() {
		return
	}
	bytes, far := t.g.GP64(), t.prefetchLines(t.format.HeadBytes()*spec.PanelLanes)
	t.g.MOVQ(t.lanes2, bytes)
	if t.format.Halves() > 1 {
		t.g.ADDQ(bytes, bytes)
	}
	t.g.ADDQ(bytes, far)
	t.g.MOVQ(far, t.far)
}

func (t *int8Gemmer) prefetchBytes(n int) {
	if !t.moves() {
		return
	}
	t.prefetchLines(n)
	t.g.ADDQ(operand.U32(n), t.far)
}

// prefetchLines prefetches the lines of some bytes, and returns their start.
func (t *int8Gemmer) prefetchLines(n int) (far reg.GPVirtual) {
	far = t.g.GP64()
	t.g.MOVQ(t.far, far)
	for line := 0; line < n; line += spec.LineBytes {
		t.ask(emit.At(far, line))
	}
	return far
}

// ask prefetches a line.
func (t *int8Gemmer) ask(line operand.Mem) {
	if t.prefetching() == prefetchesAhead {
		t.g.PREFETCHT0(line)
		return
	}
	t.g.PREFETCHT1(line)
	t.g.PREFETCHT1(line.Offset(-int8Ahead / 2))
}
