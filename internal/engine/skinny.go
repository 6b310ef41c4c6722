package engine

import (
	"github.com/attn-go/attn/internal/engine/kvrows"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// The steps of few rows, as in decoding, where reading K and V takes the time: most lanes
// of a tile would be idle, so the lanes hold keys and columns of V instead. Skinny
// kernels widen keys and values of narrow types in registers, which is faster than
// widening them to scratch memory, even to L1. Where the tier has no kernel for a type,
// or the rows do not fit it, their reader widens them.

func skinnyScores(t *tile, part mask.Span, top []float32) {
	w, d := t.Lanes, t.job.d()
	if part.Len() < ukernel.SkinnyKeys {
		panelScores(t, part, top)
		return
	}
	if top == nil {
		top = t.ignored()
	}
	for part.Lo < part.Hi {
		s, lo, rows := t.scoresFrom(part), t.Key(part.Lo), ukernel.RowsPerCall(part.Len(), w*d)
		n := t.job.plan.narrow.scores(t, s, lo, rows, top)
		if n == 0 {
			k, stride, got, next, far := t.keys().Hinted(t.Head, lo, rows)
			if n = got; n < ukernel.SkinnyKeys {
				t.kern.GemmMax(s, w, k, stride, 1, t.q, w, n, d, ukernel.ColumnSegment, top)
			} else {
				t.job.plan.narrow.qkFloats(s, k, stride, t.q, t.N, n, d, top, next, far)
			}
		}
		part.Lo += n
	}
}

// softmax computes the first 4 lanes alone of at most 4 rows; the rest of the weights and
// sums is garbage.
func skinnySoftmax(t *tile, n int, max, sum []float32) {
	if t.N > ukernel.SkinnyLanes {
		panelSoftmax(t, n, max, sum)
		return
	}
	t.job.tier.Skinny().Softmax(t.block.scores, t.Lanes, n, max[:ukernel.SkinnyLanes], sum[:ukernel.SkinnyLanes])
}

// values takes the first block of few keys in one call on V as it lies in memory: such a
// call feels every instruction.
func skinnyValues(t *tile) {
	j, keys := t.job, t.block.keys
	if n, v := keys.Len(), &j.Call.V; n < ukernel.SkinnyKeys && !t.started && v.DType() == view.Float32 && !v.IsPaged() && !t.job.derived.listed && !t.job.derived.tree && ukernel.IsOneCall(j.dv(), t.N) {
		rows := v.Rows(t.Head.Batch, t.Head.Head, t.Key(keys.Lo), n)
		j.tier.Skinny().PV(t.o, j.dv(), rows, v.Stride(2), t.block.scores, t.Lanes, t.N, n, j.dv(), false, rows, 0)
		return
	}
	o := t.room()
	load := false
	for part := keys; part.Lo < part.Hi; load = true {
		p, lo, rows := t.scoresFrom(part), t.Key(part.Lo), ukernel.RowsPerCall(part.Len(), t.N*j.dv())
		n := j.plan.narrow.values(t, o, lo, rows, p, load)
		if n == 0 {
			v, stride, got, next, far := t.values().Hinted(t.Head, lo, rows)
			j.tier.Skinny().PV(o, j.dv(), v, stride, p, t.Lanes, t.N, got, j.dv(), load, next, far)
			n = got
		}
		part.Lo += n
	}
	t.mergeBlock(o)
}

// room returns memory for the output of a block: the tile's if it is the first block.
func (t *tile) room() []float32 {
	if t.started {
		return t.scratch.partial
	}
	return t.o
}

// mergeBlock merges the output of the current block, which lies in such memory.
func (t *tile) mergeBlock(o []float32) {
	if t.started {
		t.strategy.merge(t, o)
	}
}

func skinnyMerge(t *tile, part []float32) { t.mergeRows(part, t.job.dv()) }

func skinnyMergeNone(t *tile) {
	zeros := t.scratch.partial[:t.job.dv()]
	clear(zeros)
	t.mergeRows(zeros, 0)
}

// mergeRows merges rows that lie so far apart.
func (t *tile) mergeRows(part []float32, stride int) {
	dv := t.job.dv()
	for e, n := 0, 0; e < dv; e += n {
		n = ukernel.ColumnsPerCall(dv-e, t.N)
		t.job.tier.Skinny().Merge(t.o[e:], dv, part[e:], stride, t.N, n, t.block.alpha, t.block.beta)
	}
}

func skinnyLoad(t *tile, src []float32, off []int) {
	dv := t.job.dv()
	for lane, at := range off[:t.N] {
		copy(t.o[lane*dv:][:dv], src[at:])
	}
}

func skinnyUnpack(t *tile, dst []float32, off []int, sum []float32) (nan uint64) {
	dv := t.job.dv()
	if ukernel.IsOneCall(dv, t.Lanes) { // small calls feel a loop
		return t.job.tier.Skinny().Unpack(dst, off, t.o, dv, t.N, dv, sum)
	}
	for e, n := 0, 0; e < dv; e += n {
		n = ukernel.ColumnsPerCall(dv-e, t.Lanes)
		nan |= t.job.tier.Skinny().Unpack(dst[e:], off, t.o[e:], dv, t.N, n, sum)
	}
	return nan
}

// narrow are the products of skinny tiles with keys and values that are widened in
// registers.
type narrow struct {
	// scores computes the scores s of up to n keys, from number lo on, and returns how
	// many: 0 if they cannot be widened in registers, or if too few lie at equal
	// distances.
	scores func(t *tile, s []float32, lo, n int, top []float32) int

	// values writes to o, or adds to it if load is true, the products of the weights p and
	// up to n values from number lo on. It returns how many, or 0 if they cannot be
	// widened in registers.
	values func(t *tile, o []float32, lo, n int, p []float32, load bool) int

	// qkFloats is QK, of the tier below for many bytes of keys and values, see Tuning.LowerBytes.
	qkFloats func(s, k []float32, ldk int, q []float32, n, m, d int, max []float32, next []float32, far int)

	// qk and pv are the kernels for keys and values of 16 bits.
	qk func(s []float32, k []uint16, ldk int, q []float32, n, m, d int, max []float32, next []uint16, far int)
	pv func(o []float32, ldo int, v []uint16, ldv int, p []float32, ldp, n, m, dv int, load bool, next []uint16, far int)

	// What scores and values are for rows at equal distances, and for rows by offsets. qkRows and
	// pvRows are the kernels by offsets for 16 bits.
	scoresInPlace, scoresAnywhere func(t *tile, s []float32, lo, n int, top []float32) int
	valuesInPlace, valuesAnywhere func(t *tile, o []float32, lo, n int, p []float32, load bool) int
	qkRows                        func(s []float32, k []uint16, off []int, q []float32, n, d int, max []float32, next []int)
	pvRows                        func(o []float32, ldo int, v []uint16, off []int, p []float32, ldp, n, dv int, load bool, next []int)

	// The kernels for types of 8 bits with an exponent.
	qkBytes func(s []float32, k []byte, off []int, q []float32, n, d int, max []float32, next []int)
	pvBytes func(o []float32, ldo int, v []byte, off []int, p []float32, ldp, n, dv int, load bool, next []int)
}

// narrowFor returns the products for keys and values of their types.
func (j *Job) narrowFor() narrow {
	n := j.waysOfRows()
	n.scores, n.values = n.scoresInPlace, n.valuesInPlace
	if n.scoresAnywhere != nil && j.liesAnywhere(&j.Call.K) {
		n.scores = n.scoresAnywhere
	}
	if n.valuesAnywhere != nil && j.liesAnywhere(&j.Call.V) {
		n.values = n.valuesAnywhere
	}
	return n
}

// waysOfRows returns what there is for rows at equal distances, and for rows that lie anywhere.
// Only the latter may be nil.
func (j *Job) waysOfRows() (n narrow) {
	kernels, k, v := j.tier.Skinny(), &j.Call.K, &j.Call.V
	n.qk = kernelOf(halfTypes, kvrows.HalfType(j.tier, k), kernels.QKF16, kernels.QKBF16)
	n.pv = kernelOf(halfTypes, kvrows.HalfType(j.tier, v), kernels.PVF16, kernels.PVBF16)
	n.qkRows, n.pvRows = kernelOf(halfTypes, k.DType(), kernels.QKRowsF16, kernels.QKRowsBF16), kernelOf(halfTypes, v.DType(), kernels.PVRowsF16, kernels.PVRowsBF16)
	n.qkBytes, n.pvBytes = kernelOf(byteTypes, k.DType(), kernels.QKRowsF8E4M3, kernels.QKRowsF8E5M2), kernelOf(byteTypes, v.DType(), kernels.PVRowsF8E4M3, kernels.PVRowsF8E5M2)
	n.scoresInPlace, n.valuesInPlace, n.qkFloats = noScores, noValues, kernels.QK
	if lower := j.tier.Lower(); lower != nil && j.readsMore(j.tier.LowerBytes) {
		n.qkFloats = lower.Skinny().QK
	}
	n.takeKeys(k, kernels)
	n.takeValues(v, kernels)
	return n
}

func (n *narrow) takeKeys(k *view.Tensor, kernels *ukernel.SkinnyKernels) {
	if k.DType() == view.Float32 {
		take(&n.scoresAnywhere, kernels.QKRows != nil, floatScoresAnywhere)
		return
	}
	least := ukernel.SkinnyGroup
	if n.qk != nil {
		least = tier.NarrowLeast
	}
	if !takesColumns(k, least) || k.Dim(3)%tier.NarrowStep != 0 {
		return
	}
	switch {
	case n.qkBytes != nil:
		n.scoresInPlace, n.scoresAnywhere = byteScores, byteScores
	case takesPacked(k) && kernels.QKRowsInt4 != nil:
		n.scoresInPlace, n.scoresAnywhere = int4Scores, int4Scores
	case k.DType().IsScaled():
		take(&n.scoresInPlace, kernels.QKInt8 != nil, int8Scores)
		take(&n.scoresAnywhere, kernels.QKRowsInt8 != nil && k.DType() == view.Int8, int8ScoresAnywhere)
	default:
		take(&n.scoresInPlace, n.qk != nil, halfScores)
		take(&n.scoresAnywhere, n.qkRows != nil, halfScoresAnywhere)
	}
}

func (n *narrow) takeValues(v *view.Tensor, kernels *ukernel.SkinnyKernels) {
	if v.DType() == view.Float32 {
		take(&n.valuesAnywhere, kernels.PVRows != nil, floatValuesAnywhere)
		return
	}
	if !takesColumns(v, tier.NarrowLeast) {
		return
	}
	switch whole := v.Dim(3) == wholeGroups(v.Dim(3)); {
	case n.pvBytes != nil && takesColumns(v, ukernel.SkinnyGroup):
		n.valuesInPlace, n.valuesAnywhere = byteValues, byteValues
	case takesPacked(v) && kernels.PVRowsInt4 != nil:
		n.valuesInPlace, n.valuesAnywhere = int4Values, int4Values
	case v.DType().IsScaled():
		take(&n.valuesInPlace, kernels.PVInt8 != nil, int8Values)
		take(&n.valuesAnywhere, kernels.PVRowsInt8 != nil && v.DType() == view.Int8 && whole, int8ValuesAnywhere)
	default:
		take(&n.valuesInPlace, n.pv != nil, halfValues)
		take(&n.valuesAnywhere, n.pvRows != nil && whole, halfValuesAnywhere)
	}
}

// take sets a way to what there is if the tier has kernels for it.
func take[F any](way *F, has bool, there F) {
	if has {
		*way = there
	}
}

// Types of 16 bits, and of 8 bits with an exponent.
var (
	halfTypes = [2]view.DType{view.Float16, view.BFloat16}
	byteTypes = [2]view.DType{ukernel.Float8E4M3, ukernel.Float8E5M2}
)

// kernelOf returns the kernel for one of two types, or nil if t is another one.
func kernelOf[F any](types [2]view.DType, t view.DType, first, second F) (kernel F) {
	switch t {
	case types[0]:
		return first
	case types[1]:
		return second
	}
	return kernel
}

// takesPacked tells whether kernels for int4 take rows of x.
func takesPacked(x *view.Tensor) bool {
	return x.DType() == view.Int4 && x.Dim(3) >= ukernel.PackedColumns && (x.Group()%ukernel.PackedColumns == 0 || x.Group() == x.Dim(3))
}

// takesColumns tells whether rows of x have columns that skinny kernels widen: at least so many,
// and whole groups that share a scale, or all that do.
func takesColumns(x *view.Tensor, least int) bool {
	return x.Dim(3) >= least && (x.Scales() == nil || x.Group()%ukernel.SkinnyGroup == 0 || x.Group() == x.Dim(3))
}

// maxContinued is the most columns of rows that are copied for WholeHalves: a call of kernels takes
// all rows of a copy.
const maxContinued = 256

// takesHalves tells whether kernels for products in bfloat16 and few rows take rows of x as values.
func takesHalves(x *view.Tensor) bool {
	d := x.Dim(3)
	return d == kvrows.WholeColumns(x) || ukernel.SkinnyColumns <= d && d <= maxContinued
}

func noScores(*tile, []float32, int, int, []float32) int       { return 0 }
func noValues(*tile, []float32, int, int, []float32, bool) int { return 0 }

func halfScores(t *tile, s []float32, lo, n int, top []float32) int {
	k, stride, n, next, far := t.keys().Halves(t.Head, lo, n)
	if n < ukernel.SkinnyKeys {
		return 0
	}
	t.job.plan.narrow.qk(s, k, stride, t.q, t.N, n, t.job.d(), top, next, far)
	return n
}

func halfValues(t *tile, o []float32, lo, n int, p []float32, load bool) int {
	dv := t.job.dv()
	v, stride, n, next, far := t.values().Halves(t.Head, lo, n)
	t.job.plan.narrow.pv(o, dv, v, stride, p, t.Lanes, t.N, n, wholeGroups(dv), load, next, far)
	t.lastValues(o, lo, n, p, load)
	return n
}

// wholeGroups are the columns that kernels for values of narrow types take: lastValues takes the
// others, if there are any.
func wholeGroups(dv int) int { return dv &^ (tier.NarrowStep - 1) }

// lastValues computes the columns after whole groups. A group at the end of the rows is widened.
func (t *tile) lastValues(o []float32, lo, n int, p []float32, load bool) {
	const group = ukernel.SkinnyGroup
	dv := t.job.dv()
	if left := dv % tier.NarrowStep; left > 0 {
		v := t.values().LastColumns(t.Head, lo, n, group)
		t.job.tier.Skinny().PV(o[dv-left:], dv, v[group-left:], group, p, t.Lanes, t.N, n, left, load, v, 0)
	}
}

func int8Scores(t *tile, s []float32, lo, n int, top []float32) int {
	x := &t.job.Call.K
	if t.keys().Run(t.Head, lo, n) < ukernel.SkinnyKeys {
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
	scales, lsc := t.values().Scales(t.Head, lo, n)
	t.job.tier.Skinny().PVInt8(ukernel.PVInt8Args{O: o, Ldo: dv, V: v, Ldv: stride, Scales: scales, Lsc: lsc, Group: x.Group(), P: p, Ldp: t.Lanes, N: t.N, M: n, Dv: wholeGroups(dv), Load: load, Next: next, Far: far})
	t.lastValues(o, lo, n, p, load)
	return n
}
