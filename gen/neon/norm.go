package neon

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// The norms follow amd64/norm.go. The 64 chains are 16 vectors. There are no loads under a mask:
// the last elements of a row, less than a vector, are loaded one by one.

func (g *neon) RMSNorm()   { g.norm(spec.RMSNorm, false) }
func (g *neon) LayerNorm() { g.norm(spec.LayerNorm, true) }

// Means emits the means of rows less a number each.
func (g *neon) Means() {
	g.Kernel(spec.Means)
	n := &normer{neon: g, src: g.Slice("x"), d: g.Num("d"), centers: []a64.Vec{g.Vec()}}
	means, centers, ld := g.Slice("means"), g.Slice("centers"), g.Stride("ld")
	loop.AnyTimes(g, g.Num("n"), "row", "done", false, func() {
		g.Op("VLD1R.P", a64.At(centers, 4), []a64.Arr{n.centers[0].S4()})
		n.mean("mean", func(mean a64.Vec) { g.Op("FMOVS.P", mean, a64.At(means, 4)) })
		g.Op("ADD", ld, n.src, n.src)
	})
	g.Return()
}

// A normer emits a norm.
type normer struct {
	*neon
	src, dst, weight, bias, d a64.GP
	centers                   []a64.Vec // of a LayerNorm, what is subtracted from x
}

func (g *neon) norm(f spec.Function, layer bool) {
	g.Kernel(f)
	n := &normer{neon: g, src: g.Slice("src"), dst: g.Slice("dst"), weight: g.Slice("weight"), d: g.LoadParam(g.Len("weight"))}
	var mean, rest a64.Vec
	if layer {
		n.bias, mean, rest = g.Slice("bias"), g.Vec(), g.Vec()
	}
	lds, ldd, inv := g.Stride("lds"), g.Stride("ldd"), g.Vec()
	loop.AnyTimes(g, g.Num("n"), "row", "done", false, func() {
		if n.centers = nil; layer {
			n.center("mean", mean)
			n.center("rest", rest)
		}
		n.sum("squares", func(x, acc a64.Vec) { g.Op("VFMLA", x.S4(), x.S4(), acc.S4()) }, func(sum a64.Vec) { n.inverseRoot(sum, inv) })
		g.Scope(func() { n.apply(inv) })
		g.Op("ADD", lds, n.src, n.src)
		g.Op("ADD", ldd, n.dst, n.dst)
	})
	g.Return()
}

// center makes the mean of x less the centers so far the next center.
func (n *normer) center(name string, center a64.Vec) {
	n.mean(name, func(mean a64.Vec) { n.Op("VDUP", mean.S(0), center.S4()) })
	n.centers = append(n.centers, center)
}

// mean emits the mean of x less the centers so far, and then what use emits for it.
func (n *normer) mean(name string, use func(mean a64.Vec)) {
	n.sum(name, func(x, acc a64.Vec) { n.FADD(acc, acc, x) }, func(sum a64.Vec) {
		n.divide(sum)
		use(sum)
	})
}

// subtract emits the subtraction of the centers from x.
func (n *normer) subtract(x a64.Vec) {
	for _, c := range n.centers {
		n.FSUB(x, x, c)
	}
}

// sum emits the sum of a row in chains, and then what use emits for it, the first lane of a
// vector. add adds x, or its square, to a vector of chains; x is less the centers so far.
func (n *normer) sum(name string, add func(x, acc a64.Vec), use func(sum a64.Vec)) {
	n.Scope(func() {
		acc, x := n.Vecs(spec.NormChains/emit.VecLanes), n.Vecs(2)
		for _, a := range acc {
			n.Zero(a)
		}
		p, left := n.GP(), n.GP()
		n.Op("MOVD", n.src, p)
		n.Op("MOVD", n.d, left)
		n.Op("SUBS", spec.NormChains, left, left)
		n.Jump("BLT", name+"rest")
		n.AlignLoop()
		n.Label(name + "chains")
		for v, a := range acc {
			n.next(p, x[v%2])
			add(x[v%2], a)
		}
		n.Op("SUBS", spec.NormChains, left, left)
		n.Jump("BGE", name+"chains")
		n.Commentf("Less than %d elements are left: those beyond whole vectors first, then these, the last one first.", spec.NormChains)
		n.Label(name + "rest")
		n.Op("ADDS", spec.NormChains, left, left)
		n.Jump("BEQ", name+"all")
		n.last(name, p, left, x)
		whole := func(v int) string { return fmt.Sprint(name, "whole", v) }
		most := len(acc) - 1
		for v := range most {
			n.Op("CMP", emit.VecLanes*(v+1), left)
			n.Jump("BLT", whole(v))
		}
		for v := most; v >= 0; v-- {
			if v < most {
				n.Label(whole(v))
			}
			add(x[0], acc[v])
			if v > 0 {
				n.LoadVec(p, v-1, x[0])
				n.subtract(x[0])
			}
		}
		n.Label(name + "all")
		n.sumOfHalves(acc)
		use(acc[0])
	})
}

