package engine

import (
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// int4Piece is the number of rows of 4 bits that become int8 before skinny kernels use them as such, so
// that they are still in L1.
const int4Piece = 64

// unpackInt4 returns up to n rows of KV head h of x, of 4 bits, from row lo on as int8, and their number. The
// next call overwrites them.
func (t *tile) unpackInt4(f *floatRows, x *view.Tensor, lo, n int) (codes []int8, got int) {
	n = x.Run(lo, min(n, int4Piece))
	t.codesOf(f.codes, x, lo, n)
	return f.codes[:n*x.Dim(3)], n
}

// int4Products is narrowProducts for 4 bits.
func (t *tile) int4Products(s []float32, lo, rows int, top []float32) int {
	x, f, qk := &t.job.Call.K, &t.scratch.keys, t.job.tier.Skinny().QKInt8
	if qk == nil || x.Run(lo, rows) < ukernel.SkinnyKeys {
		return 0
	}
	k, n := t.unpackInt4(f, x, lo, rows)
	scales := f.keyScales(x, t.head, lo, n)
	qk(ukernel.QKInt8Args{S: s, K: k, Ldk: x.Dim(3), Scales: scales, Lsc: n, Group: x.Group(), Q: t.q, N: t.n, M: n, D: x.Dim(3), Max: top, Next: k})
	return n
}

// int4PV is narrowPV for 4 bits.
func (t *tile) int4PV(o []float32, lo, rows int, p []float32, load bool) int {
	x, pv := &t.job.Call.V, t.job.tier.Skinny().PVInt8
	if pv == nil {
		return 0
	}
	v, n := t.unpackInt4(&t.scratch.values, x, lo, rows)
	scales, lsc := x.RowScales(t.head.batch, t.head.head, lo, n)
	dv := x.Dim(3)
	pv(ukernel.PVInt8Args{O: o, Ldo: dv, V: v, Ldv: dv, Scales: scales, Lsc: lsc, Group: x.Group(), P: p, Ldp: t.kern.Lanes, N: t.n, M: n, Dv: dv, Load: load, Next: v})
	return n
}
