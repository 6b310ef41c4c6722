package neon

import (
	"math"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// Products with quantized weights, one row of A after the other, see amd64/quantized.go. The
// panel is taken segment by segment, and a segment half by half of its lanes: 6 accumulators,
// 6 scales, and the rest for making weights.

const (
	halfLanes   = spec.PanelLanes / 2
	halfVectors = halfLanes / emit.VecLanes
)

// A weightMaker makes weights of numbers. The Neoverse cores convert integers on half of their vector units, in two
// steps each. So a number, of up to 23 bits, becomes a float32 as the lowest bits of 2^23, which is subtracted then:
// exact. A weight is its product with d, added to a register with the minimum. Both registers are overwritten,
// and loaded: there are loads to spare. On the stack each vector of lanes has this pair, 2^23 and the minimum.
type weightMaker struct {
	*neon
	pairs a64.GP
	magic a64.Vec
}

const numberMagic = 0x4b000000 // 2^23

// newWeightMaker makes pairs for n vectors.
func (g *neon) newWeightMaker(n int) weightMaker {
	w := weightMaker{neon: g, pairs: g.GP(), magic: g.Broadcast(numberMagic)}
	g.Op("MOVD", g.Frame(2 * n)[0].Addr(), w.pairs)
	for v := range n {
		g.StoreTo(w.magic, a64.At(w.pairs, 2*v*emit.VecBytes))
	}
	return w
}

// setMinima stores those of the first vectors.
func (w *weightMaker) setMinima(m []a64.Vec) {
	for v, x := range m {
		w.StoreTo(x, a64.At(w.pairs, (2*v+1)*emit.VecBytes))
	}
}

// weight sets x to the weights of vector v, where insert puts the numbers into z.
func (w *weightMaker) weight(v int, x, z, d a64.Vec, insert func()) {
	w.Op("FLDPQ", a64.At(w.pairs, 2*v*emit.VecBytes), a64.Pair{First: z, Second: x})
	insert()
	w.FSUB(z, z, w.magic)
	w.Op("VFMLA", d.S4(), z.S4(), x.S4())
}

// A blockGemmer emits one product.
type blockGemmer struct {
	weightMaker
	format spec.BlockFormat

	p, scales, numbers, far a64.GP // in the row of A, in the panel, to prefetch
	cs, count, words, left  a64.GP // count, words: of iterations; left: steps of the segment
	acc, d                  []a64.Vec
	mask                    a64.Vec
}

func (g *neon) WeightGemmQ(q spec.BlockFormat) {
	g.Kernel(spec.WeightGemmQ(q))
	t := &blockGemmer{weightMaker: g.newWeightMaker(halfVectors), format: q,
		p: g.GP(), scales: g.GP(), numbers: g.GP(), far: g.GP(), count: g.GP(), words: g.GP(), left: g.GP(), mask: g.Vec()}
	a, c, m, rs, ldc := g.Slice("a"), g.Slice("c"), g.Num("m"), g.Stride("rs"), g.Stride("ldc")
	t.cs = g.Stride("cs")
	block, start, left, steps, adds, lane := g.GP(), g.GP(), g.GP(), g.GP(), g.GP(), g.GP()
	t.acc = g.Vecs(halfVectors)
	loop.AnyTimes(g, m, "row", "done", false, func() {
		g.Load(g.Base("b"), block)
		g.Load(g.Param("k"), left)
		g.Load(g.Param("load"), adds)
		g.Op("MOVD", a, start)
		g.Label("segment")
		g.Op("MOVD", spec.InputSegment, steps)
		g.Op("CMP", steps, left)
		g.Op("CSEL", a64.LT, left, steps, steps)
		g.Op("SUB", steps, left, left)
		g.Op("MOVD", 0, lane)
		g.Label("half")
		t.half(block, lane, start, steps)
		t.sum(c, lane, adds)
		g.Op("ADD", halfLanes, lane, lane)
		g.Op("CMP", spec.PanelLanes, lane)
		g.Jump("BLT", "half")
		g.Op("MOVD", t.p, start)
		g.Op("SUB", 2*halfLanes, t.scales, block)
		g.Op("MOVD", 1, adds)
		g.Jump("CBNZ", "segment", left)
		g.Op("ADD", rs, a, a)
		g.Op("ADD", ldc, c, c)
	})
	g.Return()
}

// half emits the chains of a segment for the lanes from lane on.
func (t *blockGemmer) half(block, lane, start, steps a64.GP) {
	t.Op("MOVD", start, t.p)
	t.Op("ADD", lane.Shl(1), block, t.scales)
	t.Op("ADD", spec.PanelLanes*t.format.HeaderBytes(), block, t.numbers)
	t.Op("ADD", lane.Shl(2), t.numbers, t.numbers)
	for _, v := range t.acc {
		t.Zero(v)
	}
	t.Op("MOVD", steps, t.left)
	t.Label("block")
	t.Scope(func() {
		t.d = t.halves(t.scales, 0, halfVectors)
		t.Scope(func() {
			if t.format.Offset() == 0 {
				t.setMinima(t.halves(t.scales, 2*spec.PanelLanes, halfVectors))
			} else {
				t.setMinima(t.minima(t.format, t.d))
			}
		})
		t.Op("MOVD", t.numbers, t.far)
		t.positions("lower", false)
		t.rescale(0x1p16)
		t.positions("upper", true)
	})
	size := t.format.BlockBytes(spec.PanelLanes)
	t.Op("ADD", size, t.scales, t.scales)
	t.Op("ADD", size, t.numbers, t.numbers)
	t.Op("SUBS", spec.BlockSteps, t.left, t.left)
	t.Jump("BNE", "block")
}

// sum adds the accumulators to C, unless they are the first ones.
func (t *blockGemmer) sum(c, lane, adds a64.GP) {
	t.Op("ADD", lane.Shl(2), c, t.count)
	t.Jump("CBZ", "store", adds)
	t.Scope(func() {
		old := t.Vecs(halfVectors)
		for v, x := range old {
			t.LoadFrom(a64.At(t.count, v*emit.VecBytes), x)
			t.FADD(t.acc[v], t.acc[v], x)
		}
	})
	t.Label("store")
	for v, x := range t.acc {
		t.StoreTo(x, a64.At(t.count, v*emit.VecBytes))
	}
}

// halves loads some vectors of binary16 from after bytes behind p.
func (g *neon) halves(p a64.GP, after, vectors int) []a64.Vec {
	xs := g.Vecs(vectors)
	for v := 0; v < vectors; v += 2 {
		g.LoadFrom(a64.At(p, after+v*emit.VecBytes/2), xs[v])
		g.FCVTL2(xs[v+1], xs[v])
		g.FCVTL(xs[v], xs[v])
	}
	return xs
}

// minima returns those of the offset of the numbers.
func (g *neon) minima(q spec.BlockFormat, d []a64.Vec) []a64.Vec {
	m, offset := g.Vecs(len(d)), g.Broadcast(math.Float32bits(-float32(q.Offset())))
	for v := range m {
		g.FMUL(m[v], d[v], offset)
	}
	g.Free(offset)
	return m
}

const blockAhead = 2048 // bytes

// prefetch prefetches the part of a block blockAhead of far that is as long as one of its positions,
// and moves far on.
func (t *blockGemmer) prefetch() {
	size := t.format.BlockBytes(spec.PanelLanes) / t.format.Positions()
	for line := range size/spec.LineBytes + 1 {
		t.Op("PRFM", a64.At(t.far, blockAhead+line*spec.LineBytes), emit.Hint("PLDL1KEEP"))
	}
	t.Op("ADD", size, t.far, t.far)
}

// positions takes the numbers of the lower or upper half of the words where they are in it: masked, number j is
// q·2^(j·bits), and its scale is d·2^(-j·bits), exactly.
func (t *blockGemmer) positions(name string, upper bool) {
	bits := t.format.Bits()
	t.Op("MOVD", 1<<bits-1, t.count)
	t.Op("VDUP", t.count, t.mask.S4())
	t.Op("MOVD", t.format.Positions()/2, t.count)
	loop.Times(t.neon, t.count, name, func() {
		t.Op("MOVD", bits, t.words)
		t.AlignLoop()
		t.Scope(func() { t.steps(name+"word", upper) })
		t.Op("SUB", 4*bits*spec.PanelLanes, t.numbers, t.numbers)
		t.prefetch()
		t.Op("VSHL", bits, t.mask.S4(), t.mask.S4())
		t.rescale(1 / float32(int(1)<<bits))
	})
}

// rescale multiplies the scales.
func (t *blockGemmer) rescale(by float32) {
	factor := t.Broadcast(math.Float32bits(by))
	for _, d := range t.d {
		t.FMUL(d, d, factor)
	}
	t.Free(factor)
}

// steps emits the loop over the words of a position.
func (t *blockGemmer) steps(name string, upper bool) {
	x, zs, ws, words := t.Vec(), t.Vecs(3), t.Vecs(3), t.Vecs(3)
	loop.Times(t.neon, t.words, name, func() {
		t.Op("FMOVS", a64.At(t.p, 0), x)
		t.Op("ADD", t.cs, t.p, t.p)
		for v, acc := range t.acc {
			z, w, word := zs[v%3], ws[v%3], words[v%3]
			t.LoadFrom(a64.At(t.numbers, v*emit.VecBytes), word)
			if upper {
				t.Op("VUSHR", 16, word.S4(), word.S4())
			}
			t.weight(v, w, z, t.d[v], func() { t.Op("VBIT", t.mask.B16(), word.B16(), z.B16()) })
			t.FMLALane(acc, w, x.S(0))
		}
		t.Op("ADD", 4*spec.PanelLanes, t.numbers, t.numbers)
	})
}

// WeightWidenQ converts block by block, and in a block 16 lanes after the other.
func (g *neon) WeightWidenQ(q spec.BlockFormat) {
	g.widenBlocks(q, 16, 4, func(b *blockCursor) {
		(&blockWidener{b}).lanes16()
	})
}

// A blockCursor is where a part of a block is read and written. Registers that are not used any more may be
// overwritten, but for block, lane, lanes and row.
type blockCursor struct {
	weightMaker
	format                     spec.BlockFormat
	block, lane, lanes, row    a64.GP // the first lane of the part, the lanes of a block, a row of dst in bytes
	scales, numbers, to, count a64.GP // scales: those of lane
}

// widenBlocks emits the kernel of a format: convert is for so many lanes of a block, and has pairs for some vectors.
func (g *neon) widenBlocks(q spec.BlockFormat, width, pairs int, convert func(b *blockCursor)) {
	g.Kernel(spec.WeightWidenQ(q))
	dst, block, lanes, k := g.Slice("dst"), g.Slice("b"), g.Num("lanes"), g.Num("k")
	b := &blockCursor{weightMaker: g.newWeightMaker(pairs), format: q, block: block, lane: g.GP(), lanes: lanes, row: g.GP(),
		scales: g.GP(), numbers: g.GP(), to: g.GP(), count: g.GP()}
	g.JumpIfZero(k, "done")
	g.Op("LSL", 2, lanes, b.row)
	g.Label("block")
	g.Op("MOVD", 0, b.lane)
	g.Label("lanes")
	g.Op("ADD", b.lane.Shl(1), block, b.scales)
	g.Op("ADD", b.lane.Shl(2), dst, b.to)
	g.Scope(func() { convert(b) })
	g.Op("ADD", width, b.lane, b.lane)
	g.Op("CMP", lanes, b.lane)
	g.Jump("BLT", "lanes")
	g.Op("ADD", b.row.Shl(5), dst, dst) // BlockSteps rows
	g.Op("MOVD", q.BlockBytes(1), b.count)
	g.Op("MUL", lanes, b.count, b.count)
	g.Op("ADD", b.count, block, block)
	g.CountDown(k, spec.BlockSteps, "block")
	g.Label("done")
	g.Return()
}

// A blockWidener converts 16 lanes of a block.
type blockWidener struct{ *blockCursor }

func (w *blockWidener) lanes16() {
	d := w.halves(w.scales, 0, 4)
	w.Op("ADD", w.lanes.Shl(1), w.block, w.numbers)
	w.Scope(func() {
		if w.format.Offset() == 0 {
			w.Op("ADD", w.lanes.Shl(1), w.numbers, w.numbers)
			w.Op("ADD", w.lanes.Shl(1), w.scales, w.scales)
			w.setMinima(w.halves(w.scales, 0, 4))
		} else {
			w.setMinima(w.minima(w.format, d))
		}
	})
	w.Op("ADD", w.lane.Shl(2), w.numbers, w.numbers)
	w.steps(d)
}

// steps goes through the steps with the same word, which lie as many rows apart as a number has bits,
// before it goes to the next word.
func (w *blockWidener) steps(d []a64.Vec) {
	bits, shift := w.format.Bits(), map[int]int{4: 2, 8: 3}[w.format.Bits()]
	mask, words, xs, zs := w.Broadcast(1<<bits-1), w.Vecs(4), w.Vecs(4), w.Vecs(2)
	first, left := w.scales, w.GP()
	w.Op("MOVD", w.to, first)
	w.Op("MOVD", bits, left)
	loop.Times(w.neon, left, "word", func() {
		w.LoadVecs(w.numbers, words)
		w.Op("ADD", w.row, w.numbers, w.numbers)
		w.Op("MOVD", w.format.Positions(), w.count)
		loop.Times(w.neon, w.count, "step", func() {
			for v, word := range words {
				z := zs[v%2]
				w.weight(v, xs[v], z, d[v], func() { w.Op("VBIT", mask.B16(), word.B16(), z.B16()) })
				w.Op("VUSHR", bits, word.S4(), word.S4())
			}
			w.StoreVecs(xs, w.to)
			w.Op("ADD", w.row.Shl(shift), w.to, w.to)
		})
		w.Op("ADD", w.row, first, first)
		w.Op("MOVD", first, w.to)
	})
}
