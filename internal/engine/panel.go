package engine

import (
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/ukernel"
)

// The steps of tiles with a query row per lane: S = K·Q̂ᵀ and Oᵀ = Vᵀ·P by Gemm. Keys,
// values and queries of other types than float32 are widened before they are used.

func packPanel(t *tile) {
	data, off := t.Floats(&t.job.Call.Q)
	if d := t.job.d(); ukernel.IsOneCall(d, t.Lanes) { // small calls feel a loop
		t.kern.Pack(t.q, t.Lanes, data, off, t.N, d, t.job.derived.scale)
	} else {
		t.PackRows(t.q, data, off, d, t.job.derived.scale)
	}
}

func panelScores(t *tile, part mask.Span, top []float32) {
	w, d := t.Lanes, t.job.d()
	for part.Lo < part.Hi {
		s := t.scoresFrom(part)
		k, rs, n := t.keys().Floats(t.Head, t.Key(part.Lo), ukernel.RowsPerCall(part.Len(), w*d))
		if top == nil {
			t.kern.Gemm(s, w, k, rs, 1, t.q, w, n, d, ukernel.ColumnSegment, false)
		} else {
			t.kern.GemmMax(s, w, k, rs, 1, t.q, w, n, d, ukernel.ColumnSegment, top)
		}
		part.Lo += n
	}
}

func panelSoftmax(t *tile, n int, max, sum []float32) {
	t.kern.Softmax(t.block.scores, t.Lanes, n, max, sum)
}

func panelValues(t *tile) {
	b, w, dv := &t.block, t.Lanes, t.job.dv()
	n := b.keys.Len()
	v, cs, _ := t.values().Floats(t.Head, t.Key(b.keys.Lo), n)
	for e := 0; e < dv; {
		m := valuesPerCall(dv-e, w, n)
		if t.started {
			t.kern.GemmMerge(t.o[e*w:], w, v[e:], 1, cs, b.scores, w, m, n, b.alpha, b.beta)
		} else {
			t.kern.Gemm(t.o[e*w:], w, v[e:], 1, cs, b.scores, w, m, n, n, false)
		}
		e += m
	}
}

// valuesPerCall returns how many of dv columns of n values a product of w lanes takes in
// one call.
func valuesPerCall(dv, w, n int) int {
	return min(ukernel.RowsPerCall(dv, w*n), ukernel.ColumnsPerCall(dv, w))
}

func panelMerge(t *tile, part []float32) {
	w, b := t.Lanes, &t.block
	for e := range t.job.dv() {
		t.kern.GemmMerge(t.o[e*w:], w, ones[:1], 1, 1, part[e*w:], w, 1, 1, b.alpha, b.beta)
	}
}

func panelMergeNone(t *tile) {
	w, b := t.Lanes, &t.block
	for e, n := 0, 0; e < t.job.dv(); e += n { // k = 0: o = +0·beta + o·alpha
		n = ukernel.ColumnsPerCall(t.job.dv()-e, w)
		t.kern.GemmMerge(t.o[e*w:], w, nil, 1, 1, nil, w, n, 0, b.alpha, b.beta)
	}
}

func panelLoad(t *tile, src []float32, off []int) { t.PackRows(t.o, src, off, t.job.dv(), 1) }

func panelUnpack(t *tile, dst []float32, off []int, sum []float32) (nan uint64) {
	for e, n := 0, 0; e < t.job.dv(); e += n {
		n = ukernel.ColumnsPerCall(t.job.dv()-e, t.Lanes)
		nan |= t.kern.Unpack(dst[e:], off, t.o[e*t.Lanes:], t.Lanes, t.N, n, sum)
	}
	return nan
}
