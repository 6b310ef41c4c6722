package engine

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/mask"
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
// others. 4 bits become int8 before. A call of such a kernel takes a piece of the columns, see pieceOf. Without
// them, tiles compute the products by those for float32, on integers as float32, which gives the same bits.

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
// are a group. Its first two segments are one piece, as they round as their sum does, the others one each.
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

// pairRows holds rows of integers of one tensor and KV head in pairs, see ukernel.Converters.PairColumns and
// PairRows, up to a block of them, piece by piece. All tiles of a KV head share them.
type pairRows struct {
	memory []int32
	usage  parallel.Usage
	head   kvHead
	cached mask.Span // the tile coordinates of the rows in memory
}

func (p *pairRows) fit(m *parallel.Memory, d int) {
	parallel.Fit(m, &p.usage, &p.memory, BlockKeys/2*d, parallel.Make[int32])
}

// forget empties the cache.
func (p *pairRows) forget() { p.cached = mask.Span{} }

// of returns the pairs of w columns, from at on, of rows from lo on.
func (p *pairRows) of(at, w, lo int) []int32 { return p.memory[(at*BlockKeys+(lo-p.cached.Lo)*w)/2:] }

// widen makes p have the pairs of rows of x, which pair makes. For pairs of rows keys.Lo is even.
func (t *tile) widen(p *pairRows, x *view.Tensor, keys mask.Span, pair func(dst []int32, src []int8, lds, n, d int)) {
	const seg = contract.ValueSegment
	d, group := x.Dim(3), x.Group()
	if t.head != p.head || keys.Lo < p.cached.Lo || keys.Lo > p.cached.Hi || keys.Hi-p.cached.Lo > BlockKeys {
		p.head, p.cached = t.head, mask.Span{Lo: keys.Lo, Hi: keys.Lo}
	}
	lo := p.cached.Hi
	if lo >= keys.Hi {
		return
	}
	if lo > p.cached.Lo {
		lo &^= 1 // the last row may lack its second
	}
	for n := 0; lo < keys.Hi; lo += n {
		n = min(keys.Hi-lo, seg-lo%seg)
		src, stride, _ := t.segmentRows(x, lo-t.phase, n)
		for at, w := 0, 0; at < d; at += w {
			w = pieceOf(group, at)
			pair(p.of(at, w, lo), src[at:], stride, n, w)
		}
	}
	p.cached.Hi = keys.Hi
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
	all, group := t.codeLanes(), t.job.Call.K.Group()
	for lane := range all {
		from := min(lane, t.n-1)
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
}

// codeLanes returns the lanes of a skinny tile's integers: its rows, and others up to a whole group.
func (t *tile) codeLanes() int { return ints.CeilDiv(t.n, codeLanes) * codeLanes }

// quantizedProducts is products for integers.
func (t *tile) quantizedProducts(part mask.Span, top []float32) {
	if top == nil {
		top = t.ignored()
	}
	for part.Lo < part.Hi {
		n := ukernel.RowsPerCall(part.Len(), t.kern.Lanes*t.job.d())
		switch s := t.scoresFrom(part); {
		case t.skinny:
			n = t.codeProducts(part.Lo, n, s, top)
		case t.takesPairs():
			n = t.pairProducts(part.Lo, n, s, top)
		default:
			n = t.codesAsFloats(part.Lo, n, s, top)
		}
		part.Lo += n
	}
}

// codeProducts computes the scores s of up to n keys from tile coordinate lo on, and returns their number.
func (t *tile) codeProducts(lo, n int, s, top []float32) int {
	x, tier, lane := &t.job.Call.K, t.job.tier, t.codeLanes()
	var k, next []int8
	stride := x.Stride(2)
	if x.DType() == view.Int4 {
		k, n = t.unpackInt4(&t.scratch.keys, x, lo-t.phase, n)
		stride, next = x.Dim(3), k
	} else {
		k, n, next, _ = withHints(tier, x, t.head, lo-t.phase, min(n, t.keysOfPieces()), x.I8())
	}
	t.eachPiece(lo, n, s, top, func(s []float32, at, w int, scales []float32, lsc int, top []float32) {
		tier.Skinny().QKCodes(ukernel.QKCodesArgs{S: s, K: k[at:], Ldk: stride, Scales: scales, Lsc: lsc, Q: t.codes[at*lane:], Unit: t.unit, N: t.n, M: n, D: w, Max: top, Next: next[min(at, len(next)):]})
	})
	return n
}

// pairProducts is codeProducts for tiles.
func (t *tile) pairProducts(lo, n int, s, top []float32) int {
	x, pairs, lanes := &t.job.Call.K, &t.scratch.keyPairs, t.kern.Lanes
	n = x.Run(lo-t.phase, min(n, t.keysOfPieces()))
	t.widen(pairs, x, mask.Span{Lo: lo, Hi: lo + n}, t.job.tier.Convert().PairColumns)
	t.eachPiece(lo, n, s, top, func(s []float32, at, w int, scales []float32, lsc int, top []float32) {
		t.kern.CodeScores(ukernel.CodeScoresArgs{S: s, K: pairs.of(at, w, lo), Scales: scales, Lsc: lsc, Q: t.pairs[at/2*lanes:], Unit: t.unit, M: n, D: w, Max: top})
	})
	return n
}

// pieceKeys are the keys whose pieces are added up while their sums are in L1.
const pieceKeys = 64

// keysOfPieces returns the most keys for eachPiece: all those of a block if one piece has all columns.
func (t *tile) keysOfPieces() int {
	if pieceOf(t.job.Call.K.Group(), 0) == t.job.d() {
		return BlockKeys
	}
	return pieceKeys
}

// eachPiece computes the scores s of n keys from tile coordinate lo on, by calls of product for each piece of w columns from
// column at on. It adds them up in the order of the contract:
//
//	A = piece 0·1, then fma(piece, 1, A);  s = A·scale of group 0, then fma(A, scale of a group, s)
//
// Groups after the first are one piece each. A group of more is the only one. Products that are to be added wait in
// the memory of rounded weights.
func (t *tile) eachPiece(lo, n int, s, top []float32, product func(s []float32, at, w int, scales []float32, lsc int, top []float32)) {
	x, lanes, d := &t.job.Call.K, t.kern.Lanes, t.job.d()
	scales, lsc := x.RowScales(t.head.batch, t.head.head, lo-t.phase, n)
	group, ignored := x.Group(), t.ignored()
	w := pieceOf(group, 0)
	if w == d {
		product(s, 0, d, scales, lsc, top)
		return
	}
	rest := t.scratch.rounded
	for at := 0; at < d; at += w {
		w = pieceOf(group, at)
		switch {
		case at == 0 && w == group:
			product(s, 0, w, scales, lsc, ignored)
		case at == 0:
			product(s, 0, w, ones[:1], 0, ignored)
		case at%group > 0:
			product(rest, at, w, ones[:1], 0, ignored)
			t.kern.ScaleRows(s, lanes, rest, lanes, n, ones[:1], 0, true, ignored)
		default:
			max := ignored
			if at+w == d {
				max = top
			}
			product(rest, at, w, ones[:1], 0, ignored)
			t.kern.ScaleRows(s, lanes, rest, lanes, n, scales[at/group:], lsc, true, max)
		}
	}
	if group > ukernel.CodesColumns {
		t.kern.ScaleRows(s, lanes, s, lanes, n, scales, lsc, false, top)
	}
}

// codesAsFloats is codeProducts on integers as float32, with any groups of columns that share a scale. The
// products of later groups wait in the memory of rounded weights.
func (t *tile) codesAsFloats(lo, n int, s, top []float32) int {
	j, x, lanes := t.job, &t.job.Call.K, t.kern.Lanes
	n = x.Run(lo-t.phase, n)
	k, stride, _ := t.scratch.keys.get(j.tier, x, t.head, lo-t.phase, n)
	scales, lsc := x.RowScales(t.head.batch, t.head.head, lo-t.phase, n)
	group, d := x.Group(), j.d()
	for at := 0; at < d; at += group {
		a, max := s, t.ignored()
		if at > 0 {
			a = t.scratch.rounded[:n*lanes]
		}
		if at+group == d {
			max = top
		}
		t.kern.Gemm(a, lanes, k[at:], stride, 1, t.q[at*lanes:], lanes, n, group, ukernel.ColumnSegment, false)
		t.kern.ScaleRows(s, lanes, a, lanes, n, scales[at/group:], lsc, at > 0, max)
	}
	return n
}

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

// segmentRows returns the rows of a segment as int8, their distance and those that are needed soon. Rows on several
// pages are gathered, and 4 bits unpacked.
func (t *tile) segmentRows(x *view.Tensor, lo, n int) (v []int8, stride int, next []int8) {
	if x.DType() == view.Int8 && x.Run(lo, n) == n {
		v, _, next, _ = withHints(t.job.tier, x, t.head, lo, n, x.I8())
		return v, x.Stride(2), next
	}
	d := x.Dim(3)
	v = t.scratch.values.codes[:n*d]
	for at, run := 0, 0; at < n; at += run {
		run = x.Run(lo+at, n-at)
		t.codesOf(v[at*d:], x, lo+at, run)
	}
	return v, d, v
}

// codesOf writes n rows of x, from row lo on, to dst as int8. They lie on one page.
func (t *tile) codesOf(dst []int8, x *view.Tensor, lo, n int) {
	d, bytes := x.Dim(3), x.DType().Bytes
	at := x.Index(t.head.batch, t.head.head, lo)
	if x.DType() == view.Int8 {
		rows.Copy(dst, d, x.I8()[at:], x.Stride(2), n, d)
		return
	}
	end := at + (n-1)*x.Stride(2) + d // no change of page tables or starts during a call leads assembly beyond
	t.job.tier.Convert().UnpackInt4(dst, d, x.Bytes()[bytes(at):bytes(end)], bytes(x.Stride(2)), n, d)
}
