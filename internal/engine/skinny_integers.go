package engine

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/engine/kvrows"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/ukernel"
)

// The steps of quantized calls with few rows, whose kernels are SkinnyKernels.QKCodes and
// PVCodes.

// codeLanes are the lanes in a group of a quantized query panel, codeStep the columns in
// a step of it.
const codeLanes, codeStep = 4, 16

// codesOfQueries returns the number of integers of a tile's queries.
func (j *Job) codesOfQueries(lanes int) int {
	if !j.plan.shape.codes {
		return 0
	}
	return ints.CeilDiv(lanes, codeLanes) * codeLanes * j.d()
}

// codeLanes returns the lanes of the integers of a tile: its rows, and others up to a
// whole group.
func (t *tile) codeLanes() int { return ints.CeilDiv(t.N, codeLanes) * codeLanes }

func packCodes(t *tile) {
	packRounded(t)
	for lane := range t.codeLanes() {
		t.packLane(lane, min(lane, t.N-1))
	}
}

// packLane writes the integers of a lane, which are those of row from, and its unit.
func (t *tile) packLane(lane, from int) {
	d, lanes, all, group := t.job.d(), t.Lanes, t.codeLanes(), t.job.Call.K.Group()
	t.unit[lane] = t.unit[from]
	inverse := float32(0)
	if u := t.unit[lane]; u > 0 {
		inverse = 1 / u // exact
	}
	for at, w := 0, 0; at < d; at += w {
		w = kvrows.Columns(group, at)
		to := t.codes[at*all+lane/codeLanes*w*codeLanes+lane%codeLanes*codeStep:]
		for x := range w {
			code := int16(0) // also of a NaN, whose unit makes the scores NaN
			if inverse != 0 {
				code = int16(t.q[(at+x)*lanes+from] * inverse)
			}
			to[x/codeStep*codeStep*codeLanes+x%codeStep] = code
		}
	}
}

func skinnyIntegersScores(t *tile, part mask.Span, top []float32) {
	all, qk := t.codeLanes(), t.job.tier.Skinny().QKCodes
	for n := 0; part.Lo < part.Hi; part.Lo += n {
		most := min(ukernel.RowsPerCall(part.Len(), t.Lanes*t.job.d()), t.keysOfPieces())
		k, stride, got, next, _ := t.keys().Int8s(t.Head, t.Key(part.Lo), most)
		n = got
		t.eachPiece(part.Lo, n, top, func(s []float32, at, w int, scales []float32, lsc int, top []float32) {
			qk(ukernel.QKCodesArgs{S: s, K: k[at:], Ldk: stride, Scales: scales, Lsc: lsc, Q: t.codes[at*all:], Unit: t.unit, N: t.N, M: n, D: w, Max: top, Next: next[min(at, len(next)):]})
		})
	}
}

func skinnyIntegersValues(t *tile) {
	s, lanes, kernels := t.scratch, t.Lanes, t.job.tier.Skinny()
	o, units, dv, group := t.room(), s.units[:lanes], t.job.dv(), t.job.Call.V.Group()
	for part := range segments(t.block.keys) {
		n := part.Len()
		v, stride, next := t.values().Segment(t.Head, t.Key(part.Lo), n)
		for at := 0; at < dv; at += group {
			scales, lsc := t.valueScales(part, at/group)
			kernels.Pairs(s.pairs, t.scoresFrom(part), lanes, n, scales, lsc, contract.WeightBits, units)
			kernels.PVCodes(ukernel.PVCodesArgs{O: o[at:], Ldo: dv, V: v[at:], Ldv: stride, Pairs: s.pairs, Ldp: lanes, Unit: units, N: t.N, M: n, Dv: group, Load: part.Lo > t.block.keys.Lo, Next: next[min(at, len(next)):]})
		}
	}
	t.mergeBlock(o)
}
