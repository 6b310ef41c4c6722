package rvv

import (
	"github.com/attn-go/attn/gen/lane"
	"github.com/attn-go/attn/gen/riscv"
	"github.com/attn-go/attn/gen/spec"
)

// A halver has the registers to widen numbers of 16 and 8 bits.
type halver struct {
	*gen
	x      riscv.GP  // of scratch
	t      riscv.Vec // of scratch, for types of widenings
	factor riscv.FP
}

// A widening has the numbers that widen a type whose exponent is shorter than a float32's.
type widening struct {
	extend string // the instruction that extends the sign
	part   int    // of a group that its elements fill
	shift  int    // to where a float32 has the exponent and the fraction
	places uint32 // all bits but the copies of the sign
	scale  uint32 // 2 to the difference of the exponents' biases

	// Where the bits of mask are set there is an infinity or a NaN, which gets largest's.
	mask, largest uint32
}

var widenings = map[spec.Element]widening{
	spec.F16:  {"VSEXTVF2", 2, 13, 0x8fffffff, (127 + 112) << 23, 0x1f << 23, 0xff << 23},
	spec.E5M2: {"VSEXTVF4", 4, 21, 0x8fffffff, (127 + 112) << 23, 0x1f << 23, 0xff << 23},
	spec.E4M3: {"VSEXTVF4", 4, 20, 0x87ffffff, (127 + 120) << 23, 0x7f << 20, spec.NaN},
}

func (g *gen) newHalver(e spec.Element, x riscv.GP) halver {
	h := halver{gen: g, x: x}
	if w, ok := widenings[e]; ok {
		h.factor = g.Float(w.scale)
	}
	return h
}

// widen emits the numbers of a group whose last half, or quarter, has their 16, or 8, bits.
//
// CPUs with Zvfhmin would convert binary16 by one instruction, between two changes of the vector
// type. This takes integers, which every CPU with vectors has: the exponent and the fraction belong
// to a float32 that is 2^-112 times the number, a subnormal one too, and infinities and NaN get the
// largest exponent.
func (h *halver) widen(e spec.Element, v riscv.Vec) {
	if e == spec.BF16 {
		h.Op("VZEXTVF2", v.Last(2), v)
		h.Op("VSLLVI", 16, v, v)
		return
	}
	w := widenings[e]
	number := func(bits uint32) { h.Op("MOV", int(int32(bits)), h.x) }
	h.Op(w.extend, v.Last(w.part), v)
	h.Op("VSLLVI", w.shift, v, v)
	number(w.places)
	h.Op("VANDVX", h.x, v, v)
	number(w.mask)
	h.Op("VANDVX", h.x, v, h.t)
	h.Op("VMSEQVX", h.x, h.t, riscv.V0)
	h.Op("VFMULVF", h.factor, v, v)
	number(w.largest)
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

// rows starts a function that converts elements of 1<<from bytes to elements of 1<<to bytes. The
// distance of rows counts elements if they are float32, else bytes.
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

// elements emits the loop over left ≥ 1 elements. convert loads a group of them and returns what is
// stored, in 32 bits, of which a smaller type has those from bit drop on.
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

// Widen emits the conversion of rows of 16 or 8 bits.
func (g *gen) Widen(e spec.Element) {
	c := g.rows(spec.Widen(e), e.Shift(), 2)
	h, v := g.newHalver(e, c.all), g.Vec(wide)
	load, part := "VLE16V", 2
	if e.Shift() == 0 {
		load, part = "VLE8V", 4
	}
	if e != spec.BF16 {
		h.t = g.Vec(wide)
	}
	g.Jump("BEQZ", "done", c.all)
	c.each(func() {
		g.Op("MOV", g.Param("d"), c.left)
		c.elements(0, func() riscv.Vec {
			g.Op(load, riscv.At(c.from, 0), v.Last(part))
			h.widen(e, v)
			return v
		})
	})
}

// Halves emits the conversions from 8 to 16 bits: the upper halves of float32, and bits above those
// that are not there.
func (g *gen) Halves() {
	for _, e := range []spec.Element{spec.E4M3, spec.E5M2} {
		f, drop := spec.HalvesE4M3, 16
		if e == spec.E5M2 {
			f, drop = spec.HalvesE5M2, 0
		}
		c := g.rows(f, 0, 1)
		v, h := g.Vec(wide), halver{}
		if e == spec.E4M3 {
			h = g.newHalver(e, c.all)
			h.t = g.Vec(wide)
		}
		g.Op("SLLI", 1, c.ldd, c.ldd)
		c.each(func() {
			g.Op("MOV", g.Param("d"), c.left)
			c.elements(drop, func() riscv.Vec {
				g.Op("VLE8V", riscv.At(c.from, 0), v.Last(4))
				if e == spec.E4M3 {
					h.widen(e, v)
				} else {
					g.Op("VZEXTVF4", v.Last(4), v)
					g.Op("VSLLVI", 8, v, v)
				}
				return v
			})
		})
	}
}

// WidenInt8 works group by group within a row.
func (g *gen) WidenInt8() {
	c := g.rows(spec.WidenInt8, 0, 2)
	v := g.Vec(wide)
	c.groups(func(scale riscv.FP) {
		c.elements(0, func() riscv.Vec {
			g.Op("VLE8V", riscv.At(c.from, 0), v.Last(4))
			g.Op("VSEXTVF4", v.Last(4), v)
			g.Op("VFCVTFXV", v, v)
			g.Op("VFMULVF", scale, v, v)
			return v
		})
	})
}

// groups emits the loops over rows, and in a row over the groups that share a scale, of left
// elements.
func (c *rowConverter) groups(elements func(scale riscv.FP)) {
	scales, lsc, group := c.Load(c.Base("scales")), c.stride("lsc"), c.Load(c.Param("group"))
	scale, rest, x := c.GP(), c.GP(), c.FP()
	c.Jump("BEQZ", "done", c.all)
	c.each(func() {
		c.Op("MOV", scales, scale)
		c.add(lsc, scales)
		c.Op("MOV", c.Param("d"), rest)
		c.Label("group")
		c.Op("MOVF", riscv.At(scale, 0), x)
		c.Op("ADD", 4, scale, scale)
		c.Op("MOV", group, c.left)
		c.Jump("BGE", "whole", rest, group)
		c.Op("MOV", rest, c.left)
		c.Label("whole")
		c.Op("SUB", c.left, rest, rest)
		elements(x)
		c.Jump("BNEZ", "group", rest)
	})
}
