package ukernel

import (
	"fmt"

	"github.com/attn-go/attn/internal/testutil"
)

// A backwardCase is a call of one of the kernels of the backward pass.
type backwardCase struct {
	n, gap int
	values testutil.Kind
	make   func(c backwardCase, a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet)
}

func (c backwardCase) String() string {
	return fmt.Sprintf("n=%d ld=lanes+%d of %v", c.n, c.gap, c.values)
}

func (c backwardCase) call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
	return c.make(c, a, r, w)
}

func backwardCases(call func(c backwardCase, a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet)) (list []kernelCase) {
	for v := range testutil.Kinds {
		for _, gap := range []int{0, 5} {
			for _, n := range upTo(9, 64, 128) {
				list = append(list, backwardCase{n, gap, v, call})
			}
		}
	}
	return list
}

func backwardDotsCases(int) []kernelCase {
	return backwardCases(func(c backwardCase, a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
		x, y, ld := c.matrix(a, r, "x", w), c.matrix(a, r, "y", w), w+c.gap
		sum := c.lanes(a, r, "sum", w)
		return func(p *kernelSet) { p.Backward.Dots(sum, x, y, ld, c.n) }
	})
}

func backwardSoftmaxCases(int) []kernelCase {
	return backwardCases(func(c backwardCase, a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
		s, dp, ld := c.matrix(a, r, "s", w), c.matrix(a, r, "dp", w), w+c.gap
		for j := range c.n {
			if r.IntN(3) == 0 {
				s[j*ld+r.IntN(w)] = -testutil.Inf // hidden
			}
		}
		lse, delta := c.lanes(a, r, "lse", w), c.lanes(a, r, "delta", w)
		for lane := 0; c.gap > 0 && lane < w; lane += 2 { // scores around the edges of exp2, all below lse, and others
			lse[lane] = 0
			kind := scoreKind(r.IntN(int(scoreKinds)))
			for j := range c.n {
				s[j*ld+lane] = kind.next(r)
			}
		}
		return func(p *kernelSet) { p.Backward.Softmax(s, dp, ld, c.n, lse, delta) }
	})
}

func backwardSoftcapCases(int) []kernelCase {
	return backwardCases(func(c backwardCase, a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
		ds, s, ld := c.matrix(a, r, "ds", w), c.matrix(a, r, "s", w), w+c.gap
		for j := range c.n {
			if r.IntN(3) == 0 {
				ds[j*ld+r.IntN(w)] = 0 // hidden
			}
		}
		return func(p *kernelSet) { p.Backward.Softcap(ds, s, ld, c.n, w, 0.375) }
	})
}

func (c backwardCase) matrix(a *testutil.Arena, r *testutil.Rand, name string, w int) []float32 {
	m := a.Matrix(name, c.n, w, w+c.gap, testutil.Canary)
	c.values.Fill(r, m, c.n, w, w+c.gap)
	return m
}

func (c backwardCase) lanes(a *testutil.Arena, r *testutil.Rand, name string, w int) []float32 {
	v := a.Vector(name, w, 0)
	c.values.Fill(r, v, 1, w, w)
	return v
}

var backwardMutants = []mutant{
	{"Backward.Softmax", "hidden scores keep their gradients", func(p *kernelSet) {
		softmax := p.Backward.Softmax
		p.Backward.Softmax = func(s, dp []float32, ld, n int, lse, delta []float32) {
			hidden := n > 0 && s[0] == -testutil.Inf
			var d float32
			if hidden {
				d = dp[0]
			}
			softmax(s, dp, ld, n, lse, delta)
			if hidden {
				dp[0] = d
			}
		}
	}},
	{"Backward.Softmax", "a score above lse gives a weight above 1", func(p *kernelSet) {
		softmax := p.Backward.Softmax
		p.Backward.Softmax = func(s, dp []float32, ld, n int, lse, delta []float32) {
			above := n > 0 && s[0] > lse[0]
			softmax(s, dp, ld, n, lse, delta)
			if above {
				s[0] = 2
			}
		}
	}},
	{"Backward.Dots", "the sum is replaced", func(p *kernelSet) {
		dots := p.Backward.Dots
		p.Backward.Dots = func(sum, x, y []float32, ld, n int) {
			clear(sum)
			dots(sum, x, y, ld, n)
		}
	}},
	{"Backward.Softcap", "the derivative is of half the score", func(p *kernelSet) {
		softcap := p.Backward.Softcap
		p.Backward.Softcap = func(ds, s []float32, ld, n, lanes int, inv float32) {
			softcap(ds, s, ld, n, lanes, inv/2)
		}
	}},
}
