package neon

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// WeightPack and WeightPackHalves follow amd64/weightpack.go, with as many rows at a time as a
// vector has numbers.

func (g *neon) WeightPack() {
	g.weightPack(spec.WeightPack, spec.Float32, func(v, t []a64.Vec) []a64.Vec {
		g.Transpose4(v, t)
		return v
	})
}

// WeightPackHalves takes two neighbours of a row as one number of 32 bits and transposes 4 rows,
// and the next 4. Then the lower halves of both are a column, and the upper ones the next.
func (g *neon) WeightPackHalves() {
	g.weightPack(spec.WeightPackHalves, spec.F16, func(v, t []a64.Vec) []a64.Vec {
		g.Transpose4(v[:4], t)
		g.Transpose4(v[4:], t)
		for i := range 4 {
			g.Op("VUZP1", v[4+i].H8(), v[i].H8(), t[2*i].H8())
			g.Op("VUZP2", v[4+i].H8(), v[i].H8(), t[2*i+1].H8())
		}
		return t
	})
}

// weightPack emits the function. transpose returns the columns of v, which has a vector of each
// row. t is scratch.
func (g *neon) weightPack(f spec.Function, e spec.Element, transpose func(v, t []a64.Vec) []a64.Vec) {
	g.Kernel(f)
	rows := emit.VecBytes >> e.Shift()
	m := transposer{neon: g, step: rows, shift: e.Shift(), d: g.Num("d"), panel: g.Slice("dst"), ld: g.StrideOf("ld", e), p: g.GP(), left: g.GP()}
	src, lds, n := g.Slice("src"), g.StrideOf("lds", e), g.Num("n")
	for range rows {
		m.rows = append(m.rows, g.GP())
	}
	v, t := g.Vecs(rows), g.Vecs(rows)
	g.JumpIfZero(n, "done")
	g.Commentf("%d columns of %d rows per iteration.", rows, rows)
	g.Label("rows")
	for _, r := range m.rows {
		g.Op("MOVD", src, r)
		g.Op("ADD", lds, src, src)
	}
	g.Op("MOVD", m.panel, m.p)
	g.Op("MOVD", m.d, m.left)
	m.steps(func() {
		for i, r := range m.rows {
			g.Op("FMOVQ.P", a64.At(r, emit.VecBytes), v[i])
		}
		for _, x := range transpose(v, t) {
			g.StoreVec(x, m.p, 0)
			g.Op("ADD", m.ld, m.p, m.p)
		}
	})
	g.Label("next")
	g.Advance(emit.VecBytes, m.panel)
	g.CountDown(n, rows, "rows")
	g.Label("done")
	g.Return()
}
