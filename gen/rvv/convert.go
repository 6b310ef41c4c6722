package rvv

import (
	"math"

	"github.com/attn-go/attn/gen/lane"
	"github.com/attn-go/attn/gen/riscv"
	"github.com/attn-go/attn/gen/spec"
)

// A halver has the registers to widen numbers of 16 bits.
type halver struct {
	*gen
	x      riscv.GP  // of scratch
	t      riscv.Vec // of scratch, for binary16
	factor riscv.FP
}

func (g *gen) newHalver(x riscv.GP) halver {
	const scale = (127 + 112) << 23
	return halver{gen: g, x: x, factor: g.Float(scale)}
}

// widen emits the numbers of a group whose last half has their 16 bits.
//
// CPUs with Zvfhmin would convert binary16 by one instruction, between two changes of the vector type. This
// takes integers, which every CPU with vectors has: the exponent and the fraction are those of a float32 that is
// 2^-112 times the number, a subnormal one too, and infinities and NaN get the largest exponent.
func (h *halver) widen(e spec.Element, v riscv.Vec) {
	if e == spec.BF16 {
		h.Op("VZEXTVF2", v.Last(2), v)
		h.Op("VSLLVI", 16, v, v)
		return
	}
	const (
		places   = math.MinInt32 | 0x0fffffff // all but the copies of the sign
		exponent = 0x1f << 23                 // of infinities and NaN, before
		largest  = 0xff << 23
	)
	h.Op("VSEXTVF2", v.Last(2), v)
	h.Op("VSLLVI", 13, v, v)
	h.Op("MOV", places, h.x)
	h.Op("VANDVX", h.x, v, v)
	h.Op("MOV", exponent, h.x)
	h.Op("VANDVX", h.x, v, h.t)
	h.Op("VMSEQVX", h.x, h.t, riscv.V0)
	h.Op("VFMULVF", h.factor, v, v)
	h.Op("MOV", largest, h.x)
	h.Op("VORVX", h.x, v, h.t)
	h.Op("VMERGEVVM", h.t, v, riscv.V0, v)
}

// A rowConverter has the registers of a function that converts n rows of d elements.
type rowConverter struct {
	*gen
	src, dst, lds, ldd, n    riscv.GP // rows from src and dst on; distances in bytes
	from, to, left, got, all riscv.GP // within a row or a group; all: elements of it
	fromSize, toSize         int      // of an element, as logarithms
}

// rows starts a function that converts elements of 1<<from bytes to elements of 1<<to bytes. The distance of
// rows counts elements if they are float32, else bytes.
func (g *gen) rows(f spec.Function, from, to int) *rowConverter {
	g.kernel(f)
	c := &rowConverter{gen: g, src: g.Load(g.Base("src")), dst: g.Load(g.Base("dst")), lds: g.Load(g.Param("lds")), ldd: g.Load(g.Param("ldd")),
		n: g.Load(g.Param("n")), from: g.GP(), to: g.GP(), left: g.GP(), got: g.GP(), all: g.Load(g.Param("d")), fromSize: from, toSize: to}
	if from == 2 {
		g.Op("SLLI", from, c.lds, c.lds)
	}
	if to == 2 {
		g.Op("SLLI", to, c.ldd, c.ldd)
	}
	return c
}

// each emits the loop over the rows, and the end.
func (c *rowConverter) each(row func()) {
	c.Jump("BEQZ", "done", c.n)
	c.Label("row")
	c.Op("MOV", c.src, c.from)
	c.Op("MOV", c.dst, c.to)
	row()
	c.add(c.lds, c.src)
	c.add(c.ldd, c.dst)
	c.Op("ADD", -1, c.n, c.n)
	c.Jump("BNEZ", "row", c.n)
	c.Label("done")
	c.Ret()
}

// elements emits the loop over left ≥ 1 elements. convert loads a group of them and returns what is stored, in 32
// bits, of which a smaller type has those from bit drop on.
func (c *rowConverter) elements(drop int, convert func() riscv.Vec) {
	c.Label("elements")
	c.SetLanes(c.left, wide, c.got)
	c.store(convert(), drop)
	c.Op("SUB", c.got, c.left, c.left)
	c.step(c.fromSize, c.from)
	c.step(c.toSize, c.to)
	c.ForgetLanes()
	c.Jump("BNEZ", "elements", c.left)
}