// next loads the next elements of a row, less the centers.
func (n *normer) next(p a64.GP, x a64.Vec) {
	n.Op("FMOVQ.P", a64.At(p, emit.VecBytes), x)
	n.subtract(x)
}

// last loads the elements at the end that are no whole vector, left mod 4, into x[0],
// less the centers, and clears the other lanes.
func (n *normer) last(name string, p, left a64.GP, x []a64.Vec) {
	n.Scope(func() {
		count, from := n.GP(), n.GP()
		n.Zero(x[0])
		n.Op("ANDS", emit.VecLanes-1, left, count)
		n.Jump("BEQ", name+"loaded")
		n.Op("SUB", count, left, from)
		n.Op("ADD", from.Shl(2), p, from)
		for lane := range emit.VecLanes - 1 {
			v := x[min(lane, 1)]
			n.Op("FMOVS.P", a64.At(from, 4), v)
			for _, c := range n.centers {
				n.Op("FSUBS", c, v, v)
			}
			if lane > 0 {
				n.Op("VMOV", v.S(0), x[0].S(lane))
			}
			if lane < emit.VecLanes-2 {
				n.Op("SUBS", 1, count, count)
				n.Jump("BEQ", name+"loaded")
			}
		}
	})
	n.Label(name + "loaded")
}

// divide divides the first lane of a sum by size.
func (n *normer) divide(sum a64.Vec) {
	n.Scope(func() { n.Op("FDIVS", n.BroadcastParam("size"), sum, sum) })
}

// inverseRoot emits 1/sqrt(sum/size + eps) in all lanes of inv.
func (n *normer) inverseRoot(sum, inv a64.Vec) {
	n.Commentf("1/sqrt(sum/size + eps).")
	n.divide(sum)
	n.Scope(func() {
		n.Op("FADDS", n.BroadcastParam("eps"), sum, sum)
		n.Op("FSQRTS", sum, sum)
		n.Op("FDIVS", sum, n.Broadcast(math.Float32bits(1)), sum)
	})
	n.Op("VDUP", sum.S(0), inv.S4())
}

// apply emits the loop over a row that writes the result.
func (n *normer) apply(inv a64.Vec) {
	nan, x, w, scratch := n.Broadcast(spec.NaN), n.Vec(), n.Vec(), n.Vec()
	src, dst, weight, left := n.GP(), n.GP(), n.GP(), n.GP()
	var bias a64.GP
	var b a64.Vec
	n.Op("MOVD", n.src, src)
	n.Op("MOVD", n.dst, dst)
	n.Op("MOVD", n.weight, weight)
	if n.centers != nil {
		bias, b = n.GP(), n.Vec()
		n.Op("MOVD", n.bias, bias)
	}
	n.Op("MOVD", n.d, left)
	n.EachColumn(left, func(move string, bytes int) {
		op := move + ".P"
		n.Op(op, a64.At(src, bytes), x)
		n.Op(op, a64.At(weight, bytes), w)
		if n.centers != nil {
			n.Op(op, a64.At(bias, bytes), b)
			n.subtract(x)
			n.FMUL(x, x, inv)
			n.Op("VFMLA", w.S4(), x.S4(), b.S4())
			n.Op("VORR", b.B16(), b.B16(), x.B16())
		} else {
			n.FMUL(x, x, inv)
			n.FMUL(x, x, w)
		}
		n.replaceNaN(x, nan, scratch)
		n.Op(op, x, a64.At(dst, bytes))
	})
}
