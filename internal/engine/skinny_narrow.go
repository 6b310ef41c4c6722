package engine

import (
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// Skinny kernels widen keys and values of narrow types in registers. That is faster
// than widening them to scratch memory, even to L1. Where widensInRegisters says that it
// is impossible, floatRows widens them.

// widensInRegisters tells whether the tier's skinny kernels widen rows of x.
func widensInRegisters(t *ukernel.Tier, x *view.Tensor) bool {
	if t.Skinny.QKF16 == nil || x.Dim(3)%ukernel.SkinnyGroup != 0 {
		return false
	}
	switch x.DType() {
	case view.Float16, view.BFloat16:
		return true
	case view.Int8:
		return x.Group()%ukernel.SkinnyGroup == 0
	}
	return false
}

// narrowProducts computes the scores s of up to rows keys from row lo on, and returns
// their number: 0 if they cannot be widened in registers, or if too few lie at equal
// distances.
func (t *tile) narrowProducts(s []float32, lo, rows int, top []float32) int {
	x, tier, d := &t.job.K, t.job.tier, t.job.d()
	if !widensInRegisters(tier, x) {
		return 0
	}
	if x.DType() == view.Int8 {
		k, n, next, far := withHints(tier, x, t.head, lo, rows, x.I8())
		if n < ukernel.SkinnyKeys {
			return 0
		}
		scales := t.scratch.keys.keyScales(x, t.head, lo, n)
		tier.Skinny.QKInt8(s, k, x.Stride(2), scales, n, x.Group(), t.q, t.n, n, d, top, next, far)
		return n
	}
	qk := tier.Skinny.QKF16
	if x.DType() == view.BFloat16 {
		qk = tier.Skinny.QKBF16
	}
	k, n, next, far := withHints(tier, x, t.head, lo, rows, x.U16())
	if n < ukernel.SkinnyKeys {
		return 0
	}
	qk(s, k, x.Stride(2), t.q, t.n, n, d, top, next, far)
	return n
}

// narrowPV writes to o, or adds to it if load is true, the products of the weights p
// and up to rows values from row lo on. It returns the number of values, or 0 if they
// cannot be widened in registers.
func (t *tile) narrowPV(o []float32, lo, rows int, p []float32, load bool) int {
	x, tier := &t.job.V, t.job.tier
	if !widensInRegisters(tier, x) {
		return 0
	}
	dv, lanes := t.job.dv(), t.kern.Lanes
	if x.DType() == view.Int8 {
		v, n, next, far := withHints(tier, x, t.head, lo, rows, x.I8())
		scales, lsc := x.RowScales(t.head.batch, t.head.head, lo, n)
		tier.Skinny.PVInt8(o, dv, v, x.Stride(2), scales, lsc, x.Group(), p, lanes, t.n, n, dv, load, next, far)
		return n
	}
	pv := tier.Skinny.PVF16
	if x.DType() == view.BFloat16 {
		pv = tier.Skinny.PVBF16
	}
	v, n, next, far := withHints(tier, x, t.head, lo, rows, x.U16())
	pv(o, dv, v, x.Stride(2), p, lanes, t.n, n, dv, load, next, far)
	return n
}

// keyScales returns the scales of n rows of x, those of the first group of columns
// row by row, then those of the next group. Scales that lie otherwise are copied to
// the memory of f, which is large enough for the rows themselves.
func (f *floatRows) keyScales(x *view.Tensor, h kvHead, lo, n int) []float32 {
	scales, stride := x.RowScales(h.batch, h.head, lo, n)
	groups := x.Scales().Dim(3)
	if groups == 1 && stride == 1 {
		return scales[:n]
	}
	f.cached = mask.Span{}
	for g := range groups {
		for i := range n {
			f.memory[g*n+i] = scales[i*stride+g]
		}
	}
	return f.memory[:groups*n]
}
