package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pack transposes query rows into a panel and scales them, one vector of lanes
// after the other; see transpose.go. A single row is broadcast; up to 4 rows fill
// every quarter, so that 4 loads do for 16; rows of less than 4 columns are moved
// number by number.
func (g *gen) pack() {
	g.function(packFunction)
	p := packer{gen: g, dst: g.slice("dst"), ld: g.stride("ld"), src: g.slice("src"), off: g.slice("off"), lanes: g.sliceLen("off"), d: g.num("d"), scale: g.vec()}
	g.VBROADCASTSS(g.argument("scale"), p.scale)
	g.TESTQ(p.d, p.d)
	g.JZ(operand.LabelRef("done"))
	n := p.num("n")
	g.CMPQ(n, operand.Imm(1))
	g.JNE(operand.LabelRef("many"))
	g.CMPQ(p.lanes, operand.U32(g.lanes()))
	g.JE(operand.LabelRef("single"))
	g.Label("many")
	g.CMPQ(p.d, operand.Imm(4))
	g.JL(operand.LabelRef("narrow"))
	g.CMPQ(n, operand.Imm(4))
	g.JLE(operand.LabelRef("few"))
	p.transpose("pack", func(v reg.VecVirtual, src reg.Register, i int) {
		g.loadQuarters(g.Context, v, func(q int) operand.Mem { return g.row(src, p.off, 4*q+i) })
	})
	g.ADDQ(operand.U32(8*g.lanes()), p.off)
	g.SUBQ(operand.U32(g.lanes()), p.lanes)
	g.JNZ(operand.LabelRef("packcolumns"))
	g.ret()
	g.Label("few")
	p.transpose("few", func(v reg.VecVirtual, src reg.Register, i int) {
		g.repeatQuarter(g.Context, g.row(src, p.off, i), v)
	})
	g.SUBQ(operand.U32(g.lanes()), p.lanes)
	g.JNZ(operand.LabelRef("fewcolumns"))
	g.ret()
	g.Label("single")
	p.broadcast()
	g.ret()
	g.Label("narrow")
	p.scalars()
	g.Label("done")
	g.ret()
}

type packer struct {
	*gen
	dst, ld, src, off, lanes, d reg.GPVirtual
	scale                       reg.VecVirtual
}

// transpose does one vector of lanes, from a label that name begins. load loads
// 4 columns of the rows in lanes i, i+4, ...
func (p packer) transpose(name string, load func(v reg.VecVirtual, src reg.Register, i int)) {
	src, dst := p.GP64(), p.GP64()
	p.Comment("One vector of lanes, 4 columns of its rows a turn.")
	p.Label(name + "columns")
	p.MOVQ(p.src, src)
	p.MOVQ(p.dst, dst)
	p.columns(name, 4, p.d, func() {
		v := p.vectorsOf(4)
		for i := range v {
			load(v[i], src, i)
		}
		q := p.GP64()
		p.MOVQ(dst, q)
		for i, t := range p.transpose4(v) {
			p.VMULPS(p.scale, t, t)
			p.VMOVUPS(t, at(q, 0))
			if i < 3 {
				p.ADDQ(p.ld, q)
			}
		}
	}, func(columns operand.Op) {
		if r, ok := columns.(reg.Register); ok {
			rows := p.GP64()
			p.LEAQ(indexed(src, r, 4), src)
			p.MOVQ(p.ld, rows)
			p.IMULQ(r, rows)
			p.ADDQ(rows, dst)
			return
		}
		p.ADDQ(operand.Imm(16), src)
		p.LEAQ(indexed(dst, p.ld, 4), dst)
	})
	p.ADDQ(operand.U32(p.bytes()), p.dst)
}

// broadcast unrolls: a call for one query is over in a few hundred cycles.
func (p packer) broadcast() {
	o, ld3 := p.GP64(), p.GP64()
	p.MOVQ(at(p.off, 0), o)
	p.LEAQ(indexed(p.src, o, 4), p.src)
	p.LEAQ(indexed(p.ld, p.ld, 2), ld3)
	number := func(i int, dst operand.Mem) {
		v := p.vec()
		p.VBROADCASTSS(at(p.src, 4*i), v)
		p.VMULPS(p.scale, v, v)
		p.VMOVUPS(v, dst)
	}
	p.SUBQ(operand.Imm(4), p.d)
	p.JL(operand.LabelRef("numbers"))
	p.Label("fournumbers")
	number(0, at(p.dst, 0))
	number(1, indexed(p.dst, p.ld, 1))
	number(2, indexed(p.dst, p.ld, 2))
	number(3, indexed(p.dst, ld3, 1))
	p.ADDQ(operand.Imm(16), p.src)
	p.LEAQ(indexed(p.dst, p.ld, 4), p.dst)
	p.SUBQ(operand.Imm(4), p.d)
	p.JGE(operand.LabelRef("fournumbers"))
	p.Label("numbers")
	p.ADDQ(operand.Imm(4), p.d)
	p.JZ(operand.LabelRef("done"))
	p.Label("number")
	number(0, at(p.dst, 0))
	p.ADDQ(operand.Imm(4), p.src)
	p.ADDQ(p.ld, p.dst)
	p.DECQ(p.d)
	p.JNZ(operand.LabelRef("number"))
}

func (p packer) scalars() {
	p.Comment("Rows of less than 4 columns: lane by lane.")
	p.Label("lane")
	o, src, dst, left := p.GP64(), p.GP64(), p.GP64(), p.GP64()
	p.MOVQ(at(p.off, 0), o)
	p.LEAQ(indexed(p.src, o, 4), src)
	p.MOVQ(p.dst, dst)
	p.MOVQ(p.d, left)
	p.Label("lanenumber")
	x := p.XMM()
	p.VMOVSS(at(src, 0), x)
	p.VMULSS(p.scale.AsX(), x, x)
	p.VMOVSS(x, at(dst, 0))
	p.ADDQ(operand.Imm(4), src)
	p.ADDQ(p.ld, dst)
	p.DECQ(left)
	p.JNZ(operand.LabelRef("lanenumber"))
	p.ADDQ(operand.Imm(4), p.dst)
	p.ADDQ(operand.Imm(8), p.off)
	p.DECQ(p.lanes)
	p.JNZ(operand.LabelRef("lane"))
}
