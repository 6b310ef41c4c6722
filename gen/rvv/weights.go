package rvv

import (
	"fmt"

	"github.com/attn-go/attn/gen/abi0"
	"github.com/attn-go/attn/gen/riscv"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
)

// Weights that are no float32 are widened in registers, for a few rows of A at a time: products of
// many rows widen them once in memory, see linear/job.go, and then are WeightGemm. The loops are,
// from outside,
//
//	segments of InputSegment steps, so that the part of the panel stays in L1
//	parts of the panel's lanes, as many as a group has
//	some rows of A
//	steps
//
// A part has one code for vectors of any length: with 128 bits a panel is 3 parts.

// wide is the size of the groups of weights: 4 rows of sums, weights, and scales and minima are 7.
const wide = 4

// weightRows are the heights of register tiles.
var weightRows = []int{4, 1}

// A panel has the registers of a product with widened weights.
type panel struct {
	*gen
	c, ldc, a, rs, cs, b, left riscv.GP // c has all lanes; b and a begin with the segment; steps from it on
	lanes, off, steps          riscv.GP // lanes from the part on; bytes of float32 before it; steps of the segment
	ci, ai, rows               riscv.GP // of the rows of A from the tile on
	column, row, n, p, x       riscv.GP // at a step of the tile
	acc                        []riscv.Vec
	fs                         []riscv.FP
	v                          riscv.Vec // the weights of a step
}

// A widener emits what differs between types of weights.
type widener interface {
	// steps emits the steps of a segment: product for each, with its weights in v.
	steps(t *panel, tile string, product func())
	// next moves b on by the steps of a segment.
	next(t *panel)
}

// widened emits a product. registers allocates the type's registers, after the product's own.
func (g *gen) widened(registers func(t *panel) widener) {
	t := &panel{gen: g, c: g.Load(g.Base("c")), ldc: g.stride("ldc"), a: g.Load(g.Base("a")), rs: g.stride("rs"), cs: g.stride("cs"),
		b: g.Load(g.Base("b")), left: g.Load(g.Param("k")),
		lanes: g.GP(), off: g.GP(), steps: g.GP(), ci: g.GP(), ai: g.GP(), rows: g.GP(),
		column: g.GP(), row: g.GP(), n: g.GP(), p: g.GP(), x: g.GP()}
	g.Op("MOVBU", g.Param("load"), t.x)
	g.Op("MOV", t.x, t.adds())
	t.v = g.Vec(wide)
	w := registers(t)
	t.acc, t.fs = g.Vecs(weightRows[0], wide), g.fps(weightRows[0])

	g.Label("segment")
	g.Op("MOV", t.left, t.steps)
	g.Op("MOV", spec.InputSegment, t.x)
	g.Jump("BGE", "short", t.x, t.left)
	g.Op("MOV", t.x, t.steps)
	g.Label("short")
	g.Op("MOV", spec.PanelLanes, t.lanes)
	g.Op("MOV", riscv.Zero, t.off)
	g.Label("lanes")
	g.SetLanes(t.lanes, wide, t.x)
	g.Op("ADD", t.off, t.c, t.ci)
	g.Op("MOV", t.a, t.ai)
	g.Op("MOV", g.Param("m"), t.rows)
	g.Label("rows")
	for _, h := range weightRows {
		g.Op("MOV", h, t.x)
		g.Jump("BGE", fmt.Sprintf("tile%d", h), t.rows, t.x)
	}
	g.SetLanes(t.lanes, wide, t.x)
	g.Op("SUB", t.x, t.lanes, t.lanes)
	g.Op("SLLI", 2, t.x, t.x)
	g.add(t.x, t.off)
	g.ForgetLanes()
	g.Jump("BNEZ", "lanes", t.lanes)
	w.next(t)
	g.Op("MUL", t.steps, t.cs, t.x)
	g.add(t.x, t.a)
	g.Op("SUB", t.steps, t.left, t.left)
	g.Op("MOV", 1, t.x)
	g.Op("MOV", t.x, t.adds())
	g.Jump("BNEZ", "segment", t.left)
	g.Ret()
	for _, h := range weightRows {
		t.tile(h, w)
	}
}

// adds is where the panel has whether its sums are added to C.
func (t *panel) adds() abi0.Param { return t.Len("b").Local() }

