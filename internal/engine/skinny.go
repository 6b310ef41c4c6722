package engine

import (
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

const (
	// skinnyPiece is the number of keys that are widened, or gathered from pages,
	// before they are used, so that they are still in L1.
	skinnyPiece = 16

	// MaxSkinnyWidth bounds D and Dv, so that a call of 16 keys stays short.
	MaxSkinnyWidth = 4 << 10
)

// isSkinny tells whether KV heads with so many rows use the skinny kernels.
func (j *Job) isSkinny(rows int) bool {
	if j.Call.Quantized {
		return rows <= j.tier.SkinnyRows && j.fitsCodes()
	}
	return rows <= j.tier.SkinnyRows && j.d() >= ukernel.SkinnyColumns && max(j.d(), j.dv()) <= MaxSkinnyWidth && !j.fillsTile()
}

// fillsTile tells whether a tile is faster all the same: the rows of a KV head leave
// no lane of it idle, and its keys are one block at most, so that reading them takes
// little of the time.
func (j *Job) fillsTile() bool {
	t, rows := j.tier, j.rows()
	least := t.FullRows
	if x := j.Call.K.DType(); x == view.Float16 || x == view.BFloat16 {
		least = t.FullHalfRows
	}
	return least > 0 && rows >= least && j.keys() <= BlockKeys && t.Tile(rows).Lanes == rows
}

// getSkinny is get with the prefetch hints of ukernel.SkinnyKernels: next are rows that
// are needed soon, and far is the distance from there to those after them. Of widened
// rows it returns no more than a piece, always in the same memory.
func (f *floatRows) getSkinny(t *tier.Tier, x *view.Tensor, h kvHead, lo, n int) (data []float32, stride, got int, next []float32, far int) {
	if f.copies {
		f.cached = mask.Span{}
		data, stride, got = f.get(t, x, h, lo, min(n, skinnyPiece))
		return data, stride, got, data, 0
	}
	data, got, next, far = withHints(t, x, h, lo, n, x.F32())
	return data, x.Stride(2), got, next, far
}

// withHints returns the rows of KV head h of x from row lo on, n of them or fewer where
// a page ends, with prefetch hints. all is the slice of x. (The results are no struct:
// the compiler keeps one of this size in memory, which took a tenth of a small call.)
func withHints[E any](t *tier.Tier, x *view.Tensor, h kvHead, lo, n int, all []E) (rows []E, got int, next []E, far int) {
	if x.IsPaged() {
		return pagesWithHints(t, x, h, lo, n, all)
	}
	at, stride := x.Index(h.batch, h.head, lo), x.Stride(2)
	rows = all[at : at+(n-1)*stride+x.Dim(3)]
	if n < ukernel.SkinnyKeys { // too short to hide the time of a prefetch
		return rows, n, rows, 0
	}
	ahead := rowsAhead(t, x)
	if next = rows; ahead < (len(all)-at)/max(1, stride) {
		next = all[at+ahead*stride:]
	}
	return rows, n, next, farRows(t, ahead) * stride
}

// farRows returns how far the rows lie from those needed soon, ahead rows ahead, that are prefetched as well.
func farRows(t *tier.Tier, ahead int) int {
	if t.FarPrefetch < 0 {
		return -ahead / 2
	}
	return t.FarPrefetch * ahead
}

// rowsAhead returns how many rows ahead x is prefetched, a multiple of SkinnyKeys.
func rowsAhead(t *tier.Tier, x *view.Tensor) int {
	return max(ukernel.SkinnyKeys, t.PrefetchBytes/x.DType().Bytes(x.Dim(3))&^(ukernel.SkinnyKeys-1))
}

// pagesWithHints is withHints for a tensor in pages, the next of which may lie
// anywhere. The rows at next and at next+far must lie at equal distances, too. So the rows
// end where the first of these pages ends, two or three, unless that leaves fewer than SkinnyKeys
// rows.
func pagesWithHints[E any](t *tier.Tier, x *view.Tensor, h kvHead, lo, n int, all []E) (rows []E, got int, next []E, far int) {
	ahead := rowsAhead(t, x)
	pages, size := x.Pages(h.batch)
	page, row := lo/size, lo%size
	run := min(n, size-row)
	left := x.Length(h.batch) - lo
	var at [3]int // of the rows, of those needed soon, of those after them
	for i := range 2 + max(0, t.FarPrefetch) {
		if i > 0 && left > ahead {
			left -= ahead
			if row += ahead; row >= size {
				page, row = page+row/size, row%size
			}
			if size-row >= ukernel.SkinnyKeys {
				run = min(run, size-row)
			}
		}
		at[i] = x.At(int(pages[page]), h.head, row)
	}
	rows = all[at[0] : at[0]+(run-1)*x.Stride(2)+x.Dim(3)]
	switch {
	case t.FarPrefetch > 0:
		far = at[2] - at[1]
	case row+farRows(t, ahead) >= 0:
		far = farRows(t, ahead) * x.Stride(2)
	}
	return rows, run, all[at[1]:], far
}

// skinnyProducts is products with the skinny kernels.
func (t *tile) skinnyProducts(part mask.Span, top []float32) {
	lanes, d := t.kern.Lanes, t.job.d()
	if top == nil {
		top = t.ignored()
	}
	for part.Lo < part.Hi {
		s, lo, rows := t.scoresFrom(part), part.Lo-t.phase, ukernel.RowsPerCall(part.Len(), lanes*d)
		n := t.narrowProducts(s, lo, rows, top)
		if n == 0 {
			k, stride, got, next, far := t.scratch.keys.getSkinny(t.job.tier, &t.job.Call.K, t.head, lo, rows)
			if n = got; n < ukernel.SkinnyKeys {
				t.kern.GemmMax(s, lanes, k, stride, 1, t.q, lanes, n, d, ukernel.ColumnSegment, top)
			} else {
				t.job.tier.Skinny().QK(s, k, stride, t.q, t.n, n, d, top, next, far)
			}
		}
		part.Lo += n
	}
}

// skinnyPV is tilePV with the skinny kernels. The first block of few keys is one call on V as it
// lies in memory: such a call feels every instruction.
func (t *tile) skinnyPV() {
	j, s, lanes := t.job, t.scratch, t.kern.Lanes
	dv, skinny := j.dv(), j.tier.Skinny()
	if n := t.block.keys.Len(); n < ukernel.SkinnyKeys && !t.started && j.Call.V.DType() == view.Float32 && !j.Call.V.IsPaged() && ukernel.IsOneCall(dv, t.n) {
		v := j.Call.V.Rows(t.head.batch, t.head.head, t.block.keys.Lo-t.phase, n)
		skinny.PV(t.o, dv, v, j.Call.V.Stride(2), t.block.scores, lanes, t.n, n, dv, false, v, 0)
		return
	}
	o := t.o
	if t.started {
		o = s.partial
	}
	load := false
	for part := t.block.keys; part.Lo < part.Hi; load = true {
		p, lo, rows := t.scoresFrom(part), part.Lo-t.phase, ukernel.RowsPerCall(part.Len(), t.n*dv)
		n := t.narrowPV(o, lo, rows, p, load)
		if n == 0 {
			v, stride, got, next, far := s.values.getSkinny(j.tier, &j.Call.V, t.head, lo, rows)
			skinny.PV(o, dv, v, stride, p, lanes, t.n, got, dv, load, next, far)
			n = got
		}
		part.Lo += n
	}
	if t.started {
		t.mergeRows(o, dv)
	}
}

// mergeRows merges the rows of part, stride apart, into those of a skinny tile.
func (t *tile) mergeRows(part []float32, stride int) {
	dv := t.job.dv()
	for e, n := 0, 0; e < dv; e += n {
		n = ukernel.ColumnsPerCall(dv-e, t.n)
		t.job.tier.Skinny().Merge(t.o[e:], dv, part[e:], stride, t.n, n, t.alpha, t.beta)
	}
}

// Skinny kernels widen keys and values of narrow types in registers. That is faster
// than widening them to scratch memory, even to L1. Where the tier has no kernel for a type, or
// the rows do not fit it, floatRows widens them.

// fitsGroups tells whether skinny kernels can widen rows of x, which they do in groups of columns.
func fitsGroups(x *view.Tensor) bool {
	return x.Dim(3)%ukernel.SkinnyGroup == 0 && (x.Scales() == nil || x.Group()%ukernel.SkinnyGroup == 0)
}

// narrowProducts computes the scores s of up to rows keys from row lo on, and returns
// their number: 0 if they cannot be widened in registers, or if too few lie at equal
// distances.
func (t *tile) narrowProducts(s []float32, lo, rows int, top []float32) int {
	x, tier, d := &t.job.Call.K, t.job.tier, t.job.d()
	if x.DType() == view.Float32 || !fitsGroups(x) {
		return 0
	}
	if x.DType() == view.Int4 {
		return t.int4Products(s, lo, rows, top)
	}
	kernels := tier.Skinny()
	if x.DType() == view.Int8 && kernels.QKInt8 != nil {
		k, n, next, far := withHints(tier, x, t.head, lo, rows, x.I8())
		if n < ukernel.SkinnyKeys {
			return 0
		}
		scales := t.scratch.keys.keyScales(x, t.head, lo, n)
		kernels.QKInt8(ukernel.QKInt8Args{S: s, K: k, Ldk: x.Stride(2), Scales: scales, Lsc: n, Group: x.Group(), Q: t.q, N: t.n, M: n, D: d, Max: top, Next: next, Far: far})
		return n
	}
	var qk func(s []float32, k []uint16, ldk int, q []float32, n, m, d int, max []float32, next []uint16, far int)
	switch x.DType() {
	case view.Float16:
		qk = kernels.QKF16
	case view.BFloat16:
		qk = kernels.QKBF16
	}
	if qk == nil {
		return 0
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
	x, tier := &t.job.Call.V, t.job.tier
	if x.DType() == view.Float32 || !fitsGroups(x) {
		return 0
	}
	if x.DType() == view.Int4 {
		return t.int4PV(o, lo, rows, p, load)
	}
	kernels, dv, lanes := tier.Skinny(), t.job.dv(), t.kern.Lanes
	if x.DType() == view.Int8 && kernels.PVInt8 != nil {
		v, n, next, far := withHints(tier, x, t.head, lo, rows, x.I8())
		scales, lsc := x.RowScales(t.head.batch, t.head.head, lo, n)
		kernels.PVInt8(ukernel.PVInt8Args{O: o, Ldo: dv, V: v, Ldv: x.Stride(2), Scales: scales, Lsc: lsc, Group: x.Group(), P: p, Ldp: lanes, N: t.n, M: n, Dv: dv, Load: load, Next: next, Far: far})
		return n
	}
	var pv func(o []float32, ldo int, v []uint16, ldv int, p []float32, ldp, n, m, dv int, load bool, next []uint16, far int)
	switch x.DType() {
	case view.Float16:
		pv = kernels.PVF16
	case view.BFloat16:
		pv = kernels.PVBF16
	}
	if pv == nil {
		return 0
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
