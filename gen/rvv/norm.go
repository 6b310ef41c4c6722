package rvv

import (
	"math"

	"github.com/attn-go/attn/gen/abi0"
	"github.com/attn-go/attn/gen/riscv"
	"github.com/attn-go/attn/gen/spec"
)

// The 64 chains of a sum over a row are two groups of 8 registers, of which the CPU uses the first
// 32 lanes. The last elements of a row are fewer: they are added to the first lanes, and the others
// stay.

const (
	normGroup = 8
	normLanes = spec.NormChains / 2
)

func (g *gen) RMSNorm()   { g.norm(spec.RMSNorm, false) }
func (g *gen) LayerNorm() { g.norm(spec.LayerNorm, true) }

// Means emits the means of rows less a number each.
func (g *gen) Means() {
	g.kernel(spec.Means)
	n := &normer{gen: g, src: g.Load(g.Base("x")), d: g.Param("d"), from: g.GP(), left: g.GP(), x: g.GP(), centers: []riscv.FP{g.FP()}}
	means, centers, mean := g.Load(g.Base("means")), g.Load(g.Base("centers")), g.FP()
	g.eachRow(g.GP(), func() {
		g.Op("MOVF", riscv.At(centers, 0), n.centers[0])
		n.sum("mean", false, mean)
		g.Op("MOVF", mean, riscv.At(means, 0))
		g.Op("ADD", 4, means, means)
		g.Op("ADD", 4, centers, centers)
		g.ForgetLanes()
	}, [2]riscv.GP{n.src, g.stride("ld")})
	g.Ret()
}

// A normer emits a norm.
type normer struct {
	*gen
	src, dst, weight, bias riscv.GP // bias of a LayerNorm
	d                      abi0.Param
	from, left, x          riscv.GP // at the elements of a row
	layer                  bool
	centers                []riscv.FP // of a LayerNorm, what is subtracted from x
	inv                    riscv.FP
}

func (g *gen) norm(f spec.Function, layer bool) {
	g.kernel(f)
	n := &normer{gen: g, layer: layer, src: g.Load(g.Base("src")), dst: g.Load(g.Base("dst")), weight: g.Load(g.Base("weight")), d: g.Len("weight"),
		from: g.GP(), left: g.GP(), x: g.GP(), inv: g.FP()}
	var mean, rest riscv.FP
	if layer {
		n.bias, mean, rest = g.Load(g.Base("bias")), g.FP(), g.FP()
	}
	lds, ldd := g.stride("lds"), g.stride("ldd")
	g.eachRow(g.GP(), func() {
		if n.centers = nil; layer {
			n.center("mean", mean)
			n.center("rest", rest)
		}
		n.sum("squares", true, n.inv)
		g.Scope(func() {
			y, one := g.loadFloat("eps"), g.Float(math.Float32bits(1))
			g.Op("FADDS", y, n.inv, n.inv)
			g.Op("FSQRTS", n.inv, n.inv)
			g.Op("FDIVS", n.inv, one, n.inv)
		})
		g.Scope(n.apply)
	}, [2]riscv.GP{n.src, lds}, [2]riscv.GP{n.dst, ldd})
	g.Ret()
}

// center emits the mean of x less the centers so far, and makes it the next center.
func (n *normer) center(name string, mean riscv.FP) {
	n.sum(name, false, mean)
	n.centers = append(n.centers, mean)
}

// subtract emits the subtraction of the centers from x.
func (n *normer) subtract(x riscv.Vec) {
	for _, c := range n.centers {
		n.Op("VFSUBVF", c, x, x)
	}
}

