package main

import "github.com/attn-go/attn/gen/a64"

// additive works on chunks of columns, row by row of A; see additive.go. Two vectors
// are done at once, as in neon_softcap.go.
func (g *neon) additive() {
	g.function(additiveFunction)
	a := neonAdder{neon: g, tanh: g.tanhRegs(), b: g.slice("b"), c: g.slice("c"), ldb: g.stride("ldb"), cs: g.stride("cs")}
	g.chunks(2, g.num("lanes"), a.chunk)
}

type neonAdder struct {
	*neon
	tanh    neonTanh
	b, c    a64.GP
	ldb, cs a64.GP // in bytes
}

func (g neonAdder) chunk(vectors int, name string) {
	g.Comment("%d vectors of lanes, row by row of A.", vectors)
	g.Label(name)
	row, out, rows := g.slice("a"), g.GP(), g.num("m")
	g.Op("MOVD", g.c, out)
	g.Jump("CBZ", name+"done", rows)
	g.Label(name + "row")
	g.Scope(func() {
		for v, sum := range g.sums(vectors, name, row) {
			g.store(sum, a64.At(out, v*neonBytes))
		}
		step := g.num("rs")
		g.Op("ADD", step.Shl(2), row, row)
		g.Load(g.Param("ldc"), step)
		g.Op("ADD", step.Shl(2), out, out)
	})
	g.Op("SUBS", 1, rows, rows)
	g.Jump("BNE", name+"row")
	g.Label(name + "done")
	g.advance(vectors*neonBytes, g.b, g.c)
}

// sums emits the chains of one row of A.
func (g neonAdder) sums(vectors int, name string, row a64.GP) []a64.Vec {
	acc, xs := g.Vecs(vectors), g.Vecs(vectors)
	for _, v := range acc {
		g.zero(v)
	}
	a, b, weights, k := g.GP(), g.GP(), g.slice("weights"), g.param(g.Len("weights"))
	g.Op("MOVD", row, a)
	g.Op("MOVD", g.b, b)
	g.Jump("CBZ", name+"end", k)
	g.Align(32)
	g.Label(name + "step")
	g.Scope(func() {
		number := g.Vec()
		g.Op("VLD1R", a64.At(a, 0), []a64.Arr{number.S4()})
		for v, x := range xs {
			g.load(a64.At(b, v*neonBytes), x)
			g.FADD(x, x, number)
		}
	})
	g.neon.tanh(g.tanh, xs)
	g.Scope(func() {
		weight := g.Vec()
		g.Op("FMOVS.P", a64.At(weights, 4), weight)
		for v, x := range xs {
			g.FMLALane(acc[v], x, weight.S(0))
		}
	})
	g.Op("ADD", g.cs, a, a)
	g.Op("ADD", g.ldb, b, b)
	g.Op("SUBS", 1, k, k)
	g.Jump("BNE", name+"step")
	g.Label(name + "end")
	return acc
}
