package rvv

import (
	"github.com/attn-go/attn/gen/riscv"
	"github.com/attn-go/attn/gen/spec"
)

// The ends of calls write rows of outputs, of whatever form the sums lie in.

// outputGroup is the size of a group of columns.
const outputGroup = 8

// An outputRows has the registers of a function that normalises rows.
type outputRows struct {
	*gen
	off, sum, n, bit, nans riscv.GP // from the row on; its bit, and the bits of rows with a NaN
	to, left, got, x       riscv.GP // at the columns of the row
	inv                    riscv.FP
	v                      riscv.Vec
}

// outputs emits a function that takes rows one by one. first prepares a row, load puts its next got
// columns in v, and next goes on to the next row.
func (g *gen) outputs(columns string, prepare func(r *outputRows) (first, load, next func())) {
	r := &outputRows{gen: g, off: g.Load(g.Base("off")), sum: g.Load(g.Base("sum")), n: g.Load(g.Param("n")),
		bit: g.GP(), nans: g.GP(), to: g.GP(), left: g.GP(), got: g.GP(), x: g.GP(), inv: g.FP(), v: g.Vec(outputGroup)}
	one, zero := g.Float(spec.One), g.Float(0)
	first, load, next := prepare(r)
	g.Op("MOV", 1, r.bit)
	g.Op("MOV", riscv.Zero, r.nans)
	g.Jump("BEQZ", "done", r.n)
	g.Label("output")
	g.Op("MOV", riscv.At(r.off, 0), r.to)
	g.Op("SLLI", 2, r.to, r.to)
	g.Op("MOV", g.Base("dst"), r.x)
	g.add(r.x, r.to)
	g.Op("MOVF", riscv.At(r.sum, 0), r.inv)
	g.Op("MOVWU", riscv.At(r.sum, 0), r.x)
	g.Op("SLLI", 33, r.x, r.x)
	g.Jump("BEQZ", "inverse", r.x) // of 0 it is 0
	g.Op("FDIVS", r.inv, one, r.inv)
	g.Label("inverse")
	g.Op("MOV", g.Param(columns), r.left)
	first()
	g.ForgetLanes()
	g.Label("columns")
	g.SetLanes(r.left, outputGroup, r.got)
	load()
	g.Op("VFMULVF", r.inv, r.v, r.v)
	g.Op("VFADDVF", zero, r.v, r.v)
	g.Op("VSE32V", r.v, riscv.At(r.to, 0))
	g.Op("VMFNEVV", r.v, r.v, riscv.V0)
	g.Op("VFIRSTM", riscv.V0, r.x)
	g.Jump("BLT", "numbers", r.x, riscv.Zero)
	g.Op("OR", r.bit, r.nans, r.nans)
	g.Label("numbers")
	g.Op("SUB", r.got, r.left, r.left)
	g.Op("SLLI", 2, r.got, r.got)
	g.add(r.got, r.to)
	g.ForgetLanes()
	g.Jump("BNEZ", "columns", r.left)
	next()
	g.Op("ADD", 8, r.off, r.off)
	g.Op("ADD", 4, r.sum, r.sum)
	g.Op("SLLI", 1, r.bit, r.bit)
	g.Op("ADD", -1, r.n, r.n)
	g.Jump("BNEZ", "output", r.n)
	g.Label("done")
	g.Op("MOV", r.nans, g.Result())
	g.Ret()
}

// Unpack loads the columns of a lane, which are rows of a tile.
func (g *gen) Unpack() {
	g.kernel(spec.Unpack)
	g.outputs("d", func(r *outputRows) (first, load, next func()) {
		lane, from, ld := g.Load(g.Base("src")), g.GP(), g.stride("ld")
		first = func() { g.Op("MOV", lane, from) }
		load = func() {
			g.Op("VLSE32V", riscv.At(from, 0), ld, r.v)
			g.Op("MUL", ld, r.got, r.x)
			g.add(r.x, from)
		}
		return first, load, func() { g.Op("ADD", 4, lane, lane) }
	})
}

