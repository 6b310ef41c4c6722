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
}

// narrowFor returns the products for keys and values of their types.
func (j *Job) narrowFor() narrow {
	return narrow{narrowTypes(&j.Call.K).scores, narrowTypes(&j.Call.V).values}
}

// narrowTypes returns those for the type of x.
func narrowTypes(x *view.Tensor) narrow {
	if x.Dim(3)%ukernel.SkinnyGroup != 0 || x.Scales() != nil && x.Group()%ukernel.SkinnyGroup != 0 {
		return narrow{noScores, noValues}
	}
	switch x.DType() {
	case view.Float16:
		return narrow{f16Scores, f16Values}
	case view.BFloat16:
		return narrow{bf16Scores, bf16Values}
	case view.Int8, view.Int4:
		return narrow{int8Scores, int8Values}
	}
	return narrow{noScores, noValues}
}

func noScores(*tile, []float32, int, int, []float32) int       { return 0 }
func noValues(*tile, []float32, int, int, []float32, bool) int { return 0 }

func f16Scores(t *tile, s []float32, lo, n int, top []float32) int {
	return halfScores(t, t.job.tier.Skinny().QKF16, s, lo, n, top)
}

func bf16Scores(t *tile, s []float32, lo, n int, top []float32) int {
	return halfScores(t, t.job.tier.Skinny().QKBF16, s, lo, n, top)
}

func halfScores(t *tile, qk func(s []float32, k []uint16, ldk int, q []float32, n, m, d int, max []float32, next []uint16, far int), s []float32, lo, n int, top []float32) int {
	if qk == nil {
		return 0
	}
	k, n, next, far := t.keys().Halves(t.Head, lo, n)
	if n < ukernel.SkinnyKeys {
		return 0
	}
	qk(s, k, t.job.Call.K.Stride(2), t.q, t.N, n, t.job.d(), top, next, far)
	return n
}

func f16Values(t *tile, o []float32, lo, n int, p []float32, load bool) int {
	return halfValues(t, t.job.tier.Skinny().PVF16, o, lo, n, p, load)
}

func bf16Values(t *tile, o []float32, lo, n int, p []float32, load bool) int {
	return halfValues(t, t.job.tier.Skinny().PVBF16, o, lo, n, p, load)
}

func halfValues(t *tile, pv func(o []float32, ldo int, v []uint16, ldv int, p []float32, ldp, n, m, dv int, load bool, next []uint16, far int), o []float32, lo, n int, p []float32, load bool) int {
	if pv == nil {
		return 0
	}
	dv := t.job.dv()
	v, n, next, far := t.values().Halves(t.Head, lo, n)
	pv(o, dv, v, t.job.Call.V.Stride(2), p, t.Lanes, t.N, n, dv, load, next, far)
	return n
}

func int8Scores(t *tile, s []float32, lo, n int, top []float32) int {
	x, qk := &t.job.Call.K, t.job.tier.Skinny().QKInt8
	if qk == nil || x.Run(lo, n) < ukernel.SkinnyKeys {
		return 0
	}
	k, stride, n, next, far := t.keys().Int8s(t.Head, lo, n)
	if n < ukernel.SkinnyKeys {
		return 0
	}
	scales := t.keys().KeyScales(t.Head, lo, n)
	qk(ukernel.QKInt8Args{S: s, K: k, Ldk: stride, Scales: scales, Lsc: n, Group: x.Group(), Q: t.q, N: t.N, M: n, D: x.Dim(3), Max: top, Next: next, Far: far})
	return n
}

func int8Values(t *tile, o []float32, lo, n int, p []float32, load bool) int {
	x, pv := &t.job.Call.V, t.job.tier.Skinny().PVInt8
	if pv == nil {
		return 0
	}
	dv := x.Dim(3)
	v, stride, n, next, far := t.values().Int8s(t.Head, lo, n)
	scales, lsc := x.RowScales(t.Head.Batch, t.Head.Head, lo, n)
	pv(ukernel.PVInt8Args{O: o, Ldo: dv, V: v, Ldv: stride, Scales: scales, Lsc: lsc, Group: x.Group(), P: p, Ldp: t.Lanes, N: t.N, M: n, Dv: dv, Load: load, Next: next, Far: far})
	return n
}
