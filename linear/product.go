package linear

import (
	"math"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
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
// a·b is the product with b.T(). The bits are those of Apply of the layer that [New] makes of b
// without a bias: chains of fused multiply-adds for segments of 128 of the K columns. b is packed
// in memory that is recycled, which takes some time: weights that are used in several calls
// are better packed once, by New.
//
// In the steady state a call allocates nothing. An error is a [*kernel.ArgumentError] or a
// [*kernel.TierError], and leaves out untouched.
func Product(out, a, b Matrix, opts ProductOptions) error {
	t, err := selectTier(opts.Tier)
	if err != nil {
		return err
	}
	if f := checkProduct(&out, &a, &b, &opts); f != nil {
		return (*kernel.ArgumentError)(f)
	}
	multiply(t, &out, &a, &b, &opts)
	return nil
}

// selectTier returns the tier of a call, or the error of a call that cannot run.
func selectTier(name string) (*ukernel.Tier, error) {
	if f := parallel.CheckSpin(); f != nil {
		return nil, (*kernel.ArgumentError)(f)
	}
	t, unavailable := ukernel.Select(name, "Options.Tier")
	if unavailable != nil {
		return nil, (*kernel.TierError)(unavailable)
	}
	return t, nil
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
	if f := checkWeights("b", b); f != nil {
		return f
	}
	if f := out.checkOutput("out"); f != nil {
		return f
	}
	for i, m := range [...]*Matrix{a, b} {
		if out.memory().Overlaps(m.memory()) {
			return overlap("out", names[i])
		}
	}
	return check.Threads(opts.Threads)
}

func overlap(arg, with string) *check.Failure {
	return &check.Failure{Arg: arg, Got: "memory that overlaps " + with, Want: "a range of memory of its own"}
}

// multiply computes a product whose arguments have been checked.
func multiply(t *ukernel.Tier, out, a, b *Matrix, opts *ProductOptions) {
	if out.rows == 0 || out.cols == 0 {
		return
	}
	if view.Races {
		a.announce(view.Read)
		b.announce(view.Read)
		out.announce(view.Write)
	}
	j := jobs.Get()
	j.setProduct(b)
	j.out, j.x, j.accumulate = *out, *a, opts.Accumulate
	j.plan(t, opts.Threads)
	j.activation, j.shape = nil, j.findShape()
	j.product.packing = true
	j.goroutines.Run(j.linear.panels(), min(j.threads, j.linear.panels()), j.reserve(), opts.ParallelFor)
	j.product.packing = false
	j.goroutines.Run(j.rowBlocks*j.panelGroups, j.threads, j.reserve(), opts.ParallelFor)
	j.linear, j.out, j.x, j.accumulate = nil, Matrix{}, Matrix{}, false // the caller's memory
	j.product.b = Matrix{}
	jobs.Put(j)
}

// A product is the weights of a call of Product, packed in memory that is recycled.
type product struct {
	layer   Linear
	b       Matrix
	packing bool // the tasks are panels to be packed

	panels, bias           []float32
	panelsUsage, biasUsage parallel.Usage

	sums [sumColumns]float32 // of rows of a gradient
}

// setProduct makes the job one with b as its weights, which are not packed yet.
func (j *job) setProduct(b *Matrix) {
	p := &j.product
	p.b = *b
	p.layer = Linear{n: b.rows, k: b.cols}
	l := &p.layer
	n := l.lanes() * l.k
	parallel.Fit(&j.memory, &p.panelsUsage, &p.panels, n, rows.Aligned)
	parallel.Fit(&j.memory, &p.biasUsage, &p.bias, l.lanes(), parallel.Make[float32])
	l.f32, l.bias = p.panels[:n], p.bias[:l.lanes()]
	for i := range l.bias {
		l.bias[i] = float32(math.Copysign(0, -1))
	}
	j.linear = l
}

// packPanel packs panel i, with zeros after the last column.
func (p *product) packPanel(i int) {
	l := &p.layer
	if lanes, n := l.panelWidth(i), l.n-i*ukernel.PanelLanes; n < lanes {
		panel := l.f32[l.panelStart(i):][:lanes*l.k]
		for k := range l.k {
			clear(panel[k*lanes+n : (k+1)*lanes])
		}
	}
	packPanel(l, l.f32, i, &p.b, p.b.f32)
}
