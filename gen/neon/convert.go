package neon

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/lane"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// The converters follow amd64/convert.go, with 8 elements per iteration: one register of
// 16-bit elements is two of float32. Pointers move along the row.

const convertStep = 8 // elements

// A rowConverter converts n rows of d elements.
type rowConverter struct {
	*neon
	src, dst, lds, ldd, n, d a64.GP // the arguments, distances in bytes
	from, to, left           a64.GP // within a row
	fromSize, toSize         int    // of an element, as logarithms
}

// rows starts a function that converts rows of elements of 1<<from bytes to elements of
// 1<<to bytes. The distance of rows counts elements if they are float32, else bytes.
func (g *neon) rows(f spec.Function, from, to int) *rowConverter {
	g.Kernel(f)
	c := &rowConverter{neon: g, src: g.Slice("src"), dst: g.Slice("dst"), lds: g.Num("lds"), ldd: g.Num("ldd"), n: g.Num("n"), d: g.Num("d"),
		from: g.GP(), to: g.GP(), left: g.GP(), fromSize: from, toSize: to}
	if from == 2 {
		g.Op("LSL", from, c.lds, c.lds)
	}
	if to == 2 {
		g.Op("LSL", to, c.ldd, c.ldd)
	}
	return c
}

// each emits the loop over the rows, and the end. row converts the d elements of one, from
// from to to.
func (c *rowConverter) each(row func()) {
	c.eachUntil("end", row)
	c.Return()
}

// eachUntil is each with another end, which begins with a label.
func (c *rowConverter) eachUntil(end string, row func()) {
	c.JumpIfZero(c.n, end)
	c.JumpIfZero(c.d, end)
	loop.Times(c.neon, c.n, "row", func() {
		c.Op("MOVD", c.src, c.from)
		c.Op("MOVD", c.dst, c.to)
		row()
		c.Op("ADD", c.lds, c.src, c.src)
		c.Op("ADD", c.ldd, c.dst, c.dst)
	})
	c.Label(end)
}

// elements emits the loop over left ≥ 1 elements. vector converts 8 and single one. They
// move from and to on. name begins its labels.
func (c *rowConverter) elements(name string, vector, single func()) {
	c.Op("CMP", convertStep, c.left)
	c.Jump("BLT", name+"single")
	c.Label(name + "vector")
	vector()
	c.Op("SUBS", convertStep, c.left, c.left)
	c.Jump("BEQ", name+"done")
	c.Op("CMP", convertStep, c.left)
	c.Jump("BGE", name+"vector")
	c.Commentf("Less than 8 elements are left: convert the last 8.")
	c.Op("SUB", convertStep, c.left, c.left) // elements left, less 8: below 0
	c.Op("ADD", c.left.Shl(c.fromSize), c.from, c.from)
	c.Op("ADD", c.left.Shl(c.toSize), c.to, c.to)
	c.Op("MOVD", convertStep, c.left)
	c.Jump("B", name+"vector")
	c.Label(name + "single")
	single()
	c.Op("SUBS", 1, c.left, c.left)
	c.Jump("BNE", name+"single")
	c.Label(name + "done")
}

// convert emits the function.
func (c *rowConverter) convert(vector, single func()) {
	c.each(func() {
		c.Op("MOVD", c.d, c.left)
		c.elements("", vector, single)
	})
}

// storeTwo stores 8 float32.
func (c *rowConverter) storeTwo(v []a64.Vec) {
	c.StoreTo(v[0], a64.At(c.to, 0))
	c.StoreTo(v[1], a64.At(c.to, emit.VecBytes))
	c.Advance(2*emit.VecBytes, c.to)
}

// loadVectors loads float32.
func (c *rowConverter) loadVectors(v []a64.Vec) {
	for i, x := range v {
		c.LoadFrom(a64.At(c.from, i*emit.VecBytes), x)
	}
	c.Advance(len(v)*emit.VecBytes, c.from)
}

func (g *neon) Flush() {
	c := g.rows(spec.Flush, 2, 2)
	least, v, t := g.BroadcastParam("least"), g.Vecs(2), g.Vec()
	c.convert(func() {
		c.loadVectors(v)
		for _, x := range v {
			g.flushBelow(x, least, t)
		}
		c.storeTwo(v)
	}, func() {
		g.Op("FMOVS.P", a64.At(c.from, 4), v[0])
		g.flushBelow(v[0], least, t)
		g.Op("FMOVS.P", v[0], a64.At(c.to, 4))
	})
}