// step moves a pointer on by the elements of a group.
func (c *rowConverter) step(size int, p riscv.GP) {
	if size == 0 {
		c.add(c.got, p)
		return
	}
	c.Op("SLLI", size, c.got, c.all)
	c.add(c.all, p)
}

func (c *rowConverter) store(v riscv.Vec, drop int) {
	if c.toSize == 2 {
		c.Op("VSE32V", v, riscv.At(c.to, 0))
		return
	}
	c.SetBits(16)
	c.Op("VNSRLWI", drop, v, v.First(2))
	if c.toSize == 1 {
		c.Op("VSE16V", v.First(2), riscv.At(c.to, 0))
		return
	}
	c.SetBits(8)
	c.Op("VNCVTXXW", v.First(2), v.First(4))
	c.Op("VSE8V", v.First(4), riscv.At(c.to, 0))
}

// Narrow rounds as package lane does it. Of a BF16 it has the bits above the others.
func (g *gen) Narrow(to spec.Element) {
	c, drop := g.rows(spec.Narrow(to), 2, to.Shift()), 0
	if to == spec.BF16 {
		drop = 16
	}
	round := g.inline(lane.Rounded(to), wide, 0, c.got)
	g.Jump("BEQZ", "done", c.all)
	c.each(func() {
		g.Op("MOV", g.Param("d"), c.left)
		c.elements(drop, func() riscv.Vec {
			v := g.Vec(wide)
			g.Op("VLE32V", riscv.At(c.from, 0), v)
			return round.Of(v)[0]
		})
	})
}

// Flush compares magnitudes: a NaN is not below any.
func (g *gen) Flush() {
	c := g.rows(spec.Flush, 2, 2)
	least, v, t := g.loadFloat("least"), g.Vec(wide), g.Vec(wide)
	g.Jump("BEQZ", "done", c.all)
	c.each(func() {
		g.Op("MOV", g.Param("d"), c.left)
		c.elements(0, func() riscv.Vec {
			g.Op("VLE32V", riscv.At(c.from, 0), v)
			g.flushBelow(v, least, t)
			return v
		})
	})
}

// flushBelow makes numbers +0 whose magnitude is below least. t is scratch.
func (g *gen) flushBelow(x riscv.Vec, least riscv.FP, t riscv.Vec) {
	g.Op("VFABSV", x, t)
	g.Op("VMFLTVF", least, t, riscv.V0)
	g.clear(x)
}

// Widen emits the conversion of rows of 16 bits.
func (g *gen) Widen(e spec.Element) {
	c := g.rows(spec.Widen(e), 1, 2)
	h, v := g.newHalver(c.all), g.Vec(wide)
	if e == spec.F16 {
		h.t = g.Vec(wide)
	}
	g.Jump("BEQZ", "done", c.all)
	c.each(func() {
		g.Op("MOV", g.Param("d"), c.left)
		c.elements(0, func() riscv.Vec {
			g.Op("VLE16V", riscv.At(c.from, 0), v.Last(2))
			h.widen(e, v)
			return v
		})
	})
}

// WidenInt8 works group by group within a row.
func (g *gen) WidenInt8() {
	c := g.rows(spec.WidenInt8, 0, 2)
	scales, lsc, group := g.Load(g.Base("scales")), g.stride("lsc"), g.Load(g.Param("group"))
	scale, rest, x, v := g.GP(), g.GP(), g.FP(), g.Vec(wide)
	g.Jump("BEQZ", "done", c.all)
	c.each(func() {
		g.Op("MOV", scales, scale)
		g.add(lsc, scales)
		g.Op("MOV", g.Param("d"), rest)
		g.Label("group")
		g.Op("MOVF", riscv.At(scale, 0), x)
		g.Op("ADD", 4, scale, scale)
		g.Op("MOV", group, c.left)
		g.Jump("BGE", "whole", rest, group)
		g.Op("MOV", rest, c.left)
		g.Label("whole")
		g.Op("SUB", c.left, rest, rest)
		c.elements(0, func() riscv.Vec {
			g.Op("VLE8V", riscv.At(c.from, 0), v.Last(4))
			g.Op("VSEXTVF4", v.Last(4), v)
			g.Op("VFCVTFXV", v, v)
			g.Op("VFMULVF", x, v, v)
			return v
		})
		g.Jump("BNEZ", "group", rest)
	})
}
