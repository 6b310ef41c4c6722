package kernel

import (
	"fmt"

	"github.com/attn-go/attn/fallback"
)

// An additiveCase is a call of additive. Its A is that of a tileCase.
type additiveCase struct{ tileCase }

func (c additiveCase) String() string {
	return fmt.Sprintf("m=%d k=%d A in %v ldb=lanes+%d ldc=lanes+%d of %v", c.m, c.k, c.a, c.gapB, c.gapC, c.values)
}

func additiveCases(int) (list []microCase) {
	for a := range operands {
		for gaps := range 4 {
			for _, k := range []int{0, 1, 2, 3, 16, 17} {
				for _, m := range upTo(5, 16) {
					c := tileCase{tileProduct, m, k, a, gaps & 1 * 5, gaps >> 1 * 3, kindOf(len(list))}
					list = append(list, additiveCase{c})
				}
			}
		}
	}
	return list
}

func (c additiveCase) call(mem *arena, r *rng, w int) func(p *panelKernels) {
	rs, cs := c.a.strides(c.m, c.k)
	ldb, ldc := w+c.gapB, w+c.gapC
	a := c.operand(mem, r, rs, cs)
	b := mem.matrix("b", c.k, w, ldb, nan32)
	c.values.fill(r, b, c.k, w, ldb)
	weights := mem.vector("weights", c.k, 0)
	c.values.fill(r, weights, 1, c.k, c.k)
	out := mem.matrix("c", c.m, w, ldc, canary)
	c.output(r, out, w, ldc)
	return func(p *panelKernels) { p.additive(out, ldc, a, rs, cs, b, ldb, w, c.m, weights) }
}

// spoilAdditive makes f a part of the kernel, for the first lane of the last row.
func spoilAdditive(f func(sum float32, weight func(x int) float32, sums func(x int) float32, k int) float32) func(p *panelKernels) {
	return func(p *panelKernels) {
		additive := p.additive
		p.additive = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, lanes, m int, weights []float32) {
			additive(c, ldc, a, rs, cs, b, ldb, lanes, m, weights)
			if m == 0 {
				return
			}
			last := &c[(m-1)*ldc]
			*last = f(*last, func(x int) float32 { return weights[x] }, func(x int) float32 { return a[(m-1)*rs+x*cs] + b[x*ldb] }, len(weights))
		}
	}
}

var additiveMutants = []mutant{
	{"additive", "the product is rounded", spoilAdditive(func(_ float32, weight, sums func(x int) float32, k int) float32 {
		acc := float32(0)
		for x := range k {
			acc += float32(weight(x) * fallback.Tanh(sums(x)))
		}
		return acc
	})},
	{"additive", "the chain is descending", spoilAdditive(func(_ float32, weight, sums func(x int) float32, k int) float32 {
		acc := float32(0)
		for x := k - 1; x >= 0; x-- {
			acc = fallback.FMA(weight(x), fallback.Tanh(sums(x)), acc)
		}
		return acc
	})},
	{"additive", "a gap is written to", func(p *panelKernels) {
		additive := p.additive
		p.additive = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, lanes, m int, weights []float32) {
			additive(c, ldc, a, rs, cs, b, ldb, lanes, m, weights)
			if m > 1 && ldc > lanes {
				c[lanes] = 0
			}
		}
	}},
}