// flushBelow makes numbers +0 whose magnitude is below least. As bits, it is below every NaN. t is
// scratch.
func (g *neon) flushBelow(x, least, t a64.Vec) {
	g.FABS(t, x)
	g.CMGT(t, least, t)
	g.BIC(x, x, t)
}

func (g *neon) Widen(from spec.Element) {
	map[spec.Element]func(){spec.F16: g.widenF16, spec.BF16: g.widenBF16, spec.E4M3: g.widenE4M3, spec.E5M2: g.widenE5M2}[from]()
}

// widenE5M2 puts the bytes above zeros, which makes them binary16.
func (g *neon) widenE5M2() {
	c := g.rows(spec.Widen(spec.E5M2), 0, 2)
	zero := g.Broadcast(0)
	c.widenFloat8(func(x a64.Vec) { g.Op("VZIP1", x.B16(), zero.B16(), x.B16()) }, func(a64.Vec) {})
}

// widenE4M3 follows amd64/convert.go.
func (g *neon) widenE4M3() {
	c := g.rows(spec.Widen(spec.E4M3), 0, 2)
	places, next, carry, scale := g.Broadcast(spec.E4M3Places), g.Broadcast(spec.E4M3Next), g.Broadcast(spec.E4M3Carry), g.Broadcast(spec.E4M3Scale)
	t := g.Vec()
	c.widenFloat8(func(x a64.Vec) {
		g.SXTLBytes(x, x)
		g.Op("VSHL", 7, x.H8(), x.H8())
		g.Op("VAND", x.B16(), places.B16(), x.B16())
		g.Op("VADD", x.H8(), next.H8(), t.H8())
		g.Op("VAND", t.B16(), carry.B16(), t.B16())
		g.Op("VORR", t.B16(), x.B16(), x.B16())
	}, func(x a64.Vec) { g.FMUL(x, x, scale) })
}

// widenFloat8 emits the function for types of 8 bits, given what makes binary16 of bytes, and what
// makes the numbers of these, widened.
func (c *rowConverter) widenFloat8(halves, number func(x a64.Vec)) {
	v, bits := c.Vecs(2), c.GP()
	c.convert(func() {
		c.Op("FMOVD.P", a64.At(c.from, convertStep), v[0])
		halves(v[0])
		c.FCVTL2(v[1], v[0])
		c.FCVTL(v[0], v[0])
		number(v[0])
		number(v[1])
		c.storeTwo(v)
	}, func() {
		c.Op("MOVBU.P", a64.At(c.from, 1), bits)
		c.Op("FMOVS", bits, v[0])
		halves(v[0])
		c.FCVTL(v[0], v[0])
		number(v[0])
		c.Op("FMOVS.P", v[0], a64.At(c.to, 4))
	})
}

func (g *neon) widenF16() {
	c := g.rows(spec.Widen(spec.F16), 1, 2)
	v, number := g.Vecs(2), g.GP()
	c.convert(func() {
		g.Op("FMOVQ.P", a64.At(c.from, emit.VecBytes), v[0])
		g.FCVTL2(v[1], v[0])
		g.FCVTL(v[0], v[0])
		c.storeTwo(v)
	}, func() {
		g.Op("MOVHU.P", a64.At(c.from, 2), number)
		g.Op("FMOVS", number, v[0])
		g.FCVTL(v[0], v[0])
		g.Op("FMOVS.P", v[0], a64.At(c.to, 4))
	})
}

func (g *neon) widenBF16() {
	c := g.rows(spec.Widen(spec.BF16), 1, 2)
	v, number := g.Vecs(2), g.GP()
	c.convert(func() {
		g.Op("FMOVQ.P", a64.At(c.from, emit.VecBytes), v[0])
		g.SHLL2(v[1], v[0])
		g.SHLL(v[0], v[0])
		c.storeTwo(v)
	}, func() {
		g.Op("MOVHU.P", a64.At(c.from, 2), number)
		g.Op("LSL", 16, number, number)
		g.Op("MOVW.P", number, a64.At(c.to, 4))
	})
}

