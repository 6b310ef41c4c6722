package kernel

import (
	"fmt"

	"github.com/attn-go/attn/fallback"
)

// An additiveCase is a call of additive.
type additiveCase struct {
	n, m, hidden int
	gap          int // between rows of q, k and s
	values       values
}

func (c additiveCase) String() string {
	return fmt.Sprintf("n=%d m=%d hidden=%d gap=%d of %v", c.n, c.m, c.hidden, c.gap, c.values)
}

func additiveCases(int) (list []microCase) {
	for v := range valueKinds {
		for _, hidden := range []int{0, 16, 32, 48, 160} {
			for _, n := range upTo(3, 5) {
				for _, m := range upTo(3, 7) {
					list = append(list, additiveCase{n, m, hidden, len(list) % 3, v})
				}
			}
		}
	}
	return list
}

func (c additiveCase) call(a *arena, r *rng, _ int) func(p *panelKernels) {
	ld := c.hidden
	if ld > 0 {
		ld += c.gap
	}
	q, k, s := a.matrix("q", c.n, c.hidden, ld, nan32), a.matrix("k", c.m, c.hidden, ld, nan32), a.matrix("s", c.m, c.n, c.n+c.gap, canary)
	c.values.fill(r, q, c.n, c.hidden, ld)
	c.values.fill(r, k, c.m, c.hidden, ld)
	weights := a.vector("weights", c.hidden, 0)
	c.values.fill(r, weights, 1, c.hidden, c.hidden)
	return func(p *panelKernels) { p.additive(s, c.n+c.gap, q, ld, k, ld, c.n, c.m, weights, k) }
}

// spoilAdditive replaces the last score of a call by that of another sum of the products of
// weights and tanh.
func spoilAdditive(f func(weights, tanhs []float32) float32) func(p *panelKernels) {
	return func(p *panelKernels) {
		additive := p.additive
		p.additive = func(s []float32, ld int, q []float32, ldq int, k []float32, ldk, n, m int, weights, next []float32) {
			additive(s, ld, q, ldq, k, ldk, n, m, weights, next)
			if n == 0 || m == 0 || len(weights) == 0 {
				return
			}
			tanhs := make([]float32, len(weights))
			for x := range tanhs {
				tanhs[x] = fallback.Tanh(q[(n-1)*ldq+x] + k[(m-1)*ldk+x])
			}
			s[(m-1)*ld+n-1] = f(weights, tanhs)
		}
	}
}

var additiveMutants = []mutant{
	{"additive", "one chain", spoilAdditive(func(weights, tanhs []float32) float32 {
		acc := float32(0)
		for x, w := range weights {
			acc = fallback.FMA(w, tanhs[x], acc)
		}
		return acc
	})},
	{"additive", "products are rounded", spoilAdditive(func(weights, tanhs []float32) float32 {
		acc := make([]float32, 16)
		for x, w := range weights {
			acc[x%16] += float32(w * tanhs[x])
		}
		return halves(acc)
	})},
	{"additive", "neighbours are added first", spoilAdditive(func(weights, tanhs []float32) float32 {
		acc, turned := make([]float32, 16), make([]float32, 16)
		for x, w := range weights {
			acc[x%16] = fallback.FMA(w, tanhs[x], acc[x%16])
		}
		for r, sum := range acc {
			turned[r>>3|r>>1&2|r<<1&4|r<<3&8] = sum
		}
		return halves(turned)
	})},
	{"additive", "a gap is written to", func(p *panelKernels) {
		additive := p.additive
		p.additive = func(s []float32, ld int, q []float32, ldq int, k []float32, ldk, n, m int, weights, next []float32) {
			additive(s, ld, q, ldq, k, ldk, n, m, weights, next)
			if m > 1 && ld > n {
				s[n] = 0
			}
		}
	}},
}

// halves adds the upper half of 16 sums to the lower one until one is left.
func halves(acc []float32) float32 {
	for half := 8; half > 0; half /= 2 {
		for r := range half {
			acc[r] += acc[r+half]
		}
	}
	return acc[0]
}
