package emit

import (
	"math"
	"slices"

	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A Prefetch is a stream of prefetches in a loop over rows of memory: line after line of the
// rows that begin at the parameter next, with the same length and stride as the rows that
// the function reads, and into the second-level cache the rows far after them. It goes in
// the order of memory, which a processor's own prefetcher recognises and continues.
// Prefetches in the order of the loads, which visit 16 rows in turn, get a third of the
// bandwidth on Zen 4. Rows without gaps are one long row.
//
// There are variants of float32 with AVX-512 that prefetch into the second-level cache both
// times. Prefetches into the first-level cache occupy its few buffers for outstanding lines,
// and loads wait for those. On Zen 4 with huge pages the second level takes 5 to 10% less time
// from memory, and 3% more from L3; on Zen 5 and Emerald Rapids it takes more from both. Types
// that take longer to widen than to read, and AVX2, would lose 3 to 6% on Zen 4.
//
// The further prefetches of AVX2 are skipped if they have no distance. If it is negative they ask
// for rows a second time: Zen 3 drops prefetches while its buffers are in use. With rows in L1 PV
// prefetches 19 GB/s from memory, which is more than can be read, so some were dropped. On Zen 3
// prefetches into both levels share its 24 buffers for lines that are under way, and decoding
// float32 from memory takes 6 to 12% less without the further ones.
//
// Its registers are an address, the distance of the further address and the bytes left in
// the row. What is needed once per row or less is in memory, in the place of the argument
// next: its base is the start of the part for the current keys, its length the bytes of a
// row, its capacity the distance from the end of a row to the next row.
//
// Rows that lie anywhere have a table of offsets in place of next. Nothing is prefetched for them
// far after, as the table may say which rows are needed when. Then base is the place of the table
// for the current keys, and the capacity the place of the current row. The capacity of off is the
// table's last place. The stream goes on behind the last row of the table.
type Prefetch struct {
	*Gen
	rows, last         operand.Mem // with a table: what offsets count from, its last place
	address, far, left reg.GPVirtual
	Base, length, gap  operand.Mem
	step               int // bytes of a step: whole lines, or part of one
	level              int // of the cache for the nearer address; if 0, it is 2 if chooses is second, else 1

	chooses operand.Mem
	second  int
}

// NewPrefetch prepares a stream of rows, ld bytes apart, in steps of step bytes, into a level
// of the cache. The parameter named by columns is the number of their columns, of type e.
func (g *Gen) NewPrefetch(ld reg.GPVirtual, columns string, e spec.Element, step, level int) *Prefetch {
	next := g.Param("next")
	p := &Prefetch{Gen: g, step: step, level: level, address: g.GP64(), far: g.StrideOf("far", e), left: g.GP64(),
		Base: g.Memory(next.Base()), length: g.Memory(next.Len()), gap: g.Memory(next.Cap())}
	row, gap := g.BytesOf(columns, e), g.GP64()
	g.XORQ(gap, gap)
	g.CMPQ(row, ld)
	g.JE(operand.LabelRef("dense"))
	g.Comment("To prefetch: rows of whole steps, and the distance from their end to the next row.")
	g.ADDQ(operand.U32(step-1), row)
	g.ANDQ(operand.I32(-step), row)
	g.MOVQ(ld, gap)
	g.SUBQ(row, gap)
	g.JMP(operand.LabelRef("rows"))
	g.Label("dense")
	g.MOVQ(operand.U64(math.MaxInt64), row)
	g.Label("rows")
	g.MOVQ(row, p.length)
	g.MOVQ(gap, p.gap)
	return p
}

// NewRowPrefetch prepares a stream of rows that begin at offsets from the address that base holds.
func (g *Gen) NewRowPrefetch(base operand.Mem, columns string, e spec.Element, step, level int) *Prefetch {
	next, last := g.Param("next"), g.SliceLen("next")
	p := &Prefetch{Gen: g, step: step, level: level, address: g.GP64(), left: g.GP64(), rows: base, last: g.Memory(g.Param("off").Cap()),
		Base: g.Memory(next.Base()), length: g.Memory(next.Len()), gap: g.Memory(next.Cap())}
	g.SHLQ(operand.Imm(3), last)
	g.ADDQ(p.Base, last)
	g.SUBQ(operand.Imm(8), last)
	g.MOVQ(last, p.last)
	row := g.BytesOf(columns, e)
	g.ADDQ(operand.U32(step-1), row)
	g.ANDQ(operand.I32(-step), row)
	g.MOVQ(row, p.length)
	return p
}

// hasTable tells whether rows lie anywhere.
func (p *Prefetch) hasTable() bool { return p.far == nil }

// LevelFrom lets level 0 stand for the one that a number in memory says: 2 if it is second, else 1.
func (p *Prefetch) LevelFrom(m operand.Mem, second int) { p.chooses, p.second = m, second }

// Into sets the level of the cache for the nearer address.
func (p *Prefetch) Into(level int) { p.level = level }

// Step sets the bytes of a step. A row is a multiple of it.
func (p *Prefetch) Step(bytes int) { p.step = bytes }

// Start goes to the part for the current keys.
func (p *Prefetch) Start() {
	if p.hasTable() {
		at := p.GP64()
		p.MOVQ(p.Base, at)
		p.toRow(at)
		return
	}
	p.MOVQ(p.Base, p.address)
	p.MOVQ(p.length, p.left)
}

// toRow goes to the row whose offset lies at a place of the table.
func (p *Prefetch) toRow(at reg.GPVirtual) {
	p.MOVQ(at, p.gap)
	p.MOVQ(At(at, 0), p.address)
	p.ADDQ(p.rows, p.address)
	p.MOVQ(p.length, p.left)
}

// Lines prefetches some lines of a step, as far as it has them. name is the name of labels.
func (p *Prefetch) Lines(name string, lines ...int) {
	lines = slices.DeleteFunc(lines, func(i int) bool { return i > 0 && i >= p.step/spec.LineBytes })
	if len(lines) == 0 {
		return
	}
	near := func(hint func(operand.Op)) {
		for _, i := range lines {
			hint(At(p.address, i*spec.LineBytes))
		}
	}
	switch p.level {
	case 0:
		p.CMPQ(p.chooses, operand.Imm(uint64(p.second)))
		p.JE(operand.LabelRef(name + "level2"))
		near(p.PREFETCHT0)
		p.JMP(operand.LabelRef(name + "far"))
		p.Label(name + "level2")
		near(p.PREFETCHT1)
		p.Label(name + "far")
	case 1:
		near(p.PREFETCHT0)
	case 2:
		near(p.PREFETCHT1)
	}
	if p.hasTable() {
		return
	}
	if !p.EVEX() {
		p.TESTQ(p.far, p.far)
		p.JZ(operand.LabelRef(name + "only"))
		defer p.Label(name + "only")
	}
	for _, i := range lines {
		further := Indexed(p.address, p.far, 1)
		further.Disp = i * spec.LineBytes
		p.PREFETCHT1(further)
	}
}

// Advance goes on by a step. name is the name of a label.
func (p *Prefetch) Advance(name string) {
	p.ADDQ(operand.I32(p.step), p.address)
	p.SUBQ(operand.I32(p.step), p.left)
	p.JNZ(operand.LabelRef(name))
	if p.hasTable() {
		at := p.GP64()
		p.MOVQ(p.gap, at)
		p.CMPQ(at, p.last)
		p.JE(operand.LabelRef(name))
		p.ADDQ(operand.Imm(8), at)
		p.toRow(at)
	} else {
		p.ADDQ(p.gap, p.address)
		p.MOVQ(p.length, p.left)
	}
	p.Label(name)
}