// sum emits the sum of x less the centers so far in chains, or the sum of the squares, divided by
// the size.
func (n *normer) sum(name string, squares bool, sum riscv.FP) {
	n.Scope(func() {
		chains, v := n.Vecs(2, normGroup), n.Vec(normGroup)
		n.Op("MOV", normLanes, n.x)
		n.SetLanes(n.x, normGroup, n.x)
		for _, c := range chains {
			n.Op("VMVVI", 0, c)
		}
		n.Op("MOV", n.src, n.from)
		n.Op("MOV", n.d, n.left)
		n.Label(name)
		for i, c := range chains {
			n.Op("MOV", normLanes, n.x)
			whole := name + []string{"Lower", "Upper"}[i]
			n.Jump("BGE", whole, n.left, n.x)
			n.Op("MOV", n.left, n.x)
			n.Label(whole)
			n.SetFirstLanes(n.x, normGroup, n.x)
			n.Op("VLE32V", riscv.At(n.from, 0), v)
			if n.subtract(v); squares {
				n.Op("VFMACCVV", v, v, c)
			} else {
				n.Op("VFADDVV", v, c, c)
			}
			n.Op("SUB", n.x, n.left, n.left)
			n.Op("SLLI", 2, n.x, n.x)
			n.add(n.x, n.from)
			if i == 0 {
				n.Jump("BEQZ", name+"Sum", n.left)
			}
		}
		n.Jump("BNEZ", name, n.left)
		n.Label(name + "Sum")
		n.fold(name, normLanes, chains, v, n.x, n.left, sum)
		size := n.loadFloat("size")
		n.Op("FDIVS", size, sum, sum)
	})
}

// fold emits the sum of two groups of chains, of which so many lanes count. x, got and v are
// scratch.
func (g *gen) fold(name string, lanes int, chains []riscv.Vec, v riscv.Vec, x, got riscv.GP, sum riscv.FP) {
	g.Commentf("The upper half of the chains is added to the lower half until one is left.")
	g.Op("MOV", lanes, x)
	g.SetLanes(x, v.Size(), got)
	g.Op("VFADDVV", chains[1], chains[0], chains[0])
	g.Op("SRLI", 1, x, x)
	g.Label(name + "Half")
	g.SetLanes(x, v.Size(), got)
	g.Op("VSLIDEDOWNVX", x, chains[0], v)
	g.Op("VFADDVV", v, chains[0], chains[0])
	g.Op("SRLI", 1, x, x)
	g.Jump("BNEZ", name+"Half", x)
	g.Op("VFMVFS", chains[0], sum)
}

// apply emits the loop over a row that writes the result. A NaN is the one that the contract wants.
func (n *normer) apply() {
	to, w, v, u := n.GP(), n.GP(), n.Vec(normGroup), n.Vec(normGroup)
	pointers := []riscv.GP{n.from, to, w}
	n.Op("MOV", n.src, n.from)
	n.Op("MOV", n.dst, to)
	n.Op("MOV", n.weight, w)
	var b riscv.GP
	var y riscv.Vec
	if n.layer {
		b, y = n.GP(), n.Vec(normGroup)
		n.Op("MOV", n.bias, b)
		pointers = append(pointers, b)
	}
	n.Op("MOV", n.Len("weight"), n.left)
	n.ForgetLanes()
	n.Label("elements")
	n.SetLanes(n.left, normGroup, n.x)
	n.Op("VLE32V", riscv.At(n.from, 0), v)
	n.Op("VLE32V", riscv.At(w, 0), u)
	if n.layer {
		n.Op("VLE32V", riscv.At(b, 0), y)
		n.subtract(v)
		n.Op("VFMULVF", n.inv, v, v)
		n.Op("VFMADDVV", y, u, v)
	} else {
		n.Op("VFMULVF", n.inv, v, v)
		n.Op("VFMULVV", u, v, v)
	}
	n.Op("VSE32V", v, riscv.At(to, 0))
	n.Op("SUB", n.x, n.left, n.left)
	n.Op("SLLI", 2, n.x, n.x)
	for _, p := range pointers {
		n.add(n.x, p)
	}
	n.ForgetLanes()
	n.Jump("BNEZ", "elements", n.left)
}
