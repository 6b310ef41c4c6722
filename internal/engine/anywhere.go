package engine

import (
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// Rows of small pages, of lists and of trees lie anywhere. Skinny products take them from there, by
// tables of their offsets, if the tier has kernels for that: copies take up to as long as products.

// liesAnywhere tells whether rows of x do.
func (j *Job) liesAnywhere(x *view.Tensor) bool {
	return j.derived.listed || j.derived.tree || j.hasSmallPages(x)
}

// takesAnywhere tells whether the tier has kernels for few rows of queries that take rows of x,
// keys or values of the call, from anywhere.
func (j *Job) takesAnywhere(x *view.Tensor) bool {
	n, c := j.waysOfRows(), &j.Call
	return j.derived.additive == nil && !c.DynamicInt12 && (x == &c.K && n.scoresAnywhere != nil || x == &c.V && n.valuesAnywhere != nil)
}

func floatScoresAnywhere(t *tile, s []float32, lo, n int, top []float32) int {
	off, next := t.keysAnywhere(lo, n)
	if len(off) == 0 {
		return 0
	}
	t.job.tier.Skinny().QKRows(s, t.job.Call.K.F32(), off, t.q, t.N, t.job.d(), top, next)
	return n
}

func halfScoresAnywhere(t *tile, s []float32, lo, n int, top []float32) int {
	off, next := t.keysAnywhere(lo, n)
	if len(off) == 0 {
		return t.job.plan.narrow.scoresInPlace(t, s, lo, n, top)
	}
	t.job.plan.narrow.qkRows(s, t.job.Call.K.U16(), off, t.q, t.N, t.job.d(), top, next)
	return n
}

func int8ScoresAnywhere(t *tile, s []float32, lo, n int, top []float32) int {
	off, next := t.keysAnywhere(lo, n)
	if len(off) == 0 {
		return t.job.plan.narrow.scoresInPlace(t, s, lo, n, top)
	}
	x := &t.job.Call.K
	t.job.tier.Skinny().QKRowsInt8(ukernel.QKRowsInt8Args{S: s, K: x.I8(), Off: off, Scales: t.keys().ScalesAnywhere(t.Head, lo, n, true), Lsc: n, Group: x.Group(),
		Q: t.q, N: t.N, D: x.Dim(3), Max: top, Next: next})
	return n
}

// keysAnywhere is Anywhere of keys that are enough for a kernel.
func (t *tile) keysAnywhere(lo, n int) (off, next []int) {
	if n < ukernel.SkinnyKeys {
		return nil, nil
	}
	return t.keys().Anywhere(t.Head, lo, n)
}

func floatValuesAnywhere(t *tile, o []float32, lo, n int, p []float32, load bool) int {
	off, next := t.values().Anywhere(t.Head, lo, n)
	if len(off) == 0 {
		return 0
	}
	dv := t.job.dv()
	t.job.tier.Skinny().PVRows(o, dv, t.job.Call.V.F32(), off, p, t.Lanes, t.N, dv, load, next)
	return n
}

func halfValuesAnywhere(t *tile, o []float32, lo, n int, p []float32, load bool) int {
	off, next := t.values().Anywhere(t.Head, lo, n)
	if len(off) == 0 {
		return t.job.plan.narrow.valuesInPlace(t, o, lo, n, p, load)
	}
	dv := t.job.dv()
	t.job.plan.narrow.pvRows(o, dv, t.job.Call.V.U16(), off, p, t.Lanes, t.N, dv, load, next)
	return n
}

func int8ValuesAnywhere(t *tile, o []float32, lo, n int, p []float32, load bool) int {
	off, next := t.values().Anywhere(t.Head, lo, n)
	if len(off) == 0 {
		return t.job.plan.narrow.valuesInPlace(t, o, lo, n, p, load)
	}
	x, dv := &t.job.Call.V, t.job.dv()
	t.job.tier.Skinny().PVRowsInt8(ukernel.PVRowsInt8Args{O: o, Ldo: dv, V: x.I8(), Off: off, Scales: t.values().ScalesAnywhere(t.Head, lo, n, false), Lsc: x.Scales().Dim(3), Group: x.Group(),
		P: p, Ldp: t.Lanes, N: t.N, Dv: dv, Load: load, Next: next})
	return n
}

// The kernels of other types take all rows by offsets, those at equal distances by the same ones.

func byteScores(t *tile, s []float32, lo, n int, top []float32) int {
	k, off, next := t.keys().Offsets(t.Head, lo, n)
	if len(off) < ukernel.SkinnyKeys {
		return 0
	}
	t.job.plan.narrow.qkBytes(s, k, off, t.q, t.N, t.job.d(), top, next)
	return len(off)
}

func byteValues(t *tile, o []float32, lo, n int, p []float32, load bool) int {
	dv := t.job.dv()
	v, off, next := t.values().Offsets(t.Head, lo, n)
	t.job.plan.narrow.pvBytes(o, dv, v, off, p, t.Lanes, t.N, dv, load, next)
	return len(off)
}

func int4Scores(t *tile, s []float32, lo, n int, top []float32) int {
	k, off, next := t.keys().Offsets(t.Head, lo, n)
	if n = len(off); n < ukernel.SkinnyKeys {
		return 0
	}
	x := &t.job.Call.K
	t.job.tier.Skinny().QKRowsInt4(ukernel.QKRowsInt8Args{S: s, K: view.As[int8](k), Off: off, Scales: t.keys().AnyKeyScales(t.Head, lo, n), Lsc: n, Group: x.Group(),
		Q: t.q, N: t.N, D: x.Dim(3), Max: top, Next: next})
	return n
}

func int4Values(t *tile, o []float32, lo, n int, p []float32, load bool) int {
	v, off, next := t.values().Offsets(t.Head, lo, n)
	x, dv := &t.job.Call.V, t.job.dv()
	scales, lsc := t.values().AnyScales(t.Head, lo, len(off))
	t.job.tier.Skinny().PVRowsInt4(ukernel.PVRowsInt8Args{O: o, Ldo: dv, V: view.As[int8](v), Off: off, Scales: scales, Lsc: lsc, Group: x.Group(),
		P: p, Ldp: t.Lanes, N: t.N, Dv: dv, Load: load, Next: next})
	return len(off)
}
