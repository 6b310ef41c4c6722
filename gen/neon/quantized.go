package neon

import (
	"math"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
)

// Products with quantized weights, one row of A after the other, see amd64/quantized.go. The
// panel is taken segment by segment, and a segment half by half of its lanes: 6 accumulators,
// 6 scales, and the rest for making weights.

const (
	halfLanes   = spec.PanelLanes / 2
	halfVectors = halfLanes / emit.VecLanes
)

// A blockGemmer emits one product.
type blockGemmer struct {
	weightMaker
	p, scales, numbers, far a64.GP // in the row of A, in the panel, to prefetch
	cs, count, words, left  a64.GP // count, words: of iterations; left: steps of the segment
	acc, d                  []a64.Vec
	mask                    a64.Vec
}

func (g *neon) WeightGemmQ(q ukernel.PackedFormat) {
	g.Kernel(spec.WeightGemmQ(q))
	t := &blockGemmer{weightMaker: g.newWeightMaker(q, halfVectors),
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
		t.d = t.scalesOf(t.format.BFloat16Scales(), t.scales, halfVectors)
		t.Scope(func() {
			if t.format.Offset() == 0 {
				t.setMinima(t.halves(t.scales, 2*spec.PanelLanes, halfVectors))
			} else if !t.format.BFloat16Scales() {
				t.addOffset(t.d)
			}
		})
		t.Op("MOVD", t.numbers, t.far)
		if t.shifts() {
			t.shifted()
			return
		}
		t.masked("lower", false)
		t.rescale(0x1p16)
		t.masked("upper", true)
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

// scalesOf loads some vectors of scales or minima, bfloat16 or binary16.
func (g *neon) scalesOf(bfloat16 bool, p a64.GP, vectors int) []a64.Vec {
	xs := g.Vecs(vectors)
	g.loadScales(bfloat16, p, 0, xs)
	return xs
}

// loadScales loads those after some bytes behind p.
func (g *neon) loadScales(bfloat16 bool, p a64.GP, after int, xs []a64.Vec) {
	for v := 0; v < len(xs); v += 2 {
		g.LoadFrom(a64.At(p, after+v*emit.VecBytes/2), xs[v])
		if bfloat16 {
			g.SHLL2(xs[v+1], xs[v])
			g.SHLL(xs[v], xs[v])
		} else {
			g.FCVTL2(xs[v+1], xs[v])
			g.FCVTL(xs[v], xs[v])
		}
	}
}

// halves loads some vectors of binary16 from after bytes behind p.
func (g *neon) halves(p a64.GP, after, vectors int) []a64.Vec {
	xs := g.Vecs(vectors)
	g.loadScales(false, p, after, xs)
	return xs
}

const blockAhead = 2048 // bytes

// prefetch prefetches the part of a block blockAhead of far that is as long as a position of it,
// and moves far on.
func (t *blockGemmer) prefetch() {
	size := t.format.BlockBytes(spec.PanelLanes) / t.format.Positions()
	for line := range size/spec.LineBytes + 1 {
		t.Op("PRFM", a64.At(t.far, blockAhead+line*spec.LineBytes), emit.Hint("PLDL1KEEP"))
	}
	t.Op("ADD", size, t.far, t.far)
}

// masked takes the numbers of the lower or upper half of the words where they are in it: masked,
// number j is q·2^(j·bits), and its scale is d·2^(-j·bits), exactly.
func (t *blockGemmer) masked(name string, upper bool) {
	bits := t.format.Bits()
	t.setMask(0)
	t.positions(t.format.Positions()/2, name, func(word a64.Vec) {
		if upper {
			t.Op("VUSHR", 16, word.S4(), word.S4())
		}
	}, func() {
		t.Op("VSHL", bits, t.mask.S4(), t.mask.S4())
		t.rescale(1 / float32(int(1)<<bits))
	})
}

// shifted shifts the numbers to where the weightMaker takes them, to the left at first.
func (t *blockGemmer) shifted() {
	left, by := t.GP(), t.Vec()
	t.setMask(t.lowest())
	next := func() { t.Op("VDUP", left, by.S4()) }
	t.Op("MOVD", t.lowest(), left)
	next()
	t.positions(t.format.Positions(), "step", func(word a64.Vec) {
		t.USHLWords(word, word, by)
		t.lookUp(word)
	}, func() {
		t.Op("SUB", t.format.Bits(), left, left)
		next()
	})
}

// setMask sets the mask to a number's from a bit on.
func (t *blockGemmer) setMask(bit int) {
	t.Op("MOVD", (1<<t.width()-1)<<bit, t.count)
	t.Op("VDUP", t.count, t.mask.S4())
}

// positions emits the loop over n positions: move brings the numbers of a word under the mask.
func (t *blockGemmer) positions(n int, name string, move func(word a64.Vec), next func()) {
	t.Op("MOVD", n, t.count)
	loop.Times(t.neon, t.count, name, func() {
		t.Op("MOVD", t.format.Bits(), t.words)
		t.AlignLoop()
		t.Scope(func() { t.steps(name+"word", move) })
		t.Op("SUB", 4*t.format.Bits()*spec.PanelLanes, t.numbers, t.numbers)
		t.prefetch()
		next()
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
func (t *blockGemmer) steps(name string, move func(word a64.Vec)) {
	const some = 3 // vectors at a time
	x, zs, ws, words := t.Vec(), t.Vecs(some), t.Vecs(some), t.Vecs(some)
	loop.Times(t.neon, t.words, name, func() {
		t.Op("FMOVS", a64.At(t.p, 0), x)
		t.Op("ADD", t.cs, t.p, t.p)
		for v := 0; v < halfVectors; v += some {
			for i, word := range words {
				t.LoadFrom(a64.At(t.numbers, (v+i)*emit.VecBytes), word)
			}
			for _, word := range words {
				move(word)
			}
			t.weights(v, ws, zs, t.d[v:], func(i int, z a64.Vec) { t.Op("VBIT", t.mask.B16(), words[i].B16(), z.B16()) })
			for i, w := range ws {
				t.FMLALane(t.acc[v+i], w, x.S(0))
			}
		}
		t.Op("ADD", 4*spec.PanelLanes, t.numbers, t.numbers)
	})
}
