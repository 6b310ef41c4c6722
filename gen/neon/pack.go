package neon

import (
	"math"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// Pack and Unpack: a vector of lanes and 4 columns of its rows are one 4×4 matrix, see
// amd64/emit/transpose.go, and there are registers for the addresses of the 4 rows. Rows of less
// than 4 columns are moved column by column, a lane at a time.

// A transposer moves a tile, 4 lanes at a time, between rows that start at off and a panel
// with the rows in its lanes. For weights, whose rows have one distance, base and off are not
// used.
type transposer struct {
	*neon
	step, shift  int      // columns per iteration, log2 of the size of an element of the rows
	base, off, d a64.GP   // the rows' memory, their starts, their length
	panel, ld    a64.GP   // the panel's memory and the distance of its rows
	rows         []a64.GP // addresses in the rows of the current lanes
	p            a64.GP   // address in the panel
	left         a64.GP   // columns
}

// addresses sets rows and p to the start of the lanes at off.
func (m *transposer) addresses() {
	for lane, r := range m.rows {
		m.Op("MOVD", a64.At(m.off, 8*lane), r)
		m.Op("ADD", r.Shl(m.shift), m.base, r)
	}
	m.Op("MOVD", m.panel, m.p)
	m.Op("MOVD", m.d, m.left)
}

// columns emits the loop over the columns of 4 lanes, d ≥ 1. step computes m.step columns
// and one a single column. They move p and rows on. If the step does not divide d, the last
// m.step columns are computed at the end, some of them a second time, with the same result.
func (m *transposer) columns(step, one func()) {
	m.addresses()
	m.Op("CMP", m.step, m.left)
	m.Jump("BLT", "one")
	m.steps(step)
	m.Commentf("Rows of less than %d columns.", m.step)
	m.Label("one")
	one()
	m.Op("SUBS", 1, m.left, m.left)
	m.Jump("BNE", "one")
	m.Label("next")
}

// steps emits the loop of columns for rows of at least a step, from their addresses on. It goes
// to the label next.
func (m *transposer) steps(step func()) {
	m.Align(32)
	m.Label("step")
	step()
	m.Op("SUBS", m.step, m.left, m.left)
	m.Jump("BEQ", "next")
	m.Op("CMP", m.step, m.left)
	m.Jump("BGE", "step")
	m.Commentf("Less than %d columns are left: compute the last %d.", m.step, m.step)
	m.Op("SUB", m.step, m.left, m.left) // columns left, less a step: below 0
	for _, r := range m.rows {
		m.Op("ADD", m.left.Shl(m.shift), r, r)
	}
	m.Op("MUL", m.ld, m.left, m.left)
	m.Op("ADD", m.left, m.p, m.p)
	m.Op("MOVD", m.step, m.left)
	m.Jump("B", "step")
}

// Pack transposes rows into a packed panel and scales them. All lanes have a row, as off
// repeats its last entry in use.
func (g *neon) Pack() {
	g.Kernel(spec.Pack)
	m := transposer{neon: g, step: 4, shift: 2, base: g.Slice("src"), off: g.Slice("off"), d: g.Num("d"), panel: g.Slice("dst"), ld: g.Stride("ld"),
		rows: []a64.GP{g.GP(), g.GP(), g.GP(), g.GP()}, p: g.GP(), left: g.GP()}
	lanes, scale := g.LoadParam(g.Len("off")), g.BroadcastParam("scale")
	v, t := g.Vecs(4), g.Vecs(4)
	g.JumpIfZero(m.d, "done")
	loop.Lanes(g, lanes, "One vector of lanes, 4 columns of its rows per iteration.", []a64.GP{m.panel}, []a64.GP{m.off}, func() {
		m.columns(func() {
			for i, r := range m.rows {
				g.Op("FMOVQ.P", a64.At(r, emit.VecBytes), v[i])
			}
			g.Transpose4(v, t)
			for _, x := range v {
				g.FMUL(x, x, scale)
				g.StoreVec(x, m.p, 0)
				g.Op("ADD", m.ld, m.p, m.p)
			}
		}, func() {
			for i, r := range m.rows {
				g.Op("VLD1", a64.At(r, 0), v[0].S(i))
			}
			g.Advance(4, m.rows...)
			g.FMUL(v[0], v[0], scale)
			g.StoreVec(v[0], m.p, 0)
			g.Op("ADD", m.ld, m.p, m.p)
		})
	})
	g.Label("done")
	g.Return()
}

// Unpack normalises the output of a tile and transposes it back into rows, the last lanes
// first, see amd64/pack.go for the reason. Vectors of idle lanes are skipped.
func (g *neon) Unpack() {
	g.Kernel(spec.Unpack)
	m := transposer{neon: g, step: 4, shift: 2, base: g.Slice("dst"), off: g.Slice("off"), d: g.Num("d"), panel: g.Slice("src"), ld: g.Stride("ld"),
		rows: []a64.GP{g.GP(), g.GP(), g.GP(), g.GP()}, p: g.GP(), left: g.GP()}
	sum, n, nans, bits := g.Slice("sum"), g.Num("n"), g.GP(), g.GP()
	weights := g.bitWeights(bits)
	one, zero := g.Broadcast(math.Float32bits(1)), g.Broadcast(0)
	v, t, inv, finite := g.Vecs(4), g.Vecs(4), g.Vec(), g.Vec()
	g.Op("MOVD", 0, nans)
	g.Jump("CBZ", "done", m.d)
	g.Commentf("Go to the end of the lanes, in whole vectors, and back a vector at a time.")
	g.Op("ADD", emit.VecLanes-1, n, n)
	g.Op("AND", -emit.VecLanes, n, n)
	g.Op("ADD", n.Shl(2), m.panel, m.panel)
	g.Op("ADD", n.Shl(2), sum, sum)
	g.Op("ADD", n.Shl(3), m.off, m.off)
	g.Jump("CBZ", "done", n)
	g.Label("lanes")
	g.Advance(-emit.VecBytes, m.panel, sum)
	g.Advance(-8*emit.VecLanes, m.off)
	g.Commentf("1/sum, 0 for a sum of 0.")
	g.LoadFrom(a64.At(sum, 0), v[0])
	g.FCMEQZero(v[1], v[0])
	g.FDIV(inv, one, v[0])
	g.BIC(inv, inv, v[1])
	g.FCMEQ(finite, zero, zero) // all lanes
	finish := func(x, scratch a64.Vec) {
		g.LoadFrom(a64.At(m.p, 0), x)
		g.Op("ADD", m.ld, m.p, m.p)
		g.FMUL(x, x, inv)
		g.FADD(x, x, zero)
		g.FCMEQ(scratch, x, x)
		g.Op("VAND", scratch.B16(), finite.B16(), finite.B16())
	}
	m.columns(func() {
		for i, x := range v {
			finish(x, t[i])
		}
		g.Transpose4(v, t)
		for lane := emit.VecLanes - 1; lane >= 0; lane-- {
			g.Op("FMOVQ.P", v[lane], a64.At(m.rows[lane], emit.VecBytes))
		}
	}, func() {
		finish(v[0], t[0])
		for lane := emit.VecLanes - 1; lane >= 0; lane-- {
			g.Op("VST1", v[0].S(lane), a64.At(m.rows[lane], 0))
		}
		g.Advance(4, m.rows...)
	})
	g.Commentf("Shift in the bits of the lanes with a NaN.")
	g.BIC(finite, weights, finite)
	g.Op("VADDV", finite.S4(), finite.Whole())
	g.Op("VMOV", finite.S(0), bits)
	g.Op("ADD", nans.Shl(emit.VecLanes), bits, nans)
	g.Op("SUBS", emit.VecLanes, n, n)
	g.Jump("BNE", "lanes")
	g.Label("done")
	g.Op("MOVD", nans, g.Result())
	g.Ret()
}

// bitWeights returns the vector 1, 2, 4, 8: lane i has bit i.
func (g *neon) bitWeights(scratch a64.GP) a64.Vec {
	w := g.Vec()
	for lane := range emit.VecLanes {
		g.Op("MOVD", 1<<lane, scratch)
		g.Op("VMOV", scratch, w.S(lane))
	}
	return w
}
