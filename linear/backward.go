package linear

import (
	"cmp"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
)

// Gradients are the outputs of [Backward]. A gradient that is not set is not computed.
type Gradients struct {
	X    Matrix    // [M, K]: with respect to x
	W    Matrix    // [N, K]: with respect to the weights
	Bias []float32 // N: with respect to the bias
}

// Backward computes the gradients of a linear layer y = x·Wᵀ + b from dy, the gradient of its
// outputs:
//
//	X    = dy·W
//	W    = dyᵀ·x
//	Bias = dy summed up over its rows
//
//	dy [M, N], x [M, K], w [N, K]  float32, with any strides
//
// x is needed for W alone, and w for X: the other may be the zero Matrix. The gradients share no
// memory with each other or with an argument; the rows of X and W are contiguous. With
// opts.Accumulate they are added to what is there.
//
// X and W are sums as in [Product]: X has segments of 128 outputs of the layer, W segments of 128
// rows. Bias has segments of 32 rows, and groups of 32 segments:
//
//	a[i] = sum of dy[m][n] over m = 32i..min(32i+31, M-1), ascending, from +0
//	b[k] = a[32k] + a[32k+1] + ... + a[32k+31], from left to right, as far as there are segments
//	Bias[n] = b[0] + b[1] + ..., from left to right, after Bias[n] itself with opts.Accumulate
//
// A result that is NaN is 0x7FC00000. Several calls may share weights, such as the steps of a
// recurrent network. One call with all rows computes the gradient, or several calls add it up with
// Accumulate: the two differ in rounding.
//
// In the steady state a call allocates nothing. An error is a [*kernel.Error], and leaves
// the gradients untouched.
func Backward(g Gradients, dy, x, w Matrix, opts ProductOptions) error {
	t, err := elementwise.Begin("linear.Backward", &opts.Exec, g.check(&dy, &x, &w, &opts))
	if err != nil {
		return err
	}
	if g.X.isSet() {
		wt := w.T()
		multiply(t, &g.X, &dy, &wt, &opts)
	}
	if g.W.isSet() {
		dyt, xt := dy.T(), x.T()
		multiply(t, &g.W, &dyt, &xt, &opts)
	}
	if g.Bias != nil {
		if view.Races {
			dy.announce(view.Read)
			view.Announce(view.Write, g.Bias)
		}
		sumUp(t, g.Bias, &dy, opts.Accumulate)
	}
	return nil
}

// isSet tells whether m is not the zero Matrix.
func (m *Matrix) isSet() bool { return m.len() > 0 || m.rows != 0 || m.cols != 0 }

// check reports the first argument that does not fit.
func (g *Gradients) check(dy, x, w *Matrix, opts *ProductOptions) *check.Failure {
	if f := cmp.Or(dy.checkFloats("dy"), check.Threads("Options.Threads", opts.Threads)); f != nil {
		return f
	}
	if g.X.isSet() {
		if f := checkGradient("Gradients.X", &g.X, "w", w, *dy); f != nil {
			return f
		}
	}
	if g.W.isSet() {
		if f := checkGradient("Gradients.W", &g.W, "x", x, dy.T()); f != nil {
			return f
		}
	}
	return cmp.Or(check.LengthOrNil("Gradients.Bias", g.Bias, dy.cols, "one per output"), g.checkMemory(dy, x, w))
}

// checkGradient reports a gradient or the matrix in, if it is not the product dy·in.
func checkGradient(arg string, out *Matrix, inArg string, in *Matrix, dy Matrix) *check.Failure {
	if f := in.checkFloats(inArg); f != nil {
		return f
	}
	if in.rows != dy.cols {
		return in.failure(inArg, "%d rows, as many as dy needs", dy.cols)
	}
	if f := out.checkFloats(arg); f != nil {
		return f
	}
	if out.rows != dy.rows || out.cols != in.cols {
		return out.failure(arg, "[%d %d]", dy.rows, in.cols)
	}
	b := in.T()
	return cmp.Or(checkWeights(inArg, &b, b.dtype.Size()), out.checkOutput(arg))
}

// checkMemory reports a gradient that shares memory with another argument.
func (g *Gradients) checkMemory(dy, x, w *Matrix) *check.Failure {
	names := [...]string{"Gradients.X", "Gradients.W", "Gradients.Bias", "dy", "x", "w"}
	var memory [len(names)]view.Memory
	for i, m := range [...]*Matrix{&g.X, &g.W, nil, dy, x, w} {
		if m == nil {
			memory[i] = view.MemoryOf(g.Bias)
		} else if m.check("") == nil { // x or w may be anything if it is not used
			memory[i] = m.memory()
		}
	}
	return view.CheckApart(3, names[:], memory[:]...)
}

const (
	// sumColumns is the number of columns whose rows are summed up at a time.
	sumColumns = 64

	// sumRows rows are a segment of the sum over rows, and groupRows rows a group of segments. A
	// product has longer segments: it would be slower with these. A sum of numbers of both signs
	// has the smallest error if it has as many rows in a segment as segments in a group.
	sumRows   = 32
	groupRows = 32 * sumRows
)

// sumUp sums up the rows of dy in segments and groups. Without accumulate bias is overwritten.
func sumUp(t *tier.Tier, bias []float32, dy *Matrix, accumulate bool) {
	j := jobs.Get() // for the memory of its sums
	defer jobs.Put(j)
	for first := 0; first < len(bias); first += sumColumns {
		n := min(sumColumns, len(bias)-first)
		for lo := 0; lo < dy.rows || lo == 0; lo += groupRows {
			group := j.sumGroup(t, dy, lo, first, n)
			add(t, bias[first:first+n], group, lo > 0 || accumulate)
		}
	}
}

// sumGroup returns the sums of a group of rows, from lo on, for n columns.
func (p *product) sumGroup(t *tier.Tier, dy *Matrix, lo, first, n int) []float32 {
	group, acc, end := p.group[:n], p.segment[:n], min(lo+groupRows, dy.rows)
	for m := lo; m < end || m == lo; m += sumRows {
		clear(acc)
		addRows(t, acc, dy, m, min(sumRows, end-m), first)
		add(t, group, acc, m > lo)
	}
	return group
}

// add adds x to sum, or makes it the sum if it is the first summand.
func add(t *tier.Tier, sum, x []float32, more bool) {
	if more {
		t.Elementwise().Add(sum, sum, x)
	} else {
		copy(sum, x)
	}
}

// addRows adds len(acc) columns of n rows of dy, from row m on, to acc, one row after the other.
func addRows(t *tier.Tier, acc []float32, dy *Matrix, m, n, first int) {
	if n <= 0 {
		return
	}
	at := m*dy.rowStride + first*dy.colStride
	if dy.colStride == 1 {
		t.Elementwise().AddRows(acc, dy.f32[at:at+(n-1)*dy.rowStride+len(acc)], dy.rowStride, n)
		return
	}
	for ; n > 0; n-- {
		for i := range acc {
			acc[i] = scalar.Canonical(acc[i] + dy.f32[at+i*dy.colStride])
		}
		at += dy.rowStride
	}
}
