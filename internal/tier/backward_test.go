package tier

import (
	"fmt"

	"github.com/attn-go/attn/internal/testutil"
)

// A backwardCase is a call of a kernel of the backward pass.
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

func backwardWeightsCases(int) []kernelCase {
	return backwardCases(func(c backwardCase, a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
		s, dp, ld := c.matrix(a, r, "s", w), c.matrix(a, r, "dp", w), w+c.gap
		for j := range c.n {
			if r.IntN(3) == 0 {
				s[j*ld+r.IntN(w)] = -testutil.Inf // hidden
			}
		}
		lse := c.lanes(a, r, "lse", w)
		for lane := 0; c.gap > 0 && lane < w; lane += 2 { // scores around the edges of exp2, and others
			lse[lane] = 0
			kind := scoreKind(r.IntN(int(scoreKinds)))
			for j := range c.n {
				s[j*ld+lane] = kind.next(r)
			}
		}
		if c.gap > 0 && c.n%3 == 2 {
			lse[0], s[0] = testutil.NaN, -testutil.Inf // a NaN does not reach a hidden pair
		}
		sum, dot := a.Vector("sum", w, testutil.NaN), a.Vector("dot", w, testutil.NaN)
		return func(p *kernelSet) { p.Gradients.BackwardWeights(s, dp, ld, c.n, lse, sum, dot) }
	})
}

func backwardScoresCases(int) []kernelCase {
	return backwardCases(func(c backwardCase, a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet) {
		weights, dp, ld := c.matrix(a, r, "p", w), c.matrix(a, r, "dp", w), w+c.gap
		for j := range c.n {
			if r.IntN(3) == 0 {
				weights[j*ld+r.IntN(w)] = 0 // hidden
			}
		}
		inv, mean := c.lanes(a, r, "inv", w), c.lanes(a, r, "mean", w)
		return func(p *kernelSet) { p.Gradients.BackwardScores(weights, dp, ld, c.n, inv, mean) }
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
		return func(p *kernelSet) { p.Gradients.BackwardSoftcap(ds, s, ld, c.n, w, 0.375) }
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
	{"Gradients.BackwardWeights", "a hidden score has a weight", func(p *kernelSet) {
		weights := p.Gradients.BackwardWeights
		p.Gradients.BackwardWeights = func(s, dp []float32, ld, n int, lse, sum, dot []float32) {
			hidden := n > 0 && s[0] == -testutil.Inf && lse[0] != lse[0]
			weights(s, dp, ld, n, lse, sum, dot)
			if hidden {
				s[0] = lse[0]
			}
		}
	}},
	{"Gradients.BackwardWeights", "a score above lse has a weight of 2", func(p *kernelSet) {
		weights := p.Gradients.BackwardWeights
		p.Gradients.BackwardWeights = func(s, dp []float32, ld, n int, lse, sum, dot []float32) {
			above := n > 0 && s[0] > lse[0]
			weights(s, dp, ld, n, lse, sum, dot)
			if above {
				s[0] = 2
			}
		}
	}},
	{"Gradients.BackwardWeights", "the sums continue", func(p *kernelSet) {
		weights := p.Gradients.BackwardWeights
		p.Gradients.BackwardWeights = func(s, dp []float32, ld, n int, lse, sum, dot []float32) {
			before := sum[0]
			weights(s, dp, ld, n, lse, sum, dot)
			sum[0] += before
		}
	}},
	{"Gradients.BackwardScores", "hidden pairs keep their gradients", func(p *kernelSet) {
		scores := p.Gradients.BackwardScores
		p.Gradients.BackwardScores = func(w, dp []float32, ld, n int, inv, mean []float32) {
			var d float32
			hidden := n > 0 && w[0] == 0
			if hidden {
				d = dp[0]
			}
			scores(w, dp, ld, n, inv, mean)
			if hidden {
				dp[0] = d
			}
		}
	}},
	{"Gradients.BackwardSoftcap", "the derivative is of half the score", func(p *kernelSet) {
		softcap := p.Gradients.BackwardSoftcap
		p.Gradients.BackwardSoftcap = func(ds, s []float32, ld, n, lanes int, inv float32) {
			softcap(ds, s, ld, n, lanes, inv/2)
		}
	}},
}
