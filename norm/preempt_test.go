package norm

import (
	"testing"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// measured returns a tier whose functions note the most elements of a call in most.
func measured(t *tier.Tier, most *int) *tier.Tier {
	t = t.Copy()
	note := func(n int) { *most = max(*most, n) }
	t.Amend = func(table any, _ int) {
		switch to := table.(type) {
		case *ukernel.Elementwise:
			k := *to
			to.Add = func(dst, x, y []float32) { note(len(dst)); k.Add(dst, x, y) }
			to.AddRows = func(dst, src []float32, lds, n int) { note(len(dst) * n); k.AddRows(dst, src, lds, n) }
		case *ukernel.Norms:
			k := *to
			to.Means = func(means, x []float32, ld, n, d int, centers []float32, size float32) {
				note(n * d)
				k.Means(means, x, ld, n, d, centers, size)
			}
		case *ukernel.Rows:
			k := *to
			to.Squares = func(sums []float64, dst []float32, ldd int, src []float32, lds, n int, centers, rests []float32) {
				note(len(sums) * n)
				k.Squares(sums, dst, ldd, src, lds, n, centers, rests)
			}
			to.NormTerms = func(sums, dots []float64, y []float32, ldy int, dy []float32, ldd int, weight []float32, n int, invs []float32) {
				note(len(sums) * n)
				k.NormTerms(sums, dots, y, ldy, dy, ldd, weight, n, invs)
			}
			to.NormGradients = func(dx []float32, ldx int, dy []float32, ldd int, y []float32, ldy, n int, weight, dWeight, dBias, centers, slopes, invs []float32) {
				note(len(weight) * n)
				k.NormGradients(dx, ldx, dy, ldd, y, ldy, n, weight, dWeight, dBias, centers, slopes, invs)
			}
		}
	}
	return t
}

// TestCallsAreShort: with rows of hundreds of thousands, no call of a kernel takes more than some
// elements, and the cuts leave no trace between tiers.
func TestCallsAreShort(t *testing.T) {
	const d = 300_011
	x, dy, direct, weight := testutil.Floats(2*d), testutil.Floats(2 * d)[1:], testutil.Floats(2*d + 1)[1:], testutil.Floats(d)
	dy = append(dy, 1)
	tensor := func(x []float32) view.Tensor {
		shape := [4]int{1, 1, 2, d}
		return view.Floats(x, shape, view.Contiguous(shape))
	}
	compute := func(tier *tier.Tier) [][]float32 {
		dx, dWeight, dBias := make([]float32, 2*d), make([]float32, d), make([]float32, d)
		j := backwardJobs.Get()
		j.backwardCall = backwardCall{dx: tensor(dx), dy: tensor(dy), x: tensor(x), direct: tensor(direct), dWeight: dWeight, dBias: dBias, weight: weight, eps: 1e-5, layer: true}
		j.run(tier, &BackwardOptions{})
		return [][]float32{dx, dWeight, dBias}
	}
	want := compute(tier.Reference())
	for i := range tier.Tiers {
		if of := &tier.Tiers[i]; of.Lacks() == "" {
			most := 0
			for x, got := range compute(measured(of, &most)) {
				testutil.CheckBits(t, of.Name, got, want[x])
			}
			if most > partElements {
				t.Errorf("%s: a call takes %d elements", of.Name, most)
			}
		}
	}
}
