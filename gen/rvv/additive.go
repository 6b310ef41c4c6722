package rvv

import (
	"github.com/attn-go/attn/gen/lane"
	"github.com/attn-go/attn/gen/riscv"
	"github.com/attn-go/attn/gen/spec"
)

// Additive has the 16 chains of a score in two groups, of which the CPU uses the first 8 lanes: a
// table of tanh fits one.
func (g *gen) Additive() {
	const group, lanes = 2, 8
	g.kernel(spec.Additive)
	s, ld, q, ldq, k, ldk := g.Load(g.Base("s")), g.stride("ld"), g.Load(g.Base("q")), g.stride("ldq"), g.Load(g.Base("k")), g.stride("ldk")
	m, n, x := g.Load(g.Param("m")), g.GP(), g.GP()
	score, query, y, key, weight, left, sum := g.GP(), g.GP(), g.GP(), g.GP(), g.GP(), g.GP(), g.FP()
	chains, w := g.Vecs(2, group), g.Vec(group)
	tanh := g.inline((*lane.Builder).Tanh, group, len(chains)+1, x)
	g.Jump("BEQZ", "done", m)
	g.Label("key")
	g.Op("MOV", g.Param("n"), n)
	g.Jump("BEQZ", "next", n)
	g.Op("MOV", s, score)
	g.Op("MOV", q, query)
	g.Label("query")
	g.Op("MOV", lanes, x)
	g.SetLanes(x, group, x)
	for _, c := range chains {
		g.Op("VMVVI", 0, c)
	}
	g.Op("MOV", query, y)
	g.Op("MOV", k, key)
	g.Op("MOV", g.Base("weights"), weight)
	g.Op("MOV", g.Len("weights"), left)
	g.Jump("BEQZ", "sums", left)
	g.Label("units")
	for _, c := range chains {
		t := g.Vec(group)
		g.Op("VLE32V", riscv.At(y, 0), t)
		g.Op("VLE32V", riscv.At(key, 0), w)
		g.Op("VFADDVV", w, t, t)
		t = tanh.Of(t)[0]
		g.Op("VLE32V", riscv.At(weight, 0), w)
		g.Op("VFMACCVV", w, t, c)
		g.Free(t)
		for _, p := range []riscv.GP{y, key, weight} {
			g.Op("ADD", 4*lanes, p, p)
		}
	}
	g.Op("ADD", -2*lanes, left, left)
	g.Jump("BNEZ", "units", left)
	g.Label("sums")
	g.fold("", lanes, chains, w, x, left, sum)
	g.Op("MOVF", sum, riscv.At(score, 0))
	g.ForgetLanes()
	g.Op("ADD", 4, score, score)
	g.add(ldq, query)
	g.Op("ADD", -1, n, n)
	g.Jump("BNEZ", "query", n)
	g.Label("next")
	g.add(ldk, k)
	g.add(ld, s)
	g.Op("ADD", -1, m, m)
	g.Jump("BNEZ", "key", m)
	g.Label("done")
	g.Ret()
}
