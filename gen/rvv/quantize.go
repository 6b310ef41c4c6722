package rvv

import (
	"math"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/gen/riscv"
	"github.com/attn-go/attn/gen/spec"
)

// A quantizer has the registers of a function that makes scaled integers, group by group: the first
// loop over a group finds its largest magnitude, as an integer, which is beyond the others if a
// number is not finite.
type quantizer struct {
	*rowConverter
	group, scales, scale, most, number, signed riscv.GP
	magic, factor, by                          riscv.FP
	v, top, high                               riscv.Vec
}

// quantizer starts a function whose scales are a number of the group divided by some other.
func (g *gen) quantizer(f spec.Function, by float32) *quantizer {
	q := &quantizer{rowConverter: g.rows(f, 2, 0), group: g.Load(g.Param("group")), scales: g.Load(g.Base("scales")), scale: g.GP(), most: g.GP(),
		number: g.GP(), signed: g.GP(), magic: g.Float(spec.RoundMagic), factor: g.FP(), by: g.Float(math.Float32bits(by)),
		v: g.Vec(wide), top: g.Vec(1), high: g.Vec(1)}
	return q
}

// each emits the loops over rows and groups. scale makes the scale of most, the largest magnitude,
// in factor, and 0 in most if it is 0; elements makes integers of left elements.
func (q *quantizer) each(scale, elements func()) {
	rest, pass := q.GP(), q.GP()
	q.Jump("BEQZ", "true", q.n)
	q.Jump("BEQZ", "true", q.all)
	q.Label("row")
	q.Op("MOV", q.src, q.from)
	q.Op("MOV", q.dst, q.to)
	q.Op("MOV", q.scales, q.scale)
	q.Op("MOV", q.Param("d"), rest)
	q.Label("group")
	q.Op("SUB", q.group, rest, rest)
	q.Op("MOV", q.group, q.left)
	q.Op("MOV", q.from, pass)
	q.SetLanes(riscv.Zero, wide, q.got)
	q.Op("VMVSX", riscv.Zero, q.top)
	q.Op("VMVSX", riscv.Zero, q.high)
	q.ForgetLanes()
	q.Label("largest")
	q.SetLanes(q.left, wide, q.got)
	q.Op("VLE32V", riscv.At(pass, 0), q.v)
	q.Op("VREDMAXVS", q.high, q.v, q.high)
	q.Op("VFABSV", q.v, q.v)
	q.Op("VREDMAXUVS", q.top, q.v, q.top)
	q.Op("SUB", q.got, q.left, q.left)
	q.step(2, pass)
	q.ForgetLanes()
	q.Jump("BNEZ", "largest", q.left)
	q.SetLanes(riscv.Zero, wide, q.got)
	q.Op("VMVXS", q.top, q.most)
	q.Op("VMVXS", q.high, q.signed)
	q.ForgetLanes()
	q.Op("MOV", int(int32(spec.Exponent&^uint32(spec.SignBit))), q.number)
	q.Jump("BGE", "false", q.most, q.number)
	scale()
	q.Op("MOVF", q.factor, riscv.At(q.scale, 0))
	q.Op("ADD", 4, q.scale, q.scale)
	q.Op("MOV", q.group, q.left)
	elements()
	q.Jump("BNEZ", "group", rest)
	q.add(q.lds, q.src)
	q.add(q.ldd, q.dst)
	q.Op("MOV", q.Param("lsc"), q.got)
	q.Op("SLLI", 2, q.got, q.got)
	q.add(q.got, q.scales)
	q.Op("ADD", -1, q.n, q.n)
	q.Jump("BNEZ", "row", q.n)
	q.Label("true")
	q.Op("MOV", 1, q.got)
	q.Jump("JMP", "return")
	q.Label("false")
	q.Op("MOV", riscv.Zero, q.got)
	q.Label("return")
	q.Op("MOVB", q.got, q.Result())
	q.Ret()
}

// unless0 makes most 0 if it is below least.
func (q *quantizer) unless0(least int) {
	q.Op("MOV", least, q.number)
	q.Jump("BGE", "normal", q.most, q.number)
	q.Op("MOV", riscv.Zero, q.most)
	q.Label("normal")
}

// divide emits the quotients of a group by the scale, or 0. between has what comes before they are
// rounded. Adding 1.5·2^23 rounds to an integer, which the low bits hold.
func (q *quantizer) divide(between func()) {
	q.Op("VMVVI", 0, q.v)
	q.Jump("BEQZ", "zero", q.most)
	q.Op("VLE32V", riscv.At(q.from, 0), q.v)
	q.Op("VFDIVVF", q.factor, q.v, q.v)
	between()
	q.Op("VFADDVF", q.magic, q.v, q.v)
	q.Label("zero")
}

// QuantizeInt8 needs no limits: no quotient is beyond ±127.
func (g *gen) QuantizeInt8() {
	q := g.quantizer(spec.QuantizeInt8, contract.MostCode)
	q.each(func() {
		q.unless0(contract.LeastInt8)
		q.Op("MOV", contract.MostInt8, q.number)
		q.Jump("BGE", "scale", q.number, q.most)
		q.Op("MOV", q.number, q.most)
		q.Label("scale")
		q.Op("FMVWX", q.most, q.factor)
		q.Op("FDIVS", q.by, q.factor, q.factor)
	}, func() {
		q.elements(0, func() riscv.Vec {
			q.divide(func() {})
			return q.v
		})
	})
}

// QuantizeInt4 has the sign of the number of largest magnitude: with a positive one the largest
// integer is positive.
func (g *gen) QuantizeInt4() {
	q := g.quantizer(spec.QuantizeInt4, -8)
	low, high, zero, places := g.Float(math.Float32bits(-8)), g.Float(math.Float32bits(7)), g.Float(0), g.GP()
	t, low16 := g.Vec(1), q.v.First(2)
	q.each(func() {
		q.Op("MOV", q.most, q.number)
		q.Jump("BEQ", "positive", q.signed, q.most)
		q.Op("MOV", int(math.MinInt32), q.got)
		q.add(q.got, q.number)
		q.Label("positive")
		q.Op("FMVWX", q.number, q.factor)
		q.Op("FDIVS", q.by, q.factor, q.factor)
		q.Op("FADDS", zero, q.factor, q.factor)
		q.unless0(contract.LeastInt4)
		q.Jump("BNEZ", "scale", q.most)
		q.Op("FMVWX", riscv.Zero, q.factor)
		q.Label("scale")
	}, func() {
		q.halves(func() {
			q.Op("SLLI", 1, q.got, q.got)
			q.SetLanes(q.got, wide, q.got)
			q.divide(func() {
				q.Op("VFMINVF", high, q.v, q.v)
				q.Op("VFMAXVF", low, q.v, q.v)
			})
			q.Op("MOV", 15, places)
			q.Op("VANDVX", places, q.v, q.v)
			q.SetBits(16)
			q.Op("VNSRLWI", 0, q.v, low16)
			q.SetBits(8)
			q.Op("VNCVTXXW", low16, t)
			q.step(2, q.from)
			q.Op("SRLI", 1, q.got, places)
			q.SetElements(16, places, 1, places)
			q.Op("VSRLVI", 4, t, q.top)
			q.Op("VORVV", q.top, t, t)
			q.SetSize(32, byteGroup)
			q.SetBits(8)
			q.Op("VNCVTXXW", t, q.top)
			q.Op("VSE8V", q.top, riscv.At(q.to, 0))
			q.add(places, q.to)
		})
		q.ForgetLanes()
		q.Jump("BNEZ", "halves", q.left)
	})
}
