package engine

import (
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// narrow are the products of skinny tiles with keys and values that are widened in registers.
type narrow struct {
	// scores computes the scores s of up to n keys, from number lo on, and returns how many: 0 if
	// they cannot be widened in registers, or if too few lie at equal distances.
	scores func(t *tile, s []float32, lo, n int, top []float32) int

	// values writes to o, or adds to it if load is true, the products of the weights p and up to n
	// values from number lo on. It returns how many, or 0 if they cannot be widened in registers.
	values func(t *tile, o []float32, lo, n int, p []float32, load bool) int

	// The kernels of these for 16 bits.
	qk func(s []float32, k []uint16, ldk int, q []float32, n, m, d int, max []float32, next []uint16, far int)
	pv func(o []float32, ldo int, v []uint16, ldv int, p []float32, ldp, n, m, dv int, load bool, next []uint16, far int)
}

// narrowFor returns the products for keys and values of their types.
func (j *Job) narrowFor() narrow {
	kernels, n := j.tier.Skinny(), narrow{scores: noScores, values: noValues}
	if k := &j.Call.K; hasGroups(k) {
		switch n.qk = halfKernel(k, kernels.QKF16, kernels.QKBF16); {
		case n.qk != nil:
			n.scores = halfScores
		case k.DType().IsScaled() && kernels.QKInt8 != nil:
			n.scores = int8Scores
		}
	}
	if v := &j.Call.V; hasGroups(v) {
		switch n.pv = halfKernel(v, kernels.PVF16, kernels.PVBF16); {
		case n.pv != nil:
			n.values = halfValues
		case v.DType().IsScaled() && kernels.PVInt8 != nil:
			n.values = int8Values
		}
	}
	return n
}

// halfKernel returns the kernel for the type of x, or nil if that is not one of 16 bits.
func halfKernel[F any](x *view.Tensor, f16, bf16 F) (kernel F) {
	switch x.DType() {
	case view.Float16:
		return f16
	case view.BFloat16:
		return bf16
	}
	return kernel
}

// hasGroups tells whether rows of x are groups of columns, as skinny kernels widen them.
func hasGroups(x *view.Tensor) bool {
	return x.Dim(3)%ukernel.SkinnyGroup == 0 && (x.Scales() == nil || x.Group()%ukernel.SkinnyGroup == 0)
}

func noScores(*tile, []float32, int, int, []float32) int       { return 0 }
func noValues(*tile, []float32, int, int, []float32, bool) int { return 0 }

func halfScores(t *tile, s []float32, lo, n int, top []float32) int {
	k, n, next, far := t.keys().Halves(t.Head, lo, n)
	if n < ukernel.SkinnyKeys {
		return 0
	}
	t.job.plan.narrow.qk(s, k, t.job.Call.K.Stride(2), t.q, t.N, n, t.job.d(), top, next, far)
	return n
}

func halfValues(t *tile, o []float32, lo, n int, p []float32, load bool) int {
	dv := t.job.dv()
	v, n, next, far := t.values().Halves(t.Head, lo, n)
	t.job.plan.narrow.pv(o, dv, v, t.job.Call.V.Stride(2), p, t.Lanes, t.N, n, dv, load, next, far)
	return n
}

func int8Scores(t *tile, s []float32, lo, n int, top []float32) int {
	x := &t.job.Call.K
	if x.Run(lo, n) < ukernel.SkinnyKeys {
		return 0
	}
	k, stride, n, next, far := t.keys().Int8s(t.Head, lo, n)
	if n < ukernel.SkinnyKeys {
		return 0
	}
	scales := t.keys().KeyScales(t.Head, lo, n)
	t.job.tier.Skinny().QKInt8(ukernel.QKInt8Args{S: s, K: k, Ldk: stride, Scales: scales, Lsc: n, Group: x.Group(), Q: t.q, N: t.N, M: n, D: x.Dim(3), Max: top, Next: next, Far: far})
	return n
}

func int8Values(t *tile, o []float32, lo, n int, p []float32, load bool) int {
	x, dv := &t.job.Call.V, t.job.dv()
	v, stride, n, next, far := t.values().Int8s(t.Head, lo, n)
	scales, lsc := x.RowScales(t.Head.Batch, t.Head.Head, lo, n)
	t.job.tier.Skinny().PVInt8(ukernel.PVInt8Args{O: o, Ldo: dv, V: v, Ldv: stride, Scales: scales, Lsc: lsc, Group: x.Group(), P: p, Ldp: t.Lanes, N: t.N, M: n, Dv: dv, Load: load, Next: next, Far: far})
	return n
}
