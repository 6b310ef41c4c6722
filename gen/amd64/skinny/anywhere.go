package skinny

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Rows of K and V that lie anywhere, as in small pages and lists, have a table of offsets.
// SkinnyQKRows and SkinnyPVRows are SkinnyQK and SkinnyPV with another address of a row: a load
// from the table comes before each use. It takes no time where loads of vectors and FMAs limit a
// kernel. A copy of a row takes a load and a store for each of its lines, and its own loop.

// tileOffsets are the bytes of the offsets of 16 rows.
const tileOffsets = 8 * spec.SkinnyKeys

// SkinnyQKRows is SkinnyQK for such rows. In the place of 4 rows and multiples of their distance it
// has a register for the current step and one for the offsets.
func (g *gen) SkinnyQKRows(k spec.Element) {
	if k.IsFloat8() {
		g.eachFloat8("keyRowsFloat8", k, spec.SkinnyQKRows(k), "max", func() { g.qkRows(k) })
		return
	}
	g.fromColumns(k, spec.SkinnyQKRows(k), func() { g.qkRows(k) })
}

func (g *gen) qkRows(k spec.Element) {
	v := spec.QKVariant{Segments: 1, Near: rowsNear}
	if k != spec.Float32 {
		v.Ahead = g.aheadFrom(k)
	}
	f := g.newQK(k, v)
	f.left, f.jump, f.turn, f.loaded = g.Memory(g.Param("off").Len()), g.Frame(8), g.Frame(8), g.Frame(8)
	f.prefetch = g.NewRowPrefetch(g.Memory(g.Param("k").Base()), "d", k, f.linesAtOnce()*spec.LineBytes, v.Near)
	f.k, f.off = []reg.GPVirtual{g.Slice("k")}, g.Slice("off")
	f.tiles()
}

// rowsNear is the level of the cache into which such rows are prefetched.
const rowsNear = 2

// offsetsBack goes back by a number of keys.
func (f *qkEmitter) offsetsBack(keys reg.GPVirtual) {
	bytes := f.g.GP64()
	f.g.MOVQ(keys, bytes)
	f.g.SHLQ(operand.Imm(3), bytes)
	f.g.ADDQ(bytes, f.off)
}

// rowAnywhere returns the address of row i of the tile, disp bytes from the current step.
func (f *qkEmitter) rowAnywhere(disp int) func(i int) operand.Mem {
	return func(i int) operand.Mem {
		at := f.g.GP64()
		f.g.MOVQ(emit.At(f.off, 8*i), at)
		return emit.Indexed(f.k[0], at, 1).Offset(disp)
	}
}

// SkinnyPVRows is SkinnyPV for such rows.
func (g *gen) SkinnyPVRows(v spec.Element) {
	if v.IsFloat8() {
		g.eachFloat8("valueRowsFloat8", v, spec.SkinnyPVRows(v), "p", func() { g.pvRows(v) })
		return
	}
	g.Kernel(spec.SkinnyPVRows(v))
	g.pvRows(v)
}

func (g *gen) pvRows(v spec.Element) {
	f := g.newPV(v)
	f.way, f.left = valuesAnywhere{f, g.GP64()}, g.Memory(g.Param("off").Len())
	f.prefetch = g.NewRowPrefetch(g.Memory(g.Param("v").Base()), "dv", v, f.prefetchBytes(), rowsNear)
	f.v = g.Slice("off")
	f.passes()
}

// valuesAnywhere are such rows. Their offsets count from V at the current columns.
type valuesAnywhere struct {
	*pvEmitter
	from reg.GPVirtual
}

func (f valuesAnywhere) nextPass() {
	bytes := f.g.GP64()
	f.g.MOVQ(f.keys, bytes)
	f.g.SHLQ(operand.Imm(3), bytes)
	f.g.ADDQ(bytes, f.v)
	f.g.ADDQ(bytes, f.prefetch.Base)
}

func (f valuesAnywhere) start() {
	f.g.MOVQ(f.v, f.vj)
	f.g.MOVQ(f.g.Memory(f.g.Param("v").Base()), f.from)
	f.g.LEAQ(f.g.OfColumns(f.from, f.column, f.element), f.from)
}

func (f valuesAnywhere) nextRow() { f.g.ADDQ(operand.Imm(8), f.vj) }

func (f valuesAnywhere) row() operand.Mem {
	at := f.g.GP64()
	f.g.MOVQ(emit.At(f.vj, 0), at)
	return emit.Indexed(f.from, at, 1)
}
