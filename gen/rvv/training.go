package rvv

import (
	"github.com/attn-go/attn/gen/riscv"
	"github.com/attn-go/attn/gen/spec"
)

// AdamW is a step of the optimizer.
func (g *gen) AdamW() {
	const size = 4
	g.kernel(spec.AdamW)
	w, grad, m, v := g.Load(g.Base("w")), g.Load(g.Base("g")), g.Load(g.Base("m")), g.Load(g.Base("v"))
	keep, gain1, beta2, gain2 := g.loadFloat("keep"), g.loadFloat("gain1"), g.loadFloat("beta2"), g.loadFloat("gain2")
	root, epsilon, rate := g.loadFloat("root"), g.loadFloat("epsilon"), g.loadFloat("rate")
	x, mean, square, y, t := g.Vec(size), g.Vec(size), g.Vec(size), g.Vec(size), g.Vec(size)
	least := g.Float(spec.LeastNormal)
	g.each(g.Load(g.Len("w")), size, []riscv.GP{w, grad, m, v}, nil, func() {
		g.Op("VLE32V", riscv.At(grad, 0), x)
		g.Op("VLE32V", riscv.At(v, 0), square)
		g.Op("VFMULVF", beta2, square, square)
		g.Op("VFMULVF", gain2, x, y)
		g.Op("VFMULVV", x, y, y)
		g.Op("VFADDVV", y, square, square)
		g.flushBelow(square, least, t)
		g.Op("VSE32V", square, riscv.At(v, 0))
		g.Op("VFSQRTV", square, square)
		g.Op("VLE32V", riscv.At(m, 0), mean)
		g.Op("VFSUBVV", mean, x, x)
		g.Op("VFMULVF", gain1, x, x)
		g.Op("VFADDVV", x, mean, mean)
		g.flushBelow(mean, least, t)
		g.Op("VSE32V", mean, riscv.At(m, 0))
		g.Op("VFDIVVF", root, square, square)
		g.Op("VFADDVF", epsilon, square, square)
		g.Op("VFDIVVV", square, mean, mean)
		g.Op("VFMULVF", rate, mean, mean)
		g.Op("VLE32V", riscv.At(w, 0), y)
		g.Op("VFMULVF", keep, y, y)
		g.Op("VFSUBVV", mean, y, y)
		g.flushBelow(y, least, t)
		g.Op("VSE32V", y, riscv.At(w, 0))
	})
}

// AddWeighted takes some columns of all rows at a time. A NaN is the one that the contract wants.
func (g *gen) AddWeighted() {
	g.kernel(spec.AddWeighted)
	dst, src, weights, ldd, lds := g.Load(g.Base("dst")), g.Load(g.Base("src")), g.Load(g.Base("weights")), g.stride("ldd"), g.stride("lds")
	from, to, rows, w, x, sum := g.GP(), g.GP(), g.GP(), g.Vec(normGroup), g.Vec(normGroup), g.Vec(normGroup)
	g.each(g.Load(g.Len("weights")), normGroup, []riscv.GP{weights, src, dst}, nil, func() {
		g.Op("VLE32V", riscv.At(weights, 0), w)
		g.Op("MOV", src, from)
		g.Op("MOV", dst, to)
		g.eachRow(rows, func() {
			g.Op("VLE32V", riscv.At(from, 0), x)
			g.Op("VLE32V", riscv.At(to, 0), sum)
			g.Op("VFMULVV", w, x, x)
			g.Op("VFADDVV", x, sum, sum)
			g.Op("VSE32V", sum, riscv.At(to, 0))
		}, [2]riscv.GP{from, lds}, [2]riscv.GP{to, ldd})
	})
}

// slope emits u = (1-x)·(1+x), which is 0 where x is ±1. scratch may be x.
func (g *gen) slope(one riscv.FP, x, u, scratch riscv.Vec) {
	g.Op("VFRSUBVF", one, x, u)
	g.Op("VFADDVF", one, x, scratch)
	g.Op("VFMULVV", scratch, u, u)
}

// AdditiveBackward has the hidden units in the lanes.
func (g *gen) AdditiveBackward() {
	g.kernel(spec.AdditiveBackward)
	q, k, dk, dq, dw := g.Load(g.Base("q")), g.Load(g.Base("k")), g.Load(g.Base("dk")), g.Load(g.Base("dq")), g.Load(g.Base("dw"))
	ldk, ldd, key, grad, x, rows := g.stride("ldk"), g.stride("ldd"), g.GP(), g.GP(), g.GP(), g.GP()
	one, f := g.Float(spec.One), g.FP()
	query, sumQ, sumW, y := g.Vec(group), g.Vec(group), g.Vec(group), g.Vec(group)
	var t *tanh
	g.each(g.Load(g.Len("q")), group, []riscv.GP{q, k, dk, dq, dw}, func() { t = g.newTanh(true) }, func() {
		g.Op("VLE32V", riscv.At(q, 0), query)
		g.Op("VLE32V", riscv.At(dq, 0), sumQ)
		g.Op("VLE32V", riscv.At(dw, 0), sumW)
		g.Op("MOV", k, key)
		g.Op("MOV", dk, grad)
		g.Op("MOV", g.Base("x"), x)
		g.eachRow(rows, func() {
			g.Op("VLE32V", riscv.At(key, 0), y)
			g.Op("VFADDVV", query, y, y)
			t.of(y)
			g.Op("MOVF", riscv.At(x, 0), f)
			g.Op("ADD", 4, x, x)
			g.mac(f, y, sumW)
			g.Scope(func() {
				u := g.Vec(group)
				g.slope(one, y, u, y)
				g.mac(f, u, sumQ)
				g.Op("VFMULVF", f, u, u)
				g.Op("VLE32V", riscv.At(grad, 0), y)
				g.Op("VFADDVV", u, y, y)
			})
			g.Op("VSE32V", y, riscv.At(grad, 0))
		}, [2]riscv.GP{key, ldk}, [2]riscv.GP{grad, ldd})
		g.Op("VSE32V", sumQ, riscv.At(dq, 0))
		g.Op("VSE32V", sumW, riscv.At(dw, 0))
	})
}

