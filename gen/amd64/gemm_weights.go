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
// The part that follows: all register tiles but the first one find the part of the panel in the
// cache, and memory would rest meanwhile. So each iteration prefetches some lines of the part
// after the given one, which is the next one that the caller needs, until they are all asked
// for. With a single tile there are none: it reads as fast as memory gives. With weights from
// memory, on Zen 3 with AVX2 products with 3 to 8 rows gain 15 to 20%, with 12 to 16 rows 40%, and
// with 32 rows 15%; on Emerald Rapids with AVX-512 9 to 16 rows of float32 gain 25 to 35%, of
// float16 10 to 40%, and 32 rows 17 and 5%.

const (
	busy        = 18   // FMAs of a step
	panelAhead  = 4096 // bytes
	followsRows = 16   // that prefetch all of the part that follows
)

// follows reports whether the tiles of a product prefetch the part that follows. High tiles do
// in one of the variants, low ones in any case.
func (t *gemmer) follows(rows int) bool {
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

// followPart prepares the prefetches of the part that follows, if there are several tiles of rows.
// One tile finds an address behind the end of the part, which is the length of b as long as nothing
// is written there.
func (t *gemmer) followPart(rows int) {
	t.lines = (unroll*t.vectors*t.bytesOfB()*rows + followsRows*spec.LineBytes - 1) / (followsRows * spec.LineBytes)
	t.follow, t.followed = t.g.GP64(), t.g.Memory(t.g.Param("b").Len())
	t.g.MOVQ(operand.U64(math.MaxInt64), t.follow)
	t.g.CMPQ(t.m, operand.U32(rows))
	t.g.JLE(operand.LabelRef("rows"))
	t.g.Comment("The part of the panel that follows.")
	end := t.g.Slice("b")
	t.g.MOVQ(t.first, t.follow)
	t.g.CMPQ(t.more, operand.Imm(0))
	t.g.JE(operand.LabelRef("part"))
	t.g.ADDQ(t.rest, t.follow)
	t.g.Label("part")
	t.g.IMULQ(t.ldb, t.follow)
	t.g.ADDQ(t.follow, end)
	t.g.XCHGQ(t.follow, end)
	t.g.ADDQ(t.follow, end)
	t.g.MOVQ(end, t.followed)
}

// followSteps emits the loop of a register tile, or what is left of it until the part that follows is
// asked for. Then t.steps goes on.
func (t *gemmer) followSteps(acc [][]reg.VecVirtual, k, p, b reg.GPVirtual, name string) {
	t.g.CMPQ(t.follow, t.followed)
	t.g.JGE(operand.LabelRef(name + "all"))
	t.g.Comment("The same as below, with lines of the part that follows.")
	t.g.Label(name + "follow")
	for range unroll {
		t.step(acc, p, b)
	}
	for i := range t.lines {
		t.g.PREFETCHT1(emit.At(t.follow, i*spec.LineBytes))
	}
	t.g.ADDQ(operand.U32(t.lines*spec.LineBytes), t.follow)
	t.g.SUBQ(operand.Imm(unroll), k)
	t.g.JGE(operand.LabelRef(name + "follow"))
	t.g.JMP(operand.LabelRef(name + "fewer"))
	t.g.Label(name + "all")
}
