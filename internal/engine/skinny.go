package engine

import (
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// The steps of few rows, as in decoding, where reading K and V takes the time: most lanes of a tile
// would be idle, so the lanes hold keys and columns of V instead. Skinny kernels widen keys and values of narrow types in registers, which is faster than
// widening them to scratch memory, even to L1. Where the tier has no kernel for a type, or the rows
// do not fit it, their reader widens them.

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
				t.job.tier.Skinny().QK(s, k, stride, t.q, t.N, n, d, top, next, far)
			}
		}
		part.Lo += n
	}
}

// softmax computes the first 4 lanes alone of at most 4 rows; the rest of the weights and sums is garbage.
func skinnySoftmax(t *tile, n int, max, sum []float32) {
	if t.N > ukernel.SkinnyLanes {
		panelSoftmax(t, n, max, sum)
		return
	}
	t.job.tier.Skinny().Softmax(t.block.scores, t.Lanes, n, max[:ukernel.SkinnyLanes], sum[:ukernel.SkinnyLanes])
}

// values takes the first block of few keys in one call on V as it lies in memory: such a call feels
// every instruction.
func skinnyValues(t *tile) {
	j, keys := t.job, t.block.keys
	if n, v := keys.Len(), &j.Call.V; n < ukernel.SkinnyKeys && !t.started && v.DType() == view.Float32 && !v.IsPaged() && ukernel.IsOneCall(j.dv(), t.N) {
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

// room returns memory for the output of a block: that of the tile if it is the first one.
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

func skinnyProduct(t *tile, v []float32, ld, n int) {
	dv := t.job.dv()
	t.job.tier.Skinny().PV(t.o, dv, v, ld, t.block.scores, t.Lanes, t.N, n, dv, false, v, 0)
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
	for e, n := 0, 0; e < dv; e += n {
		n = ukernel.ColumnsPerCall(dv-e, t.Lanes)
		nan |= t.job.tier.Skinny().Unpack(dst[e:], off, t.o[e:], dv, t.N, n, sum)
	}
	return nan
}
