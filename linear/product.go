package linear

import (
	"cmp"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// ProductOptions are the settings of one call of [Product] or [Backward].
type ProductOptions struct {
	kernel.Exec // changes no bit of the result

	// Accumulate adds the results to what the outputs hold: that is the first summand, before
	// the sums of the segments.
	Accumulate bool
}

// Product computes out = a·bᵀ, the product of two matrices that change from call to call:
//
//	a   [M, K]  float32, with any strides
//	b   [N, K]  float32, with any strides
//	out [M, N]  overwritten, or added to with opts.Accumulate; its rows are contiguous, and no
//	            element of a or b lies between its first and its last element
//
// a·b is the product with b.T(). The bits are as if [New] packed b without a bias and Apply used
// it: chains of fused multiply-adds for segments of 128 of the K columns. But subnormal numbers of
// b stay what they are; on some CPUs a product with many of them takes 100 times as long. Each call
// packs b in memory that is recycled, which takes some time: pack weights that several calls use
// once, by New.
//
// In the steady state a call allocates nothing. An error is a [*kernel.Error], and leaves
// out untouched.
func Product(out, a, b Matrix, opts ProductOptions) error {
	t, err := elementwise.Begin("linear.Product", &opts.Exec, checkProduct(&out, &a, &b, &opts))
	if err != nil {
		return err
	}
	multiply(t, &out, &a, &b, &opts)
	return nil
}

// checkProduct reports the first argument of Product that does not fit.
func checkProduct(out, a, b *Matrix, opts *ProductOptions) *check.Failure {
	names := [...]string{"a", "b", "out"}
	for i, m := range [...]*Matrix{a, b, out} {
		if f := m.checkFloats(names[i]); f != nil {
			return f
		}
	}
	switch {
	case b.cols != a.cols:
		return b.failure("b", "%d columns, as a has", a.cols)
	case out.rows != a.rows || out.cols != b.rows:
		return out.failure("out", "[%d %d], the rows of a and those of b", a.rows, b.rows)
	}
	if f := cmp.Or(checkWeights("b", b, b.dtype.Size()), out.checkOutput("out")); f != nil {
		return f
	}
	for i, m := range [...]*Matrix{a, b} {
		if out.memory().Overlaps(m.memory()) {
			return view.Overlap("out", names[i])
		}
	}
	return check.Threads("Options.Threads", opts.Threads)
}

// multiply computes a product whose arguments have been checked.
func multiply(t *tier.Tier, out, a, b *Matrix, opts *ProductOptions) {
	if out.rows == 0 || out.cols == 0 {
		return
	}
	if view.Races {
		a.announce(view.Read)
		b.announce(view.Read)
		out.announce(view.Write)
	}
	j := jobs.Get()
	j.b, j.layer = *b, Linear{n: b.rows, k: b.cols}
	j.layer.bias = rows.NegativeZeros(j.layer.lanes())
	j.linear, j.out, j.x, j.accumulate = &j.layer, *out, *a, opts.Accumulate
	j.run(t, &Options{Exec: opts.Exec})
	j.linear, j.out, j.x, j.b, j.accumulate = nil, Matrix{}, Matrix{}, Matrix{}, false // the caller's memory
	jobs.Put(j)
}

// A product is what a call of Product has in the place of a packed layer. Each task packs the part
// of b that it needs next: that is a copy of 48 columns of a segment, in L1, for up to 512 rows.
type product struct {
	b     Matrix
	layer Linear // its sizes, and a bias of -0

	segment, group [sumColumns]float32 // sums of rows of a gradient
}

// isProduct tells whether the weights belong to a call of Product.
func (j *job) isProduct() bool { return j.linear == &j.layer }

// stepRows are some steps of n rows of x.
type stepRows struct {
	f32       []float32
	rs, cs, n int
}

const (
	// Rows of a product that lie like columns are transposed first if more than transposedPanels
	// panels are multiplied with them. Their steps lie far apart, often at multiples of 4 KiB,
	// which fit few places in L1.
	transposedPanels = 2

	// transposedGap floats are between transposed rows, so that they lie in different sets of a
	// cache.
	transposedGap = 16
)

// transposes tells whether tasks transpose their rows.
func (j *job) transposes() bool {
	return j.isProduct() && j.x.rowStride == 1 && j.x.colStride > 1 && ints.CeilDiv(j.linear.panels(), j.panelRanges) > transposedPanels
}

// rowsOf returns some steps of rows of x, as they lie or transposed.
func (s *scratch) rowsOf(j *job, rows, steps interval) stepRows {
	rs, cs := j.x.rowStride, j.x.colStride
	if j.linear.rounds {
		return s.roundedRows(j, rows, steps)
	}
	x := j.x.f32[min(rows.lo*rs+steps.lo*cs, len(j.x.f32)):]
	if j.linear.hasTail() && steps.hi > j.linear.k {
		return s.paddedRows(j, x, rows.len(), steps)
	}
	if steps.len() == 0 || !j.transposes() {
		return stepRows{x, rs, cs, rows.len()}
	}
	ld := steps.len() + transposedGap
	transpose(s.rows, ld, x, cs, steps.len(), rows.len(), j.tier.Weights().Pack, tier.Reference().Weights().Pack)
	return stepRows{s.rows, ld, 1, rows.len()}
}

const (
	// Rows of B that lie at most farthest numbers apart are read as they lie, rather than packed,
	// if few rows of A are multiplied with them: n·distance ≤ inPlace. Packing takes 10 to 17 ns a
	// row, but rows with gaps fit fewer places in L1, and are read from L2 for each tile. Measured
	// with avx512 on Emerald Rapids: 512 rows that lie 192 apart, times 8 and 65 rows of A, take
	// 0.35 and 0.80 of the time, 768 apart and times 8 and 64 rows 0.43 and 0.88, but 96 apart and
	// times 512 rows 1.03.
	farthest, inPlace = 768, 48 << 10
)

// productRows returns some rows of panel p of a product for n rows of A, and their distance: as
// they lie, or packed.
func (s *scratch) productRows(j *job, p int, steps interval, n int) ([]float32, int) {
	first, lanes, b := p*ukernel.PanelLanes, j.linear.panelWidth(p), &j.b
	packed := b.colStride == lanes
	near := b.colStride <= farthest && n*b.colStride <= inPlace
	if b.rowStride != 1 || !packed && !near || first+lanes > b.rows || steps.len() == 0 {
		return s.packPart(j, p, steps), lanes
	}
	at := first + steps.lo*b.colStride
	return b.f32[at : at+(steps.len()-1)*b.colStride+lanes], b.colStride
}

// packPart packs some rows of panel p of a product, with zeros after its last column.
func (s *scratch) packPart(j *job, p int, steps interval) []float32 {
	first, lanes, b := p*ukernel.PanelLanes, j.linear.panelWidth(p), &j.b
	n := min(lanes, b.rows-first)
	part := s.wide[:lanes*steps.len()]
	if steps.len() == 0 {
		return part
	}
	data := b.f32[first*b.rowStride+steps.lo*b.colStride:]
	packPanel(part, lanes, data, b.rowStride, b.colStride, n, steps.len(), j.tier.Weights().Pack, tier.Reference().Weights().Pack)
	for x := 0; n < lanes && x < steps.len(); x++ {
		clear(part[x*lanes+n : (x+1)*lanes])
	}
	return part
}
