package neon

import (
	"math/bits"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
)

// WeightWidenQ converts block by block, and in a block 16 lanes after the other.
func (g *neon) WeightWidenQ(q ukernel.PackedFormat) {
	g.Kernel(spec.WeightWidenQ(q))
	w := &blockWidener{g.newBlockCursor(q, 4)}
	g.widenBlocks(w.blockCursor, 16, func(to a64.GP) { g.Op("MOVD", q.BlockBytes(1), to) }, nil, w.lanes16)
}

// A blockCursor is where a part of a block is read and written. Registers that are not used any
// more may be overwritten, but for block, lane, lanes and row.
type blockCursor struct {
	weightMaker
	block, lane, lanes, row    a64.GP // the first lane of the part, the lanes of a block, a row of dst in bytes
	scales, numbers, to, count a64.GP // scales: the lane's
}

// newBlockCursor returns one with pairs for some vectors.
func (g *neon) newBlockCursor(q ukernel.PackedFormat, pairs int) *blockCursor {
	return &blockCursor{weightMaker: g.newWeightMaker(q, pairs), block: g.Slice("b"), lane: g.GP(), lanes: g.Num("lanes"), row: g.GP(),
		scales: g.GP(), numbers: g.GP(), to: g.GP(), count: g.GP()}
}

// widenBlocks emits the body of a kernel: convert is for so many lanes of a block. size
// loads the bytes of a lane in it. Unless it is nil, enter is for the start of a block at which k
// inputs are left.
func (g *neon) widenBlocks(b *blockCursor, width int, size func(to a64.GP), enter func(k a64.GP), convert func()) {
	dst, k, block, lanes := g.Slice("dst"), g.Num("k"), b.block, b.lanes
	g.JumpIfZero(k, "done")
	g.Op("LSL", 2, lanes, b.row)
	g.Label("block")
	if enter != nil {
		enter(k)
	}
	g.Op("MOVD", 0, b.lane)
	g.Label("lanes")
	g.Op("ADD", b.lane.Shl(1), block, b.scales)
	g.Op("ADD", b.lane.Shl(2), dst, b.to)
	g.Scope(convert)
	g.Op("ADD", width, b.lane, b.lane)
	g.Op("CMP", lanes, b.lane)
	g.Jump("BLT", "lanes")
	g.Op("ADD", b.row.Shl(5), dst, dst) // BlockSteps rows
	size(b.count)
	g.Op("MUL", lanes, b.count, b.count)
	g.Op("ADD", b.count, block, block)
	g.CountDown(k, spec.BlockSteps, "block")
	g.Label("done")
	g.Return()
}

// A blockWidener converts 16 lanes of a block.
type blockWidener struct{ *blockCursor }

func (w *blockWidener) lanes16() {
	d := w.scalesOf(w.format.BFloat16Scales(), w.scales, 4)
	w.Op("ADD", w.lanes.Shl(1), w.block, w.numbers)
	w.Scope(func() {
		if w.format.Offset() == 0 {
			w.Op("ADD", w.lanes.Shl(1), w.numbers, w.numbers)
			w.Op("ADD", w.lanes.Shl(1), w.scales, w.scales)
			w.setMinima(w.halves(w.scales, 0, 4))
		} else if !w.format.BFloat16Scales() {
			w.addOffset(d)
		}
	})
	w.Op("ADD", w.lane.Shl(2), w.numbers, w.numbers)
	w.steps(d)
}

// steps goes through the steps with the same word, which lie as many rows apart as a number has
// bits, before it goes to the next word.
func (w *blockWidener) steps(d []a64.Vec) {
	width, at := w.format.Bits(), w.lowest()
	mask, words, xs, zs := w.Broadcast((1<<w.width()-1)<<at), w.Vecs(4), w.Vecs(4), w.Vecs(4)
	qs, by, first, left, shift := w.Vecs(4), w.Vec(), w.scales, w.GP(), w.GP()
	w.Op("MOVD", w.to, first)
	w.Op("MOVD", width, left)
	loop.Times(w.neon, left, "word", func() {
		w.LoadVecs(w.numbers, words)
		w.Op("ADD", w.row, w.numbers, w.numbers)
		w.Op("MOVD", at, shift)
		w.Op("MOVD", w.format.Positions(), w.count)
		loop.Times(w.neon, w.count, "step", func() {
			from := words
			if w.shifts() {
				from = qs
				w.Op("VDUP", shift, by.S4())
				w.Op("SUB", width, shift, shift)
				for v, q := range qs {
					w.USHLWords(q, words[v], by)
					w.lookUp(q)
				}
			}
			w.weights(0, xs, zs, d, func(v int, z a64.Vec) { w.Op("VBIT", mask.B16(), from[v].B16(), z.B16()) })
			w.StoreVecs(xs, w.to)
			if !w.shifts() {
				for _, word := range words {
					w.Op("VUSHR", width, word.S4(), word.S4())
				}
			}
			w.Op("ADD", w.row.Shl(bits.TrailingZeros(uint(width))), w.to, w.to)
		})
		w.Op("ADD", w.row, first, first)
		w.Op("MOVD", first, w.to)
	})
}
