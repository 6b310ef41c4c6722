package engine

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/ukernel"
)

// quantizedPV is tilePV, or skinnyPV, for integers. An exact tile gives the runs of keys that its row sees,
// others nil.
func (t *tile) quantizedPV(runs []mask.Span) {
	o := t.o
	if t.started {
		o = t.scratch.partial
	}
	if t.skinny {
		t.codesPV(o)
		if t.started {
			t.mergeRows(o, t.job.dv())
		}
		return
	}
	if t.takesPairs() && t.block.keys.Lo%2 == 0 {
		t.pairsPV(o)
		if t.started {
			t.kern.CodeMerge(t.o, o, t.job.dv(), t.alpha, t.beta)
		}
		return
	}
	for at := 0; at < t.job.dv(); at += t.job.Call.V.Group() {
		t.roundWeights(at/t.job.Call.V.Group(), runs)
		t.floatsPV(o, at)
	}
	if t.started {
		t.mergeColumns(o)
	}
}

// eachSegment calls f with each of the contract's segments of keys of the current block.
func (t *tile) eachSegment(f func(keys mask.Span)) {
	for keys := t.block.keys; keys.Lo < keys.Hi; {
		hi := min(keys.Hi, (keys.Lo+contract.ValueSegment)&^(contract.ValueSegment-1))
		f(mask.Span{Lo: keys.Lo, Hi: hi})
		keys.Lo = hi
	}
}

// roundWeights sets the scratch's rounded weights to those of a group of columns. In an exact tile, keys outside of
// the runs, of which there may be none, do not count, whatever their scales.
func (t *tile) roundWeights(group int, runs []mask.Span) {
	lanes := t.kern.Lanes
	t.eachSegment(func(keys mask.Span) {
		scales, lsc := t.scalesOf(keys, group)
		if t.exact {
			scales, lsc = t.visibleScales(keys, runs, scales, lsc), 1
		}
		to := t.scratch.rounded[(keys.Lo-t.block.keys.Lo)*lanes:]
		t.kern.Round(to, t.scoresFrom(keys), lanes, keys.Len(), scales, lsc, contract.WeightBits, t.scratch.units[:lanes])
	})
}

// scalesOf returns the scales of a group of columns of the values of at most a segment of keys, and their
// distance.
func (t *tile) scalesOf(keys mask.Span, group int) (scales []float32, stride int) {
	x, lo, n := &t.job.Call.V, keys.Lo-t.phase, keys.Len()
	if x.Run(lo, n) == n {
		scales, stride = x.RowScales(t.head.batch, t.head.head, lo, n)
		return scales[group:], stride
	}
	scales = t.scratch.valueScales[:n]
	for i := range scales {
		of, _ := x.RowScales(t.head.batch, t.head.head, lo+i, 1)
		scales[i] = of[group]
	}
	return scales, 1
}

// visibleScales replaces by 0 the scales of keys that are in none of the runs, which count from the block's
// first key.
func (t *tile) visibleScales(keys mask.Span, runs []mask.Span, scales []float32, stride int) []float32 {
	var of [contract.ValueSegment]float32
	for _, r := range runs {
		seen := mask.Span{Lo: r.Lo + t.block.keys.Lo, Hi: r.Hi + t.block.keys.Lo}.And(keys)
		for i := seen.Lo; i < seen.Hi; i++ {
			of[i-keys.Lo] = scales[(i-keys.Lo)*stride]
		}
	}
	return t.scratch.valueScales[:copy(t.scratch.valueScales[:], of[:keys.Len()])]
}

// floatsPV writes to o the products of the rounded weights and the group of columns of V that begins with
// at, on integers as float32.
func (t *tile) floatsPV(o []float32, at int) {
	const seg = contract.ValueSegment
	lanes, keys, group := t.kern.Lanes, t.block.keys, t.job.Call.V.Group()
	n := keys.Len()
	v, stride, _ := t.scratch.values.get(t.job.tier, &t.job.Call.V, t.head, keys.Lo-t.phase, n)
	first := min(n, seg-keys.Lo%seg)
	for e, end := at, at+group; e < end; {
		m := min(ukernel.RowsPerCall(end-e, lanes*n), ukernel.ColumnsPerCall(end-e, lanes))
		t.kern.Gemm(o[e*lanes:], lanes, v[e:], 1, stride, t.scratch.rounded, lanes, m, first, seg, false)
		if first < n {
			t.kern.Gemm(o[e*lanes:], lanes, v[first*stride+e:], 1, stride, t.scratch.rounded[first*lanes:], lanes, m, n-first, seg, true)
		}
		e += m
	}
}

// mergeColumns merges the output of a block, as it lies in a tile, into the running one.
func (t *tile) mergeColumns(part []float32) {
	lanes := t.kern.Lanes
	for e := range t.job.dv() {
		t.kern.GemmMerge(t.o[e*lanes:], lanes, ones[:1], 1, 1, part[e*lanes:], lanes, 1, 1, t.alpha, t.beta)
	}
}

// codesPV writes to o the products of a skinny tile's weights and the values of the current block.
func (t *tile) codesPV(o []float32) {
	j, s, lanes := t.job, t.scratch, t.kern.Lanes
	x, kernels, dv := &j.Call.V, j.tier.Skinny(), j.dv()
	units, group := s.units[:lanes], x.Group()
	load := false
	t.eachSegment(func(keys mask.Span) {
		n := keys.Len()
		v, stride, next := t.segmentRows(x, keys.Lo-t.phase, n)
		for at := 0; at < dv; at += group {
			scales, lsc := t.scalesOf(keys, at/group)
			kernels.Pairs(s.pairs, t.scoresFrom(keys), lanes, n, scales, lsc, contract.WeightBits, units)
			kernels.PVCodes(ukernel.PVCodesArgs{O: o[at:], Ldo: dv, V: v[at:], Ldv: stride, Pairs: s.pairs, Ldp: lanes, Unit: units, N: t.n, M: n, Dv: group, Load: load, Next: next[min(at, len(next)):]})
		}
		load = true
	})
}

// pairsPV is codesPV for tiles.
func (t *tile) pairsPV(o []float32) {
	j, s, lanes, dv := t.job, t.scratch, t.kern.Lanes, t.job.dv()
	first, units, pairs, group := t.block.keys.Lo, s.units[:lanes], &s.valuePairs, j.Call.V.Group()
	t.widen(pairs, &j.Call.V, t.block.keys, j.tier.Convert().PairRows)
	t.eachSegment(func(keys mask.Span) {
		n := keys.Len()
		for at, w := 0, 0; at < dv; at += w {
			w = pieceOf(group, at)
			if at%group == 0 {
				scales, lsc := t.scalesOf(keys, at/group)
				j.tier.Skinny().Pairs(s.pairs, t.scoresFrom(keys), lanes, n, scales, lsc, contract.WeightBits, units)
			}
			t.kern.CodeValues(ukernel.CodeValuesArgs{O: o[at*lanes:], V: pairs.of(at, w, keys.Lo), P: s.pairs, Unit: units, Pairs: ints.CeilDiv(n, 2), Dv: w, Load: keys.Lo > first})
		}
	})
}
