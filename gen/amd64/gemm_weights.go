package amd64

import (
	"math"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
)

// Weights often come from memory, and few rows of A do not compute for long with them. So products
// with packed panels prefetch in two ways.
//
// Ahead: a register tile prefetches the panel some steps before it needs it. A step of manyFMAs or
// more takes so long that the processor, which looks ahead by some hundred instructions, asks
// memory for little meanwhile. On Zen 4 products with 8 rows gain a fifth by that, those with up to
// 4 rows would lose. On Emerald Rapids all gain, up to a third; a single row of float32 would lose
// 2%. So WeightVariant.Prefetch says whether low tiles prefetch as well: the variants are one
// function, which tests that once an iteration.
//
// The next part: all register tiles but the first one find their part of the panel in the cache,
// and memory would rest meanwhile. So each iteration prefetches some lines of the part that the
// caller needs next, until they are all prefetched. With a single tile there are none: it reads as
// fast as memory gives. With weights from memory, on Zen 3 with AVX2 products with 3 to 8 rows gain
// 15 to 20%, with 12 to 16 rows 40%, and with 32 rows 15%; on Emerald Rapids with AVX-512 9 to 16
// rows of float32 gain 25 to 30%, of float16 10 to 40%, and 48 rows 13 and 3%.

const (
	manyFMAs   = 18   // of a step
	panelAhead = 4096 // bytes
	nextRows   = 16   // of A, with which all of the next part is prefetched
)

// isLow reports whether a tile's steps have few FMAs. A row of pairs has two steps.
func (t *gemmer) isLow(rows int) bool { return rows*t.vectors*t.rowSteps() < manyFMAs }

func (t *gemmer) rowSteps() int {
	if t.element == spec.BF16Pairs {
		return 2
	}
	return 1
}

// prefetchPanel emits the prefetches of a step of a register tile that is not low: the lines that
// begin in the row of B that is panelAhead bytes after b.
func (t *gemmer) prefetchPanel(rows int) {
	if t.weights && !t.isLow(rows) {
		t.prefetchLines(t.vectors * t.bytesOfB())
	}
}

func (t *gemmer) prefetchLines(bytes int) {
	for line := 0; line < bytes; line += spec.LineBytes {
		t.g.PREFETCHT0(emit.At(t.b, panelAhead+line))
	}
}

// prefetchLow emits the prefetches of an iteration of a low tile, which only one variant has. A
// single row of float32 has none.
func (t *gemmer) prefetchLow(rows, steps int, name string) {
	if t.variants == nil || !t.isLow(rows) {
		t.prefetchNext(rows, name)
		return
	}
	if rows == 1 && t.element == spec.Float32 {
		return
	}
	t.g.CMPQ(t.panels, operand.Imm(0))
	t.g.JE(operand.LabelRef(name + "few"))
	t.prefetchLines(steps * t.vectors * t.bytesOfB())
	t.prefetchNext(rows, name)
	t.g.Label(name + "few")
}

// prepareNext prepares the prefetches of the next part, if there are several tiles of rows. One
// tile finds an address behind the end of the part, which is its length as long as nothing is
// written there.
func (t *gemmer) prepareNext(rows int) {
	t.lines = (unroll/t.rowSteps()*t.vectors*t.bytesOfB()*rows + nextRows*spec.LineBytes - 1) / (nextRows * spec.LineBytes)
	t.next, t.nextEnd = t.g.GP64(), t.g.Memory(t.g.Param("next").Len())
	t.g.MOVQ(operand.U64(math.MaxInt64), t.next)
	if t.variants != nil {
		t.g.CMPQ(t.panels, operand.Imm(0))
		t.g.JE(operand.LabelRef("rows"))
	}
	t.g.CMPQ(t.m, operand.U32(rows))
	t.g.JLE(operand.LabelRef("rows"))
	t.g.Comment("The next part of the panel.")
	end := t.g.SliceLen("next")
	t.g.MOVQ(t.g.Memory(t.g.Param("next").Base()), t.next)
	t.g.ADDQ(t.next, end)
	t.g.MOVQ(end, t.nextEnd)
}

// prefetchNext emits the prefetches of an iteration, until all of the next part is prefetched.
func (t *gemmer) prefetchNext(rows int, name string) {
	if t.next == nil || rows == 1 {
		return
	}
	t.g.CMPQ(t.next, t.nextEnd)
	t.g.JGE(operand.LabelRef(name + "all"))
	for i := range t.lines {
		t.g.PREFETCHT1(emit.At(t.next, i*spec.LineBytes))
	}
	t.g.ADDQ(operand.U32(t.lines*spec.LineBytes), t.next)
	t.g.Label(name + "all")
}