// SkinnyUnpack has the columns side by side.
func (g *gen) SkinnyUnpack() {
	g.kernel(spec.SkinnyUnpack)
	g.outputs("dv", func(r *outputRows) (first, load, next func()) {
		row, from, ldo := g.Load(g.Base("o")), g.GP(), g.stride("ldo")
		first = func() { g.Op("MOV", row, from) }
		load = func() {
			g.Op("VLE32V", riscv.At(from, 0), r.v)
			g.Op("SLLI", 2, r.got, r.x)
			g.add(r.x, from)
		}
		return first, load, func() { g.add(ldo, row) }
	})
}

// HeadValues computes the sums of the columns from all values of the row's head.
func (g *gen) HeadValues() {
	g.kernel(spec.HeadValues)
	g.outputs("dv", func(r *outputRows) (first, load, next func()) {
		offv, ldv, p, ldp := g.Load(g.Base("offv")), g.stride("ldv"), g.Load(g.Base("p")), g.stride("ldp")
		from, v, weight, m := g.GP(), g.GP(), g.GP(), g.GP()
		b, f := g.Vec(outputGroup), g.FP()
		first = func() {
			g.Op("MOV", riscv.At(offv, 0), from)
			g.Op("SLLI", 2, from, from)
			g.Op("MOV", g.Base("v"), r.x)
			g.add(r.x, from)
		}
		load = func() {
			g.Op("VMVVI", 0, r.v)
			g.Op("MOV", from, v)
			g.Op("MOV", p, weight)
			g.Op("MOV", g.Param("m"), m)
			g.Label("key")
			g.Op("VLE32V", riscv.At(v, 0), b)
			g.Op("MOVF", riscv.At(weight, 0), f)
			g.add(ldv, v)
			g.add(ldp, weight)
			g.Op("VFMACCVF", b, f, r.v)
			g.Op("ADD", -1, m, m)
			g.Jump("BNEZ", "key", m)
			g.Op("SLLI", 2, r.got, r.x)
			g.add(r.x, from)
		}
		return first, load, func() {
			g.Op("ADD", 8, offv, offv)
			g.Op("ADD", 4, p, p)
		}
	})
}

// headGroup is the size of a group of lanes of HeadScores: their places take two.
const headGroup = 2

// HeadScores gathers a column of a key of each lane.
func (g *gen) HeadScores() {
	g.kernel(spec.HeadScores)
	s, off, q, max, left, w := g.Load(g.Base("s")), g.Load(g.Base("off")), g.Load(g.Base("q")), g.Load(g.Base("max")), g.Load(g.Len("max")), g.GP()
	ldk, got, key, column, y, score, m, d := g.stride("ldk"), g.GP(), g.GP(), g.GP(), g.GP(), g.GP(), g.GP(), g.GP()
	places, b, query, acc, top := g.Vec(2*headGroup), g.Vec(headGroup), g.Vec(headGroup), g.Vec(headGroup), g.Vec(headGroup)
	lowest := g.Float(spec.MinusInf)
	g.Op("SLLI", 2, left, w)
	g.Label("lanes")
	g.SetDoubles(left, 2*headGroup, got)
	g.Op("VLE64V", riscv.At(off, 0), places)
	g.Op("VSLLVI", 2, places, places)
	g.SetSize(32, headGroup)
	g.Op("VFMVVF", lowest, top)
	g.Op("MOV", g.Base("k"), key)
	g.Op("MOV", s, score)
	g.Op("MOV", g.Param("m"), m)
	g.Label("key")
	g.Op("VMVVI", 0, acc)
	g.Op("MOV", key, column)
	g.Op("MOV", q, y)
	g.Op("MOV", g.Param("d"), d)
	g.Label("column")
	g.Op("VLUXEI64V", riscv.At(column, 0), places, b)
	g.Op("VLE32V", riscv.At(y, 0), query)
	g.Op("ADD", 4, column, column)
	g.add(w, y)
	g.Op("VFMACCVV", b, query, acc)
	g.Op("ADD", -1, d, d)
	g.Jump("BNEZ", "column", d)
	g.Op("VSE32V", acc, riscv.At(score, 0))
	g.raise(top, acc)
	g.add(ldk, key)
	g.add(w, score)
	g.Op("ADD", -1, m, m)
	g.Jump("BNEZ", "key", m)
	g.Op("VSE32V", top, riscv.At(max, 0))
	g.nextLanes(left, got, s, q, max, off, off)
	g.Ret()
}