// WidenInt8 works group by group within a row.
func (g *neon) WidenInt8() {
	c := g.rows(spec.WidenInt8, 0, 2)
	scale, v := g.Vec(), g.Vecs(2)
	c.eachGroup(1, scale, func() {
		g.Op("FMOVD.P", a64.At(c.from, convertStep), v[0])
		g.SXTLBytes(v[0], v[0])
		g.SXTL2(v[1], v[0])
		g.SXTL(v[0], v[0])
		for _, x := range v {
			g.SCVTF(x, x)
			g.FMUL(x, x, scale)
		}
		c.storeTwo(v)
	}, func(number a64.GP) {
		g.Op("MOVB.P", a64.At(c.from, 1), number)
		g.Op("FMOVS", number, v[0])
		g.SCVTF(v[0], v[0])
		g.FMUL(v[0], v[0], scale)
		g.Op("FMOVS.P", v[0], a64.At(c.to, 4))
	})
}

// eachGroup emits the loops over rows and over groups of a row, whose scale is in all lanes of
// scale then. vector converts a vector of the bytes of a group, each of so many integers, and
// single converts a single byte, with a register of scratch.
func (c *rowConverter) eachGroup(perByte int, scale a64.Vec, vector func(), single func(scratch a64.GP)) {
	scales, lsc, group := c.Slice("scales"), c.Stride("lsc"), c.Num("group")
	s, rest, number := c.GP(), c.GP(), c.GP()
	if perByte == 2 {
		c.Op("LSR", 1, c.d, c.d)
		c.Op("LSR", 1, group, group)
	}
	c.each(func() {
		c.Op("MOVD", scales, s)
		c.Op("ADD", lsc, scales, scales)
		c.Op("MOVD", c.d, rest)
		c.Label("group")
		c.Op("MOVWU.P", a64.At(s, 4), number)
		c.Op("VDUP", number, scale.S4())
		c.Op("MOVD", group, c.left)
		c.Op("CMP", group, rest)
		c.Jump("BGE", "whole")
		c.Op("MOVD", rest, c.left)
		c.Label("whole")
		c.Op("SUB", c.left, rest, rest)
		c.elements("", vector, func() { single(number) })
		c.Jump("CBNZ", "group", rest)
	})
}

// replaceNaN replaces the lanes of x that are NaN by other's.
func (g *neon) replaceNaN(x, other, scratch a64.Vec) {
	g.FCMEQ(scratch, x, x)
	g.Op("VBIF", scratch.B16(), other.B16(), x.B16())
}

// Narrow rounds as package lane does it, and stores the bits that the type has.
func (g *neon) Narrow(to spec.Element) {
	c := g.rows(spec.Narrow(to), 2, to.Shift())
	round, number := g.inline(lane.Rounded(to), 2, 0), g.GP()
	c.convert(func() {
		g.Scope(func() {
			v := g.Vecs(2)
			c.loadVectors(v)
			v = round.Of(v...)
			switch to {
			case spec.F16:
				g.FCVTN(v[0], v[0])
				g.FCVTN2(v[0], v[1])
			case spec.BF16:
				g.Op("VUZP2", v[1].H8(), v[0].H8(), v[0].H8())
			default:
				g.Op("VUZP1", v[1].H8(), v[0].H8(), v[0].H8())
				g.Op("VUZP1", v[0].B16(), v[0].B16(), v[0].B16())
				g.Op("FMOVD.P", v[0], a64.At(c.to, convertStep))
				return
			}
			g.Op("FMOVQ.P", v[0], a64.At(c.to, emit.VecBytes))
		})
	}, func() {
		g.Scope(func() {
			x := g.Vec()
			g.Op("FMOVS.P", a64.At(c.from, 4), x)
			x = round.Of(x)[0]
			if to == spec.F16 {
				g.FCVTN(x, x)
			}
			g.Op("FMOVS", x, number)
			switch to {
			case spec.F16:
				g.Op("MOVH.P", number, a64.At(c.to, 2))
			case spec.BF16:
				g.Op("LSR", 16, number, number)
				g.Op("MOVH.P", number, a64.At(c.to, 2))
			default:
				g.Op("MOVB.P", number, a64.At(c.to, 1))
			}
		})
	})
}