// tile emits the product of some rows with the segment.
func (t *panel) tile(rows int, w widener) {
	acc := t.acc[:rows]
	name := func(part string) string { return fmt.Sprintf("%s%d", part, rows) }
	t.Commentf("%d rows.", rows)
	t.Label(name("tile"))
	for _, v := range acc {
		t.Op("VMVVI", 0, v)
	}
	t.Op("MOV", t.ai, t.column)
	t.Jump("BEQZ", name("sums"), t.steps)
	w.steps(t, name(""), func() {
		t.Op("MOV", t.column, t.p)
		for i := range acc {
			t.Op("MOVF", riscv.At(t.p, 0), t.fs[i])
			if i+1 < rows {
				t.add(t.rs, t.p)
			}
		}
		for i, v := range acc {
			t.Op("VFMACCVF", t.v, t.fs[i], v)
		}
		t.add(t.cs, t.column)
	})
	t.Label(name("sums"))
	eachRow := func(do func(v riscv.Vec)) {
		t.Op("MOV", t.ci, t.p)
		for i, v := range acc {
			if i > 0 {
				t.add(t.ldc, t.p)
			}
			do(v)
		}
	}
	t.Op("MOV", t.adds(), t.x)
	t.Jump("BEQZ", name("store"), t.x)
	eachRow(func(v riscv.Vec) {
		t.Op("VLE32V", riscv.At(t.p, 0), t.v)
		t.Op("VFADDVV", v, t.v, v)
	})
	t.Label(name("store"))
	eachRow(func(v riscv.Vec) { t.Op("VSE32V", v, riscv.At(t.p, 0)) })
	for _, move := range [][2]riscv.GP{{t.rs, t.ai}, {t.ldc, t.ci}} {
		t.Op("MOV", rows, t.x)
		t.forward(t.x, move[0], move[1], t.x)
	}
	t.Op("ADD", -rows, t.rows, t.rows)
	t.Jump("JMP", "rows")
}

// A halvesWidener widens weights of 16 bits.
type halvesWidener struct {
	halver
	element spec.Element
	ld      riscv.GP // of b, in bytes
}

// WeightGemmHalves emits the product with a packed panel of weights of 16 bits.
func (g *gen) WeightGemmHalves(e spec.Element) {
	g.kernel(spec.WeightGemm(e))
	g.widened(func(t *panel) widener {
		h := &halvesWidener{g.newHalver(e, t.x), e, g.Load(g.Param("ldb"))}
		if e == spec.F16 {
			h.t = g.Vec(wide)
		}
		g.Op("SLLI", 1, h.ld, h.ld)
		return h
	})
}

func (h *halvesWidener) next(t *panel) {
	t.Op("MUL", t.steps, h.ld, t.x)
	t.add(t.x, t.b)
}

func (h *halvesWidener) steps(t *panel, tile string, product func()) {
	t.Op("SRLI", 1, t.off, t.row)
	t.add(t.b, t.row)
	t.Op("MOV", t.steps, t.n)
	t.Label("step" + tile)
	t.Op("VLE16V", riscv.At(t.row, 0), t.v.Last(2))
	h.widen(h.element, t.v)
	t.add(h.ld, t.row)
	product()
	t.Op("ADD", -1, t.n, t.n)
	t.Jump("BNEZ", "step"+tile, t.n)
}

// WeightGemmQ emits the product with a packed panel of quantized weights.
func (g *gen) WeightGemmQ(q ukernel.PackedFormat) {
	const name = "weightGemmBlocks"
	f := spec.WeightGemmQ(q)
	if q == spec.SingleFormats[0] {
		g.shared(name, f, "is the product with weights of all formats with a single scale, whose kernels jump to it.")
		g.widened(func(t *panel) widener {
			b := &blocksWidener{blockReader: g.newBlockReader(g.Len("c").Local(), t.x)}
			b.off, b.row, b.n, b.v = t.off, t.row, t.n, t.v
			b.block, b.pos, b.mask, b.lanes, b.count, b.bits = g.GP(), g.GP(), g.GP(), g.GP(), g.GP(), g.GP()
			b.field(fieldBits, b.bits)
			g.Op("MOV", 4*spec.PanelLanes, b.lanes)
			return b
		})
	}
	g.kernel(f)
	g.toFormats(q, g.Len("c").Local(), name)
}

// A blocksWidener widens quantized weights.
type blocksWidener struct {
	blockReader
	count riscv.GP // blocks of the segment
}

func (b *blocksWidener) steps(t *panel, tile string, product func()) {
	t.Op("MOV", t.b, b.block)
	t.Op("SRLI", 5, t.steps, b.count)
	t.Label("block" + tile)
	b.each(tile, product)
	b.advance()
	t.Op("ADD", -1, b.count, b.count)
	t.Jump("BNEZ", "block"+tile, b.count)
}

// next: each tile has gone through all blocks of the segment.
func (b *blocksWidener) next(t *panel) {
	t.Op("SRLI", 5, t.steps, t.x)
	b.size(t.x, t.n)
	t.add(t.x, t.b)
}
