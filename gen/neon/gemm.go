package neon

import (
	"fmt"

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
	shape    spec.TileShape
	element  spec.Element
	epilogue spec.Epilogue

	isWeights bool

	a, c, m      a64.GP   // as in amd64/gemm.go
	cs, ldb, ldc a64.GP   // in bytes
	row          []a64.GP // row[i] is i·rs, in bytes
	p, b, k      a64.GP
	x            a64.GP // scratch

	first, more, rest, left, adds, height, start a64.Param // as in amd64/gemm.go

	all, acc [][]a64.Vec // all accumulators, and those of the current tile, which are the last ones
}

func (g *neon) Gemm(s spec.TileShape, e spec.Epilogue) {
	g.Kernel(spec.Gemm(s.Vectors, s.Vectors*emit.VecLanes, e, "NEON"))
	t := &gemmer{neon: g, shape: s, epilogue: e}
	t.emit(s.Rows)
}

func (g *neon) WeightGemm(s spec.TileShape, b spec.Element) {
	g.Kernel(spec.WeightGemm(b))
	t := &gemmer{neon: g, shape: s, element: b, isWeights: true}
	t.emit(s.Rows)
}

// emit emits the loop over the rows, which are divided as in amd64/gemm.go.
func (t *gemmer) emit(rows int) {
	t.p, t.b, t.k = t.GP(), t.GP(), t.GP()
	if t.epilogue != spec.StoreMerge {
		t.single()
		defer t.cut()
	}
	t.a, t.c, t.m = t.Slice("a"), t.Slice("c"), t.Num("m")
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
	for h := 1; h <= rows; h++ { // one row first: some calls have no more
		t.Op("CMP", h, t.x)
		t.Jump("BEQ", tileLabel(h))
	}
	t.Label("done")
	t.Ret()

	t.all = make([][]a64.Vec, rows)
	for i := range t.all {
		t.all[i] = t.Vecs(t.shape.Vectors)
	}
	e := t.newEnd()
	for h := rows; h > 0; h-- {
		t.Scope(func() { t.one(h, e) })
	}
	t.store(e)
}

// one emits a register tile of a number of rows, up to where its sums are stored.
func (t *gemmer) one(rows int, e end) {
	name := tileLabel(rows)
	t.Commentf("Tile of %d × %d vectors.", rows, t.shape.Vectors)
	t.Label(name)
	t.acc = t.all[len(t.all)-rows:]
	t.Op("MOVD", t.a, t.p)
	t.Load(t.Base("b"), t.b)
	t.Op("SUB", rows, t.m, t.m)
	t.Op("ADD", t.row[1], t.a, t.a)
	if rows > 1 {
		t.Op("ADD", t.row[rows-1], t.a, t.a)
	}
	if t.epilogue == spec.StoreMerge {
		t.Load(t.Param("k"), t.k)
	} else {
		t.Load(t.first, t.k)
		t.Label(name + "segment")
	}
	t.zeros()
	t.Scope(func() {
		t.Free(e.vecs()...)
		for _, unused := range t.all[:len(t.all)-rows] {
			t.Free(unused)
		}
		t.steps(name)
	})
	t.toStore(rows, e)
}

// zeros clears the accumulators.
func (t *gemmer) zeros() {
	for i := range t.acc {
		for _, v := range t.acc[i] {
			t.Zero(v)
		}
	}
}

func tileLabel(rows int) string { return fmt.Sprintf("tile%d", rows) }
