package engine

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/ukernel"
)

// The steps of quantized calls where the tier has no kernels for integers, or these do not take the groups of columns:
// the products by those for float32, on integers as float32, which gives the same bits. Products of later groups of
// columns wait in the memory of rounded weights.

func packRounded(t *tile) {
	packPanel(t)
	t.kern.Round(t.q, t.q, t.Lanes, t.job.d(), ones[:1], 0, contract.QueryBits, t.unit)
}

func asFloatsScores(t *tile, part mask.Span, top []float32) {
	x, w, d := &t.job.Call.K, t.Lanes, t.job.d()
	group := x.Group()
	for n := 0; part.Lo < part.Hi; part.Lo += n {
		s, lo := t.scoresFrom(part), t.Key(part.Lo)
		n = x.Run(lo, ukernel.RowsPerCall(part.Len(), w*d))
		k, stride, _ := t.keys().Floats(t.Head, lo, n)
		scales, lsc := x.RowScales(t.Head.Batch, t.Head.Head, lo, n)
		for at := 0; at < d; at += group {
			a, max := s, t.ignored()
			if at > 0 {
				a = t.scratch.rounded[:n*w]
			}
			if at+group == d && top != nil {
				max = top
			}
			t.kern.Gemm(a, w, k[at:], stride, 1, t.q[at*w:], w, n, group, ukernel.ColumnSegment, false)
			t.kern.ScaleRows(s, w, a, w, n, scales[at/group:], lsc, at > 0, max)
		}
	}
}

func asFloatsValues(t *tile) { roundedValues(t, (*tile).valueScales) }

// roundedValues is asFloatsValues with the scales of a group of columns of a segment of keys.
func roundedValues(t *tile, scalesOf func(t *tile, keys mask.Span, group int) (scales []float32, stride int)) {
	o, w, group := t.room(), t.Lanes, t.job.Call.V.Group()
	for at := 0; at < t.job.dv(); at += group {
		for part := range segments(t.block.keys) {
			scales, lsc := scalesOf(t, part, at/group)
			to := t.scratch.rounded[(part.Lo-t.block.keys.Lo)*w:]
			t.kern.Round(to, t.scoresFrom(part), w, part.Len(), scales, lsc, contract.WeightBits, t.scratch.units[:w])
		}
		t.productOfRounded(o, at)
	}
	t.mergeBlock(o)
}

// productOfRounded writes to o the products of the rounded weights and the group of columns of V that begins with at.
func (t *tile) productOfRounded(o []float32, at int) {
	const seg = contract.ValueSegment
	w, keys, group, rounded := t.Lanes, t.block.keys, t.job.Call.V.Group(), t.scratch.rounded
	n := keys.Len()
	v, stride, _ := t.values().Floats(t.Head, t.Key(keys.Lo), n)
	first := min(n, seg-keys.Lo%seg)
	for e, end := at, at+group; e < end; {
		m := valuesPerCall(end-e, w, n)
		t.kern.Gemm(o[e*w:], w, v[e:], 1, stride, rounded, w, m, first, seg, false)
		if first < n {
			t.kern.Gemm(o[e*w:], w, v[first*stride+e:], 1, stride, rounded[first*w:], w, m, n-first, seg, true)
		}
		e += m
	}
}