// thirds returns pointers to the three parts of a slice. size is that of a part in bytes.
func (g *gen) thirds(name string, size riscv.GP) []riscv.GP {
	p := []riscv.GP{g.Load(g.Base(name)), g.GP(), g.GP()}
	g.Op("ADD", size, p[0], p[1])
	g.Op("ADD", size, p[1], p[2])
	return p
}

// GRU is the element-wise part of a gated recurrent unit.
func (g *gen) GRU() {
	g.kernel(spec.GRU)
	left, size, state := g.Load(g.Len("state")), g.GP(), g.Load(g.Base("state"))
	g.Op("SLLI", 2, left, size)
	gates, in, hidden := g.thirds("gates", size), g.thirds("in", size), g.thirds("hidden", size)
	reset, update := g.Vec(group), g.Vec(group)
	var t *tanh
	var e *exp2
	one, zero, minusLog2E := g.Float(spec.One), g.Float(0), g.Float(spec.Log2E|spec.SignBit)
	pointers := append(append(append([]riscv.GP{state}, gates...), in...), hidden...)
	g.each(left, group, pointers, func() { t, e = g.newTanh(false), g.newExp2All(false) }, func() {
		x := g.Vec(group)
		for i, gate := range []riscv.Vec{reset, update} {
			g.Op("VLE32V", riscv.At(in[i], 0), gate)
			g.Op("VLE32V", riscv.At(hidden[i], 0), x)
			g.Op("VFADDVV", x, gate, gate)
			g.Op("VFABSV", gate, x)
			g.Op("VFMULVF", minusLog2E, x, x)
			e.power(x)
			g.Commentf("The gate: 1/(1+e), and e/(1+e) for negative numbers.")
			g.Op("VFMVVF", one, x)
			g.Op("VMFLTVF", zero, gate, riscv.V0)
			g.Op("VMERGEVVM", e.p, x, riscv.V0, x)
			g.Op("VFADDVF", one, e.p, e.p)
			g.Op("VFDIVVV", e.p, x, gate)
			g.Op("VSE32V", gate, riscv.At(gates[i], 0))
		}
		g.Op("VLE32V", riscv.At(hidden[2], 0), x)
		g.Op("VFMULVV", x, reset, reset)
		g.Op("VLE32V", riscv.At(in[2], 0), x)
		g.Op("VFADDVV", reset, x, x)
		t.of(x)
		g.Op("VSE32V", x, riscv.At(gates[2], 0))
		g.Op("VLE32V", riscv.At(state, 0), reset)
		g.Op("VFSUBVV", x, reset, reset)
		g.Op("VFMULVV", update, reset, reset)
		g.Op("VFADDVV", reset, x, x)
		g.Op("VSE32V", x, riscv.At(state, 0))
	})
}

// GRUBackward is its gradients.
func (g *gen) GRUBackward() {
	g.kernel(spec.GRUBackward)
	left, size, d, before := g.Load(g.Len("d")), g.GP(), g.Load(g.Base("d")), g.Load(g.Base("before"))
	g.Op("SLLI", 2, left, size)
	dIn, dHidden, gates, hidden := g.thirds("dIn", size), g.thirds("dHidden", size), g.thirds("gates", size), g.thirds("hidden", size)[2]
	one := g.Float(spec.One)
	r, z, c, grad, x, slope, y := g.Vec(group), g.Vec(group), g.Vec(group), g.Vec(group), g.Vec(group), g.Vec(group), g.Vec(group)
	pointers := append(append(append([]riscv.GP{d, before, hidden}, dIn...), dHidden...), gates...)
	g.each(left, group, pointers, nil, func() {
		load := func(p riscv.GP, v riscv.Vec) { g.Op("VLE32V", riscv.At(p, 0), v) }
		store := func(v riscv.Vec, p riscv.GP) { g.Op("VSE32V", v, riscv.At(p, 0)) }
		for i, v := range []riscv.Vec{r, z, c} {
			load(gates[i], v)
		}
		load(d, grad)
		g.Commentf("dc = (d·(1-z))·((1-c)·(1+c))")
		g.Op("VFRSUBVF", one, z, x)
		g.Op("VFMULVV", x, grad, y)
		g.slope(one, c, slope, x)
		g.Op("VFMULVV", slope, y, y)
		store(y, dIn[2])
		g.Commentf("dr = (dc·hidden)·((1-r)·r)")
		load(hidden, x)
		g.Op("VFMULVV", y, x, x)
		g.Op("VFMULVV", r, y, y)
		store(y, dHidden[2])
		g.Op("VFRSUBVF", one, r, y)
		g.Op("VFMULVV", r, y, y)
		g.Op("VFMULVV", y, x, x)
		store(x, dIn[0])
		store(x, dHidden[0])
		g.Commentf("dz = (d·(before-c))·((1-z)·z)")
		load(before, x)
		g.Op("VFSUBVV", c, x, x)
		g.Op("VFMULVV", grad, x, x)
		g.Op("VFRSUBVF", one, z, y)
		g.Op("VFMULVV", z, y, y)
		g.Op("VFMULVV", y, x, x)
		store(x, dIn[1])
		store(x, dHidden[1])
		g.Op("VFMULVV", z, grad, grad)
		store(grad, d)
	})
}
