package neon

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// Gemm follows amd64/gemm.go. An FMA takes the number of A from any lane of a register. So one
// load could bring several of them, but loads of single numbers take no longer than the FMAs,
// except in a tile of one vector, see gemm_steps.go.
//
// The register tile of WeightGemm has more vectors than rows. There the numbers of A stay
// in registers, and the vectors of B are loaded one by one.
//
// Vector registers: rows × vectors accumulators, the rows of B of an iteration, and the
// remaining ones for A. General registers: c, ldc, a, m, cs, ldb, the inner loop's p, b and
// k, one scratch, and i·rs for each row but the first. What only segments need is in memory, in
// the place of arguments, as in amd64/gemm.go.

// A gemmer emits one product.
type gemmer struct {
	*neon
	shape   spec.TileShape
	element spec.Element

	segment int  // as in amd64/gemm.go
	evenOdd bool // a product in bfloat16, see amd64/gemm_evenodd.go

	a, c, m      a64.GP   // as in amd64/gemm.go
	cs, ldb, ldc a64.GP   // in bytes
	row          []a64.GP // row[i] is i·rs, in bytes
	p, b, k      a64.GP
	x            a64.GP // scratch

	first, mode, rest, left, begins, adds, height, start, maxima, alphas, betas a64.Param // as in amd64/gemm.go

	spans            []emit.Span   // of heights, that have an inner loop together
	heights          *emit.Heights // of the current tile
	all, acc         [][]a64.Vec   // all accumulators, and the current tile's, which are the first ones
	allOdds, accOdds [][]a64.Vec   // the same for the chains of odd steps
}

// The modes, as in amd64/gemm.go.
const (
	storeOne = iota
	storeMore
	merge
	maxOne
	maxMore
)

// memory gives these numbers the places of arguments as in amd64/gemm.go.
func (t *gemmer) memory() {
	t.first, t.mode, t.left = t.Param("k").Local(), t.Len("c").Local(), t.Len("a").Local()
	t.adds, t.height, t.start = t.Cap("a").Local(), t.Len("b").Local(), t.Cap("b").Local()
	t.rest, t.begins = t.Base("a").Local(), t.Param("m").Local()
	t.maxima, t.alphas, t.betas = t.Cap("c").Local(), t.Cap("c").Local(), t.Cap("a").Local()
}

func (g *neon) Gemm(s spec.TileShape, e spec.Epilogue) {
	name := fmt.Sprintf("tileProduct%d", s.Vectors)
	fn := spec.Gemm(s.Vectors, s.Vectors*emit.VecLanes, e)
	if e == spec.Store {
		g.Shared(name, fn, "is Gemm, GemmMax or GemmMerge, which jump to it.")
		t := &gemmer{neon: g, shape: s}
		t.emit(s.Rows)
	}
	g.Kernel(fn)
	t := &gemmer{neon: g}
	t.memory()
	mode := g.GP()
	switch e {
	case spec.Store:
		g.Op("MOVD", storeOne, mode)
	case spec.StoreMax:
		g.Op("MOVD", maxOne, mode)
		g.Move(g.Base("max"), t.maxima)
	case spec.StoreMerge:
		g.Op("MOVD", merge, mode)
		g.Move(g.Base("alpha"), t.alphas)
		g.Move(g.Base("beta"), t.betas)
	}
	g.Op("MOVD", mode, t.mode)
	g.TailJump(name)
}

func (g *neon) WeightGemm(s spec.TileShape, b spec.Element) {
	g.Kernel(spec.WeightGemm(b))
	t := &gemmer{neon: g, shape: s, element: b, segment: spec.InputSegment}
	t.emit(s.Rows)
}

// EvenOdd emits GemmEvenOdd. Register tiles have two chains for a sum, and half the height.
func (g *neon) EvenOdd(s spec.TileShape) {
	s.Rows /= 2
	g.Kernel(spec.GemmEvenOdd(s.Vectors, s.Vectors*emit.VecLanes))
	t := &gemmer{neon: g, shape: s, segment: spec.BF16Segment, evenOdd: true}
	t.emit(s.Rows)
}

