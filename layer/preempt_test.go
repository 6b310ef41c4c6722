package layer

import (
	"testing"

	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/kernel"
)

// measured returns a tier whose functions over rows note the most elements of a call in most.
func measured(t *tier.Tier, most *int) *tier.Tier {
	t = t.Copy()
	t.Amend = func(table any, _ int) {
		to, ok := table.(*ukernel.Rows)
		if !ok {
			return
		}
		k, note := *to, func(n int) { *most = max(*most, n) }
		to.Largest = func(top, x []float32, ld, d int) { note(len(top) * d); k.Largest(top, x, ld, d) }
		to.Sums = func(sums []float64, x []float32, ld, d int) { note(len(sums) * d); k.Sums(sums, x, ld, d) }
		to.Dots = func(sums []float64, x, y []float32, ld, d int) { note(len(sums) * d); k.Dots(sums, x, y, ld, d) }
		to.DotsWith = func(sums []float64, x []float32, ld, d int, y []float32) {
			note(len(sums) * d)
			k.DotsWith(sums, x, ld, d, y)
		}
		to.Powers = func(dst, src []float32, ld, n, d int, top []float32) { note(n * d); k.Powers(dst, src, ld, n, d, top) }
		to.Quotients = func(x []float32, ld, n, d int, sums, inverses []float64) {
			note(n * d)
			k.Quotients(x, ld, n, d, sums, inverses)
		}
		to.SoftmaxGradients = func(dx, dy, y []float32, ld, n, d int, sums []float64) {
			note(n * d)
			k.SoftmaxGradients(dx, dy, y, ld, n, d, sums)
		}
	}
	return t
}

// TestCallsAreShort: with rows of hundreds of thousands, no call of a kernel takes more than some
// elements, and the cuts leave no trace between tiers.
func TestCallsAreShort(t *testing.T) {
	const n = 300_001
	scores, dy := normals(1, n), normals(2, n)
	scores[n-1] = 9 // the largest one is in the last part
	compute := func(tier *tier.Tier) [][]float32 {
		y, dx := make([]float32, n), make([]float32, n)
		softmaxRows(&elementwise.Call{Tier: tier, Size: n, All: 1, Rows: 1, Slices: [6][]float32{y, scores}})
		softmaxBackwardRows(&elementwise.Call{Tier: tier, Size: n, All: 1, Rows: 1, Slices: [6][]float32{dx, dy, y}})
		row := func(x []float32, l int) kernel.Tensor { return kernel.BHLD(x, 1, 1, l, len(x)/l) }
		const keys = 3000
		weights := make([]float32, keys)
		j := rowJob{to: row(weights, 1), w: row(dy[:100], 1), x: row(scores[:100*keys], keys), tier: tier, group: 1}
		weightGradients(&j, make([]float64, keys), 0, 0, 0)
		return [][]float32{y, dx, weights}
	}
	want := compute(tier.Reference())
	for i := range tier.Tiers {
		if of := &tier.Tiers[i]; of.Lacks() == "" {
			most := 0
			for x, got := range compute(measured(of, &most)) {
				testutil.CheckBits(t, of.Name, got, want[x])
			}
			if most > 1<<18 {
				t.Errorf("%s: a call takes %d elements", of.Name, most)
			}
		}
	}
}
