package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A prefetching says how many bytes ahead of what it reads a tile prefetches weights. A core drops
// prefetches while too many lines are under way, and what was dropped is prefetched once more. With
// AVX-512 these are numbers of the call. A distance of 0 is for lines that L1 has, and costs next
// to nothing.
type prefetching struct {
	far   int // into L2
	again int // into L2, by tiles of few rows alone
	near  int // into L1
}

// int8Ahead is the distance of prefetches that have no other.
const int8Ahead = 8192

// withAMX is for CPUs with AMX, by measurements of Granite Rapids. The prefetcher of L2 follows the
// weights within a page: with all prefetches more than a page ahead, memory is read more slowly.
// Prefetches into L2 alone slow weights down that are in L2.
var withAMX = prefetching{far: 4096, near: 1024}

// word has the distances of a call: near, and above it how far it is from there to far.
func (p prefetching) word() uint32 { return uint32(p.far-p.near)<<16 | uint32(p.near) }

// distances keeps the distances of the call.
func (t *int8Gemmer) distances() {
	near, far := t.get(t.near), t.g.GP64()
	t.g.MOVQ(near, far)
	t.g.ANDQ(operand.U32(1<<16-1), near)
	t.g.SHRQ(operand.Imm(16), far)
	t.ahead = t.g.Frame(16)
	t.g.MOVQ(near, t.ahead)
	t.g.MOVQ(far, t.ahead.Offset(8))
}

// prefetching returns what a tile does in calls without distances, as measured on Zen 3 and Zen 4.
// While a row or two wait for their weights, buffers are in use. Prefetches into L2 wait less for
// each other than those into L1: so one row comes near the speed of reading. From L2 and L3 it
// takes a tenth more time. The prefetcher of a core's L2 follows one row of a format with one scale
// a block, and two with 8 bits. They gain less from memory, if anything, and lose more from L3:
// they have no prefetches.
//
// More rows prefetch into L1, once. A product that takes less time than its weights should not be
// far ahead: one row of 4 and 8 bits on AVX2, and formats with one scale a block on AVX-512. Rows
// that take longer, and formats with 5 and 6 bits, gain by more distance.
func (t *int8Gemmer) prefetching() prefetching {
	one, bits := t.rows == 1, t.format.Bits()
	near := one && bits != 5 && bits != 6
	switch {
	case t.few() && one && !t.format.Grouped(): // and others, see startPrefetching
		return prefetching{}
	case t.few():
		return prefetching{far: int8Ahead, again: int8Ahead / 2}
	case t.g.EVEX():
		near = !t.format.Grouped()
	}
	if near {
		return prefetching{near: 3072}
	}
	return prefetching{near: int8Ahead}
}

// few tells whether the tile has so few rows that the weights come too late.
func (t *int8Gemmer) few() bool { return t.g.EVEX() && t.whole() && t.rows <= 2 }

// startPrefetching emits the start of a tile. Up to two rows of S8 have no prefetches of their own
// in calls without distances.
func (t *int8Gemmer) startPrefetching(name string) {
	at := t.prefetching()
	if !t.g.EVEX() {
		near := t.g.GP64()
		t.g.LEAQ(emit.At(t.block, at.near), near)
		t.g.MOVQ(near, t.near)
		return
	}
	t.prefetchAt(at)
	if t.several && t.few() && at != (prefetching{}) {
		t.g.CMPQ(t.which, operand.Imm(uint64(ukernel.S8)))
		t.g.JNE(operand.LabelRef(name + "four"))
		t.prefetchAt(prefetching{})
		t.g.Label(name + "four")
	}
	t.prefetchAsCalled(name)
}

// prefetchAsCalled sets where prefetches are if the call says that. name is the name of a label.
func (t *int8Gemmer) prefetchAsCalled(name string) {
	near := t.get(t.ahead)
	t.g.TESTQ(near, near)
	t.g.JZ(operand.LabelRef(name))
	t.g.ADDQ(t.block, near)
	t.g.MOVQ(near, t.near)
	far := t.get(t.ahead.Offset(8))
	t.g.MOVQ(far, t.far)
	if t.few() {
		t.g.MOVQ(far, t.again)
	}
	t.g.Label(name)
}

// prefetchAt sets where prefetches are.
func (t *int8Gemmer) prefetchAt(p prefetching) {
	near, from := t.g.GP64(), t.g.GP64()
	t.g.LEAQ(emit.At(t.block, p.near), near)
	t.g.MOVQ(near, t.near)
	t.g.MOVQ(operand.I32(p.far-p.near), from)
	t.g.MOVQ(from, t.far)
	if t.few() {
		t.g.MOVQ(operand.I32(p.again-p.near), from)
		t.g.MOVQ(from, t.again)
	}
}

// prefetch emits the prefetches of an iteration of a group of vectors, whole lines; prefetchRest
// emits what is left after the last iteration. Together they take each line of a block once, in the
// order of memory, also where weights are read in another order.
func (t *int8Gemmer) prefetch(iterations int) { t.prefetchBytes(t.linesOf(iterations)) }

func (t *int8Gemmer) prefetchRest(iterations int) {
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
	near := t.prefetchLines(0, n)
	t.g.ADDQ(bytes, near)
	if numbers > 0 {
		t.g.ADDQ(operand.U32(numbers), near)
	}
	t.g.MOVQ(near, t.near)
}

// lanes is how many a group of vectors has.
func (t *int8Gemmer) lanes() int { return len(t.acc[0]) * t.g.Lanes() }

// prefetchMinima prefetches what prefetchRest leaves with minima.
func (t *int8Gemmer) prefetchMinima() {
	lanes := t.lanes()
	from, to := lanes*ukernel.S4.HeaderBytes(), lanes*ukernel.U4.HeaderBytes()
	from = (from + spec.LineBytes - 1) / spec.LineBytes * spec.LineBytes
	if from >= to {
		return
	}
	t.prefetchLines(from-to, 0)
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
	bytes, near := t.g.GP64(), t.prefetchLines(0, t.format.HeadBytes()*spec.PanelLanes)
	t.g.MOVQ(t.lanes2, bytes)
	if t.format.Halves() > 1 {
		t.g.ADDQ(bytes, bytes)
	}
	t.g.ADDQ(bytes, near)
	t.g.MOVQ(near, t.near)
}

func (t *int8Gemmer) prefetchBytes(n int) {
	t.prefetchLines(0, n)
	t.g.ADDQ(operand.U32(n), t.near)
}

// prefetchLines prefetches the lines from a distance to another one, both from near, which it
// returns.
func (t *int8Gemmer) prefetchLines(from, to int) reg.GPVirtual {
	g, near := t.g, t.g.GP64()
	g.MOVQ(t.near, near)
	var others []reg.GPVirtual
	if from < to && g.EVEX() {
		others = append(others, t.get(t.far))
	}
	if from < to && t.few() {
		others = append(others, t.get(t.again))
	}
	for line := from; line < to; line += spec.LineBytes {
		for _, p := range others {
			g.PREFETCHT1(emit.Indexed(near, p, 1).Offset(line))
		}
		g.PREFETCHT0(emit.At(near, line))
	}
	return near
}

func (t *int8Gemmer) get(m operand.Mem) reg.GPVirtual {
	r := t.g.GP64()
	t.g.MOVQ(m, r)
	return r
}
