package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// additive works on chunks of columns, a few vectors wide, and in a chunk row by row of
// A: a step adds a number of A to a row of B and takes tanh of that, which is nearly all
// its time, so that there is nothing to gain from sharing loads among rows. Neither the
// vectors of a step nor the tanh of different steps wait for each other; only the sums
// do, and their one fma is short beside a tanh.
//
// General registers: b, c, what is left, and for the loops the row of a and of c, the rows
// left, the pointers into a and b, two strides, and an index that runs from -k to 0 beside
// the end of the weights.
func (g *gen) additive() {
	g.function(additiveFunction)
	a := adder{gen: g, b: g.slice("b"), c: g.slice("c")}
	left := g.num("lanes")
	a.tanh = g.tanhOperands()
	a.ldb, a.cs = g.stride("ldb"), g.stride("cs")
	g.chunks(2, left, a.chunk)
}

type adder struct {
	*gen
	b, c    reg.GPVirtual
	ldb, cs reg.GPVirtual // in bytes
	tanh    tanhOperands
}

func (g adder) chunk(vectors int, name string) {
	g.Commentf("%d vectors of lanes, row by row of A.", vectors)
	g.Label(name)
	row, out, rows := g.slice("a"), g.GP64(), g.num("m")
	g.MOVQ(g.c, out)
	g.TESTQ(rows, rows)
	g.JZ(operand.LabelRef(name + "done"))
	g.Label(name + "row")
	acc := g.sums(vectors, name, row)
	for v := range acc {
		g.VMOVUPS(acc[v], at(out, v*g.bytes()))
	}
	step := g.num("rs")
	g.LEAQ(indexed(row, step, 4), row)
	g.Load(g.Param("ldc"), step)
	g.LEAQ(indexed(out, step, 4), out)
	g.DECQ(rows)
	g.JNZ(operand.LabelRef(name + "row"))
	g.Label(name + "done")
	g.advance(vectors*g.bytes(), g.b, g.c)
}

// sums emits the chains of one row of A.
func (g adder) sums(vectors int, name string, row reg.GPVirtual) []reg.VecVirtual {
	acc := g.vectorsOf(vectors)
	for v := range acc {
		g.zero(g.Context, acc[v])
	}
	a, b, weights, x := g.GP64(), g.GP64(), g.slice("weights"), g.sliceLen("weights")
	g.MOVQ(row, a)
	g.MOVQ(g.b, b)
	g.LEAQ(indexed(weights, x, 4), weights)
	g.NEGQ(x)
	g.JZ(operand.LabelRef(name + "end"))
	g.align()
	g.Label(name + "step")
	number := g.vec()
	g.VBROADCASTSS(at(a, 0), number)
	for v := range acc {
		s := g.vec()
		g.VADDPS(at(b, v*g.bytes()), number, s)
		g.fmaBroadcast(g.Context, indexed(weights, x, 4), g.gen.tanh(g.tanh, s), acc[v])
	}
	g.ADDQ(g.cs, a)
	g.ADDQ(g.ldb, b)
	g.INCQ(x)
	g.JNZ(operand.LabelRef(name + "step"))
	g.Label(name + "end")
	return acc
}
