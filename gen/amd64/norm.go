package amd64

import (
	"math"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// RMSNorm goes over a row two times and LayerNorm four times: most rows are in L1 after the
// first. A sum has 64 chains, 4 or 8 vectors, so that the loads bound it and not the
// latency of an addition. What is left of a row, less than 64 elements or less than a
// vector, is loaded and stored under a mask.

func (g *gen) RMSNorm()   { g.norm(spec.RMSNorm, false) }
func (g *gen) LayerNorm() { g.norm(spec.LayerNorm, true) }

// Means emits the means of rows less a number each.
func (g *gen) Means() {
	g.Kernel(spec.Means)
	n := &normer{g: g, src: g.Slice("x"), d: g.Num("d"), centers: []reg.VecVirtual{g.Vec()}}
	means, centers := g.Slice("means"), g.Slice("centers")
	loop.AnyTimes(g, g.Num("n"), "row", "done", false, func() {
		g.VBROADCASTSS(emit.At(centers, 0), n.centers[0])
		g.VMOVSS(n.mean("mean"), emit.At(means, 0))
		g.ADDQ(g.Stride("ld"), n.src)
		g.Advance(4, means, centers)
	})
	g.Return()
}

// A normer emits a norm.
type normer struct {
	g                    *gen
	src, weight, bias, d reg.GPVirtual
	dst                  reg.GPVirtual
	centers              []reg.VecVirtual // of a LayerNorm, what is subtracted from x
	minusZero            reg.VecVirtual   // products are FMAs with it: VMULPS is slow where they are subnormal
}

func (g *gen) norm(f spec.Function, layer bool) {
	g.Kernel(f)
	n := &normer{g: g, src: g.Slice("src"), dst: g.Slice("dst"), weight: g.Slice("weight"), d: g.SliceLen("weight")}
	if layer {
		n.bias = g.Slice("bias")
	}
	loop.AnyTimes(g, g.Num("n"), "row", "done", false, func() {
		if n.centers = nil; layer {
			n.center("mean")
			n.center("rest") // of the mean
		}
		inv := n.inverseRoot(n.sum("squares", func(x, acc reg.Register) { g.VFMADD231PS(x, x, acc) }))
		n.apply(inv)
		g.ADDQ(g.Stride("lds"), n.src)
		g.ADDQ(g.Stride("ldd"), n.dst)
	})
	g.Return()
}

// center makes the mean of x less the centers so far the next center.
func (n *normer) center(name string) {
	center := n.g.Vec()
	n.g.VBROADCASTSS(n.mean(name), center)
	n.centers = append(n.centers, center)
}

// mean emits the mean of x less the centers so far.
func (n *normer) mean(name string) reg.Register {
	sum := n.sum(name, func(x, acc reg.Register) { n.g.VADDPS(x, acc, acc) })
	n.g.VDIVSS(n.g.Argument("size"), sum, sum)
	return sum
}

// subtract emits the subtraction of the centers from x.
func (n *normer) subtract(x reg.VecVirtual) {
	for _, c := range n.centers {
		n.g.VSUBPS(c, x, x)
	}
}

// sum emits a sum over a row in chains. add adds x, or its square, to a vector of chains; x is
// less the centers so far.
func (n *normer) sum(name string, add func(x, acc reg.Register)) reg.Register {
	acc := n.g.Vecs(spec.NormChains / n.g.Lanes())
	for _, a := range acc {
		n.g.Zero(n.g.Context, a)
	}
	p, left := n.g.GP64(), n.g.GP64()
	n.g.MOVQ(n.src, p)
	n.g.MOVQ(n.d, left)
	n.g.SUBQ(operand.Imm(spec.NormChains), left)
	n.g.JL(operand.LabelRef(name + "rest"))
	n.g.AlignLoop()
	n.g.Label(name + "chains")
	for v, a := range acc {
		x := n.g.Vec()
		n.g.VMOVUPS(emit.At(p, v*n.g.VecBytes()), x)
		n.subtract(x)
		add(x, a)
	}
	n.g.ADDQ(operand.U32(4*spec.NormChains), p)
	n.g.SUBQ(operand.Imm(spec.NormChains), left)
	n.g.JGE(operand.LabelRef(name + "chains"))
	n.g.Commentf("Less than %d elements are left. The others count as 0.", spec.NormChains)
	n.g.Label(name + "rest")
	n.g.ADDQ(operand.Imm(spec.NormChains), left)
	n.g.JZ(operand.LabelRef(name + "all"))
	masks := n.g.Masks(left)
	for v, a := range acc {
		x, mask := n.g.Vec(), n.g.Vec()
		n.g.VMOVUPS(emit.At(masks, v*n.g.VecBytes()), mask)
		n.g.LoadWhere(n.g.Context, emit.At(p, v*n.g.VecBytes()), mask, x)
		if n.subtract(x); n.centers != nil {
			n.g.VANDPS(mask, x, x)
		}
		add(x, a)
	}
	n.g.Label(name + "all")
	return n.g.sumOfHalves(acc)
}

// inverseRoot emits 1/sqrt(sum/size + eps) in all lanes.
func (n *normer) inverseRoot(sum reg.Register) reg.VecVirtual {
	n.g.Comment("1/sqrt(sum/size + eps).")
	one, inv := n.g.XMM(), n.g.Vec()
	n.g.VDIVSS(n.g.Argument("size"), sum, sum)
	n.g.VADDSS(n.g.Argument("eps"), sum, sum)
	n.g.VSQRTSS(sum, sum, sum)
	n.g.VMOVSS(n.g.Constant(math.Float32bits(1)), one)
	n.g.VDIVSS(sum, one, one)
	n.g.VBROADCASTSS(one, inv)
	return inv
}

// apply emits the loop over a row that writes the result.
func (n *normer) apply(inv reg.VecVirtual) {
	nan, left := n.g.Vec(), n.g.GP64()
	n.g.VMOVUPS(n.g.Constant(spec.NaN), nan)
	n.minusZero = n.g.Vec()
	n.g.VMOVUPS(n.g.Constant(spec.SignBit), n.minusZero)
	n.g.MOVQ(n.d, left)
	n.g.EachVector(n.dst, left, func(i reg.Register, load func(m operand.Mem, v reg.VecVirtual)) reg.VecVirtual {
		return n.result(i, inv, nan, load)
	})
}

// result emits the result for a vector of elements from i on.
func (n *normer) result(i, inv, nan reg.Register, load func(m operand.Mem, v reg.VecVirtual)) reg.VecVirtual {
	x, w := n.g.Vec(), n.g.Vec()
	load(emit.Indexed(n.src, i, 4), x)
	load(emit.Indexed(n.weight, i, 4), w)
	if n.centers != nil {
		b := n.g.Vec()
		load(emit.Indexed(n.bias, i, 4), b)
		n.subtract(x)
		n.g.VFMADD213PS(n.minusZero, inv, x)
		n.g.VFMADD213PS(b, w, x)
	} else {
		n.g.VFMADD213PS(n.minusZero, inv, x)
		n.g.VFMADD213PS(n.minusZero, w, x)
	}
	n.g.ReplaceNaN(n.g.Context, x, nan)
	return x
}
