package rvv

import (
	"github.com/attn-go/attn/gen/riscv"
	"github.com/attn-go/attn/gen/spec"
)

// Integers of 4 bits lie two in a byte, the first in its low half. A step takes some bytes, and
// twice as many lanes: to ask for the bytes makes their number even, whatever the CPU answers.

// byteGroup is the size of a group with a lane for each byte, half of one with a lane for each
// number.
const byteGroup = wide / 2

// bytes asks for the lanes of left/2 bytes, of 32 bits, and sets got to their number.
func (c *rowConverter) bytes() {
	c.Op("SRLI", 1, c.left, c.got)
	c.SetLanes(c.got, byteGroup, c.got)
}

// halves emits the loop over left elements, whose bytes are loaded from c.from or stored to c.to:
// convert leaves got as the number of elements.
func (c *rowConverter) halves(convert func()) {
	c.Label("halves")
	c.bytes()
	convert()
	c.Op("SUB", c.got, c.left, c.left)
}

// WidenInt4 makes words of a byte with its halves 16 bits apart, whose signs are extended first to
// 16 and then to 32 bits.
func (g *gen) WidenInt4() {
	c := g.rows(spec.WidenInt4, 0, 2)
	v, b, t, places := g.Vec(wide), g.Vec(1), g.Vec(byteGroup), g.GP()
	g.Op("MOV", 0x000f000f, places)
	c.groups(func(scale riscv.FP) {
		c.halves(func() {
			w := v.Last(2)
			g.Op("VLE8V", riscv.At(c.from, 0), b)
			g.Op("VZEXTVF4", b, w)
			g.Op("VSLLVI", 12, w, t)
			g.Op("VORVV", t, w, w)
			g.Op("VANDVX", places, w, w)
			g.add(c.got, c.from)
			g.Op("SLLI", 1, c.got, c.got)
			g.SetElements(16, c.got, byteGroup, c.got)
			g.Op("VSLLVI", 12, w, w)
			g.Op("VSRAVI", 12, w, w)
			g.SetSize(32, wide)
			g.Op("VSEXTVF2", w, v)
			g.Op("VFCVTFXV", v, v)
			g.Op("VFMULVF", scale, v, v)
			g.Op("VSE32V", v, riscv.At(c.to, 0))
		})
		c.step(2, c.to)
		g.ForgetLanes()
		g.Jump("BNEZ", "halves", c.left)
	})
}

// UnpackInt4 makes 16 bits of a byte.
func (g *gen) UnpackInt4() {
	c := g.rows(spec.UnpackInt4, 0, 0)
	v, b, t, places := g.Vec(1), g.Vec(1), g.Vec(1), g.GP()
	g.Op("MOV", 0x0f0f, places)
	g.Jump("BEQZ", "done", c.all)
	c.each(func() {
		g.Op("MOV", g.Param("d"), c.left)
		c.halves(func() {
			g.Op("VLE8V", riscv.At(c.from, 0), b)
			g.SetSize(16, 1)
			g.Op("VZEXTVF2", b, v)
			g.Op("VSLLVI", 4, v, t)
			g.Op("VORVV", t, v, v)
			g.Op("VANDVX", places, v, v)
			g.add(c.got, c.from)
			g.Op("SLLI", 1, c.got, c.got)
			g.SetElements(8, c.got, 1, c.got)
			g.Op("VSLLVI", 4, v, v)
			g.Op("VSRAVI", 4, v, v)
			g.SetSize(32, wide)
			g.Op("VSE8V", v, riscv.At(c.to, 0))
		})
		g.add(c.got, c.to)
		g.ForgetLanes()
		g.Jump("BNEZ", "halves", c.left)
	})
}
