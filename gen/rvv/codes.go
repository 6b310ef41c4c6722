package rvv

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/gen/riscv"
	"github.com/attn-go/attn/gen/spec"
)

// What rounds queries and weights of quantized attention, and multiplies rows by numbers of theirs.
// The products are those for float32.

// codeGroup is the size of a group of lanes.
const codeGroup = 4

// Round finds the largest magnitude of a lane as an integer, and from its exponent the unit and
// 1.5·2^23 units, by whose addition numbers are rounded. keep selects the bits of lanes whose
// numbers stay; other has what stands elsewhere, 0 or NaN.
func (g *gen) Round() {
	g.kernel(spec.Round)
	dst, s, ld, scales, lsc := g.Load(g.Base("dst")), g.Load(g.Base("s")), g.stride("ld"), g.Load(g.Base("scales")), g.stride("lsc")
	units, left, got := g.Load(g.Base("unit")), g.Load(g.Len("unit")), g.GP()
	row, scale, to, n, bits := g.GP(), g.GP(), g.GP(), g.GP(), g.Load(g.Param("bits"))
	number := func(bits uint32) riscv.GP {
		r := g.GP()
		g.Op("MOV", int(int32(bits)), r)
		return r
	}
	exponent, between, nan := number(spec.Exponent&^spec.SignBit), number(23<<23|1<<22), number(spec.NaN)
	most, least := number(contract.BeyondRounding-1), number(contract.LeastRounded)
	g.Op("SLLI", 23, bits, bits)
	factor, x, unit, magic, keep, other := g.FP(), g.Vec(codeGroup), g.Vec(codeGroup), g.Vec(codeGroup), g.Vec(codeGroup), g.Vec(codeGroup)
	rows := func(label string, each func()) {
		g.Op("MOV", s, row)
		g.Op("MOV", scales, scale)
		g.Op("MOV", g.Param("n"), n)
		g.Label(label)
		g.Op("VLE32V", riscv.At(row, 0), x)
		g.Op("MOVF", riscv.At(scale, 0), factor)
		g.Op("VFMULVF", factor, x, x)
		each()
		g.add(ld, row)
		g.add(lsc, scale)
		g.Op("ADD", -1, n, n)
		g.Jump("BNEZ", label, n)
	}
	choose := func(v riscv.Vec) {
		g.Op("VANDVV", keep, v, v)
		g.Op("VORVV", other, v, v)
	}
	g.Label("lanes")
	g.SetLanes(left, codeGroup, got)
	g.Op("VMVVI", 0, unit)
	rows("largest", func() {
		g.Op("VFABSV", x, x)
		g.Op("VMAXUVV", x, unit, unit)
	})
	g.Op("VMVVI", 0, other)
	g.Op("VMVVI", -1, keep)
	g.Op("VMSGTUVX", most, unit, riscv.V0)
	g.Op("VMERGEVXM", nan, other, riscv.V0, other)
	g.clear(keep)
	g.Op("VMSLTUVX", least, unit, riscv.V0)
	g.clear(keep)
	g.Op("VANDVX", exponent, unit, unit)
	g.Op("VSUBVX", bits, unit, unit)
	g.Op("VADDVX", between, unit, magic)
	choose(unit)
	g.Op("VSE32V", unit, riscv.At(units, 0))
	g.Op("MOV", dst, to)
	rows("row", func() {
		g.Op("VFADDVV", magic, x, x)
		g.Op("VFSUBVV", magic, x, x)
		choose(x)
		g.Op("VSE32V", x, riscv.At(to, 0))
		g.add(ld, to)
	})
	g.nextLanes(left, got, dst, s, units)
	g.Ret()
}

// nextLanes ends the loop over lanes: it moves pointers on by got of them.
func (g *gen) nextLanes(left, got riscv.GP, pointers ...riscv.GP) {
	g.Op("SUB", got, left, left)
	g.Op("SLLI", 2, got, got)
	for _, p := range pointers {
		g.add(got, p)
	}
	g.ForgetLanes()
	g.Jump("BNEZ", "lanes", left)
}

// ScaleRows multiplies a group of lanes of all rows.
func (g *gen) ScaleRows() {
	g.kernel(spec.ScaleRows)
	s, ld, a, lda := g.Load(g.Base("s")), g.stride("ld"), g.Load(g.Base("a")), g.stride("lda")
	lsc, max, left, got, load := g.stride("lsc"), g.Load(g.Base("max")), g.Load(g.Len("max")), g.GP(), g.Load(g.Param("load"))
	to, from, scale, n := g.GP(), g.GP(), g.GP(), g.GP()
	factor, x, y, top := g.FP(), g.Vec(codeGroup), g.Vec(codeGroup), g.Vec(codeGroup)
	g.Label("lanes")
	g.SetLanes(left, codeGroup, got)
	g.Op("VLE32V", riscv.At(max, 0), top)
	g.Op("MOV", s, to)
	g.Op("MOV", a, from)
	g.Op("MOV", g.Base("scales"), scale)
	g.eachRow(n, func() {
		g.Op("VLE32V", riscv.At(from, 0), x)
		g.Op("MOVF", riscv.At(scale, 0), factor)
		g.Jump("BNEZ", "sum", load)
		g.Op("VFMULVF", factor, x, y)
		g.Jump("JMP", "store")
		g.Label("sum")
		g.Op("VLE32V", riscv.At(to, 0), y)
		g.Op("VFMACCVF", x, factor, y)
		g.Label("store")
		g.Op("VSE32V", y, riscv.At(to, 0))
		g.raise(top, y)
	}, [2]riscv.GP{from, lda}, [2]riscv.GP{to, ld}, [2]riscv.GP{scale, lsc})
	g.Op("VSE32V", top, riscv.At(max, 0))
	g.nextLanes(left, got, s, a, max)
	g.Ret()
}
