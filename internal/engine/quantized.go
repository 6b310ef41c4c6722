package engine

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// Quantized calls take keys and values as the integers that they are. Queries, and weights times the
// scales of their values, are rounded to 11 and 12 bits, as multiples of a power of two. So a product of the
// contract's segments is exact in float32, in any order:
//
//	64 columns · 2^11 · 2^7 = 32 keys · 2^12 · 2^7 = 2^24
//
// Kernels for integers take int8: ukernel.SkinnyKernels.QKCodes in skinny tiles, ukernel.LaneKernels.CodeScores in
// others. 4 bits become int8 before. A call of such a kernel takes a piece of the columns, see pieceOf. Where there is no
// such kernel, tiles compute the products by those for float32, on integers as float32, which gives the same bits.

// fitsCodes tells whether kernels for integers take the keys and values.
func (j *Job) fitsCodes() bool {
	k, v, kernels := &j.Call.K, &j.Call.V, j.tier.Skinny()
	return kernels.QKCodes != nil && kernels.Pairs != nil && kernels.PVCodes != nil && hasCodes(k) && hasCodes(v) &&
		(k.Group() <= ukernel.CodesColumns || k.Group() == j.d()) && max(j.d(), j.dv()) <= MaxSkinnyWidth
}

// hasCodes tells whether x has integers in groups of columns that such kernels take.
func hasCodes(x *view.Tensor) bool {
	return (x.DType() == view.Int8 || x.DType() == view.Int4) && x.Group()%ukernel.SkinnyGroup == 0
}

// pieceOf returns the number of columns of the piece that begins with column at. Columns that share a scale
// are a group. Its first two segments are one piece: the sum of both rounds once, either way. Each other segment is one.
func pieceOf(group, at int) int {
	if in := at % group; in > 0 {
		return min(group-in, ukernel.ColumnSegment)
	}
	return min(group, ukernel.CodesColumns)
}

// codesOfQueries returns the number of integers of a tile's queries.
func (j *Job) codesOfQueries(lanes int) int {
	if !j.plan.shape.codes {
		return 0
	}
	return ints.CeilDiv(lanes, codeLanes) * codeLanes * j.d()
}

// codeLanes are the lanes in a group of a quantized query panel, codeStep the columns in a step of it.
const codeLanes, codeStep = 4, 16

// fitQuantized makes room for quantized calls.
func (s *scratch) fitQuantized(j *Job) {
	m, lanes := &s.memory, j.plan.lanes
	parallel.Fit(m, &s.roundedUsage, &s.rounded, BlockKeys*lanes, rows.Aligned)
	if j.plan.shape.codes { // also if only some batch rows have few queries
		parallel.Fit(m, &s.pairsUsage, &s.pairs, contract.ValueSegment/2*lanes, parallel.Make[int32])
		parallel.Fit(m, &s.values.codesUsage, &s.values.codes, contract.ValueSegment*max(j.d(), j.dv()), parallel.Make[int8])
		s.keyPairs.fit(m, j.d())
		s.valuePairs.fit(m, j.dv())
	}
}

// takesPairs tells whether t computes with integers, if it is not skinny.
func (t *tile) takesPairs() bool {
	return t.job.plan.shape.codes && t.kern.CodeScores != nil && !t.exact
}

// roundQueries rounds the packed panel.
func (t *tile) roundQueries() {
	d, lanes := t.job.d(), t.kern.Lanes
	if !t.skinny && t.takesPairs() {
		t.job.tier.Skinny().Pairs(t.pairs, t.q, lanes, d, ones[:1], 0, contract.QueryBits, t.unit)
		return
	}
	t.kern.Round(t.q, t.q, lanes, d, ones[:1], 0, contract.QueryBits, t.unit)
	if !t.skinny {
		return
	}
	for lane := range t.codeLanes() {
		t.codesOfLane(lane, min(lane, t.n-1))
	}
}

// codesOfLane writes the integers of a lane of a skinny tile, which are those of row from, and its unit.
func (t *tile) codesOfLane(lane, from int) {
	d, lanes, all, group := t.job.d(), t.kern.Lanes, t.codeLanes(), t.job.Call.K.Group()
	t.unit[lane] = t.unit[from]
	inverse := float32(0)
	if u := t.unit[lane]; u > 0 {
		inverse = 1 / u // exact
	}
	for at, w := 0, 0; at < d; at += w {
		w = pieceOf(group, at)
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

// codeLanes returns the lanes of a skinny tile's integers: its rows, and others up to a whole group.
func (t *tile) codeLanes() int { return ints.CeilDiv(t.n, codeLanes) * codeLanes }