// emit emits the loop over the rows, which are divided as in amd64/gemm.go.
func (t *gemmer) emit(rows int) {
	t.p, t.b, t.k = t.GP(), t.GP(), t.GP()
	t.memory()
	t.a, t.c, t.m = t.Slice("a"), t.Slice("c"), t.Num("m")
	t.single()
	defer t.cut()
	t.cs, t.ldb, t.ldc = t.Stride("cs"), t.Num("ldb"), t.Stride("ldc")
	t.Op("LSL", t.element.Shift(), t.ldb, t.ldb)
	t.row = []a64.GP{{}, t.Stride("rs")}
	for len(t.row) < rows {
		r := t.GP()
		t.Op("ADD", t.row[1], t.row[len(t.row)-1], r)
		t.row = append(t.row, r)
	}

	t.Commentf("Tiles of %d rows while that many are left for another one after; the last two share the rest.", rows)
	t.Label("rows")
	t.Op("CMP", 2*rows, t.m)
	t.Jump("BGE", tileLabel(rows))
	t.Op("CMP", rows, t.m)
	t.Jump("BEQ", tileLabel(rows))
	t.x = t.GP() // the height
	t.Op("MOVD", t.m, t.x)
	t.Jump("BLT", "last")
	t.Op("ADD", 1, t.x, t.x)
	t.Op("LSR", 1, t.x, t.x)
	t.Label("last")
	t.Jump("CBZ", "done", t.x)
	t.spans = t.spansOf(rows)
	for _, s := range slices.Backward(t.spans) { // one row first: some calls have no more
		t.Op("CMP", s.Most, t.x)
		t.Jump("BLE", tileLabel(s.Most))
	}
	t.Label("done")
	t.Ret()

	t.all = make([][]a64.Vec, rows)
	for i := range t.all {
		t.all[i] = t.Vecs(t.shape.Vectors)
		if t.evenOdd {
			t.allOdds = append(t.allOdds, t.Vecs(t.shape.Vectors))
		}
	}
	for _, s := range t.spans {
		t.tile(s)
	}
	t.store()
}

// spansOf parts the heights up to a number of rows: the full one and a single row have a loop of
// their own, and the others share some. Each has its own if a step is short, as jumps would be much
// of it: with one vector, and where rows are passed several times in a step.
func (t *gemmer) spansOf(rows int) []emit.Span {
	spans := []emit.Span{{Least: rows, Most: rows}}
	for most := rows - 1; most > 0; most = spans[len(spans)-1].Least - 1 {
		least := min(most, max(2, most-emit.MostHeights+1))
		if isWide(t.shape) || t.shape.Vectors == 1 {
			least = most
		}
		spans = append(spans, emit.Span{Least: least, Most: most})
	}
	return spans
}

// tile emits register tiles of a span, up to where their sums are stored.
func (t *gemmer) tile(s emit.Span) {
	name, rows := tileLabel(s.Most), s.Most
	t.Commentf("Tile of %v × %d vectors.", s, t.shape.Vectors)
	t.Label(name)
	t.acc = t.all[:rows]
	t.heights = t.NewHeights(name, s, func() a64.GP {
		t.Load(t.height, t.x)
		return t.x
	})
	t.Op("MOVD", t.a, t.p)
	if s.Single() {
		t.Op("SUB", rows, t.m, t.m)
		t.Op("ADD", t.row[1], t.a, t.a)
		if rows > 1 {
			t.Op("ADD", t.row[rows-1], t.a, t.a)
		}
	} else {
		t.Op("MOVD", t.x, t.height)
		t.Op("SUB", t.x, t.m, t.m)
		t.Op("MUL", t.row[1], t.x, t.x)
		t.Op("ADD", t.x, t.a, t.a)
	}
	t.Load(t.Base("b"), t.b)
	t.Load(t.first, t.k)
	t.Label(name + "segment")
	t.zeros(t.acc)
	if t.evenOdd {
		t.accOdds = t.allOdds[:rows]
		t.zeros(t.accOdds)
	}
	t.Scope(func() {
		for i := rows; i < len(t.all); i++ {
			t.Free(t.all[i])
			if t.evenOdd {
				t.Free(t.allOdds[i])
			}
		}
		if t.evenOdd {
			t.evenOddSteps(name)
		} else {
			t.steps(name)
		}
	})
	t.toStore(s)
}

// zeros clears the accumulators.
func (t *gemmer) zeros(acc [][]a64.Vec) {
	for i := range acc {
		for _, v := range acc[i] {
			t.Zero(v)
		}
	}
}

func tileLabel(rows int) string { return fmt.Sprintf("tile%d", rows) }
