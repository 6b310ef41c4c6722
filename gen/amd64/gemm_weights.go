package amd64

import (
	"math"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Weights often come from memory, and few rows of A do not compute for long with them. So products
// with packed panels prefetch in two ways.
//
// Ahead: a register tile prefetches the panel some steps before it needs it. A step of busy FMAs
// or more takes so long that the processor, which looks ahead by some hundred instructions, asks
// memory for little meanwhile. On Zen 4 products with 8 rows gain a fifth by that, those with up to
// 4 rows would lose. On Emerald Rapids all gain, up to a third; a single row of float32 would lose
// 2%. So WeightVariant.Prefetch says whether low tiles prefetch as well.
//
// The next part: all register tiles but the first one find their part of the panel in the cache,
// and memory would rest meanwhile. So each iteration prefetches some lines of the part that the
// caller needs next, until they are all asked for. With a single tile there are none: it reads as
// fast as memory gives. With weights from memory, on Zen 3 with AVX2 products with 3 to 8 rows gain
// 15 to 20%, with 12 to 16 rows 40%, and with 32 rows 15%; on Emerald Rapids with AVX-512 9 to 16 rows
// of float32 gain 25 to 30%, of float16 10 to 40%, and 48 rows 13 and 3%.

const (
	busy       = 18   // FMAs of a step
	panelAhead = 4096 // bytes
	nextRows   = 16   // of A, with which all of the next part is asked for
)

// fetchesNext reports whether the tiles of a product prefetch the next part. High tiles do in one of
// the variants, low ones in any case.
func (t *gemmer) fetchesNext(rows int) bool {
	return t.weights && (rows*t.vectors < busy || t.variant.Prefetch > 0)
}

// prefetchPanel emits the prefetches of a step of a register tile: the lines that begin in the
// row of B that is panelAhead bytes after the one d bytes from b. A single row of float32 has none.
func (t *gemmer) prefetchPanel(rows int, b reg.GPVirtual, d int) {
	isLow := rows*t.vectors < busy
	if !t.weights || isLow && t.variant.Prefetch == 0 || rows == 1 && t.element == spec.Float32 {
		return
	}
	first := -d & (spec.LineBytes - 1)
	for line := first; line < t.vectors*t.bytesOfB(); line += spec.LineBytes {
		t.g.PREFETCHT0(emit.At(b, panelAhead+d+line))
	}
}

// prepareNext prepares the prefetches of the next part, if there are several tiles of rows. One tile
// finds an address behind the end of the part, which is its length as long as nothing is written
// there.
func (t *gemmer) prepareNext(rows int) {
	t.lines = (unroll*t.vectors*t.bytesOfB()*rows + nextRows*spec.LineBytes - 1) / (nextRows * spec.LineBytes)
	t.next, t.nextEnd = t.g.GP64(), t.g.Memory(t.g.Param("next").Len())
	t.g.MOVQ(operand.U64(math.MaxInt64), t.next)
	t.g.CMPQ(t.m, operand.U32(rows))
	t.g.JLE(operand.LabelRef("rows"))
	t.g.Comment("The next part of the panel.")
	end := t.g.SliceLen("next")
	t.g.MOVQ(t.g.Memory(t.g.Param("next").Base()), t.next)
	t.g.ADDQ(t.next, end)
	t.g.MOVQ(end, t.nextEnd)
}

// prefetchNext emits the prefetches of an iteration, until the next part is asked for.
func (t *gemmer) prefetchNext(name string) {
	if t.next == nil {
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
