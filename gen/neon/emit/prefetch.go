package emit

import (
	"math"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/spec"
)

// A Prefetch is a stream of prefetches as in amd64/emit/prefetch.go, with all it needs in
// registers.
type Prefetch struct {
	*Gen
	near, far         a64.GP
	left, length, gap a64.GP // of the row, in bytes, and the distance from its end to the next row
	base, farBase     a64.GP
	lines             int // per step
}

// A Hint is the operand of PRFM that names the cache.
type Hint string

func (h Hint) String() string { return string(h) }

// NewPrefetch prepares a stream of rows, ld bytes apart, in steps of lines lines. The
// parameter named by columns is the number of their columns, of type e.
func (g *Gen) NewPrefetch(ld a64.GP, columns string, e spec.Element, lines int) *Prefetch {
	p := &Prefetch{Gen: g, lines: lines, near: g.GP(), far: g.GP(), left: g.GP(), gap: g.GP(), farBase: g.GP(),
		base: g.Slice("next"), length: g.StrideOf(columns, e)}
	far := g.StrideOf("far", e)
	g.Op("ADD", far, p.base, p.farBase)
	g.Free(far)
	step := lines * spec.LineBytes
	g.Op("CMP", ld, p.length)
	g.Jump("BEQ", "dense")
	g.Commentf("To prefetch: rows of whole steps, and the distance from their end to the next row.")
	g.Op("ADD", step-1, p.length, p.length)
	g.Op("AND", -step, p.length, p.length)
	g.Op("SUB", p.length, ld, p.gap)
	g.Jump("B", "rows")
	g.Label("dense")
	g.Op("MOVD", math.MaxInt64, p.length)
	g.Op("MOVD", 0, p.gap)
	g.Label("rows")
	return p
}

// Start goes to the part for the current keys.
func (p *Prefetch) Start() {
	p.Op("MOVD", p.base, p.near)
	p.Op("MOVD", p.farBase, p.far)
	p.Op("MOVD", p.length, p.left)
}

// Forward goes on by 16 rows.
func (p *Prefetch) Forward(ld a64.GP) {
	p.Op("ADD", ld.Shl(4), p.base, p.base)
	p.Op("ADD", ld.Shl(4), p.farBase, p.farBase)
}

// Step prefetches the lines of a step and goes on. name is the name of a label.
func (p *Prefetch) Step(name string) {
	for i := range p.lines {
		p.Op("PRFM", a64.At(p.near, i*spec.LineBytes), Hint("PLDL1KEEP"))
		p.Op("PRFM", a64.At(p.far, i*spec.LineBytes), Hint("PLDL2KEEP"))
	}
	step := p.lines * spec.LineBytes
	p.Advance(step, p.near, p.far)
	p.Op("SUBS", step, p.left, p.left)
	p.Jump("BNE", name)
	p.Op("ADD", p.gap, p.near, p.near)
	p.Op("ADD", p.gap, p.far, p.far)
	p.Op("MOVD", p.length, p.left)
	p.Label(name)
}
