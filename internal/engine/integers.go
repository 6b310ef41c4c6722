package engine

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/engine/kvrows"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/ukernel"
)

// Quantized calls take keys and values as the integers that they are. Queries, and
// weights times the scales of their values, are rounded to 11 and 12 bits, as multiples
// of a power of two. So a product of the contract's segments is exact in float32, in any
// order:
//
//	64 columns · 2^11 · 2^7 = 32 keys · 2^12 · 2^7 = 2^24
//
// Kernels for integers take int8; 4 bits become int8 before, unless there are kernels of few rows
// for them. A call of such a kernel takes a strip of the columns, see kvrows.Columns.

// The steps of tiles with a query row per lane, whose kernels are LaneKernels.CodeScores
// and CodeValues. Keys and values lie in pairs of 16 bits, which all tiles of a KV head
// share.

// fitIntegers makes room for quantized calls.
func (s *scratch) fitIntegers(j *Job) {
	m, lanes := &s.memory, j.plan.lanes
	columns := BlockKeys
	if _, dv := j.codeColumns(); dv > j.dv() { // see skinnyIntegersValues
		columns = max(columns, dv)
	}
	parallel.Fit(m, &s.roundedUsage, &s.rounded, columns*lanes, rows.Aligned)
	if j.plan.shape.unit {
		parallel.Fit(m, &s.wordsUsage, &s.words, BlockKeys*lanes, parallel.Make[uint32])
	}
	if j.plan.shape.codes { // also if only some batch rows have few queries
		parallel.Fit(m, &s.pairsUsage, &s.pairs, contract.ValueSegment/2*max(lanes, ukernel.MaxLanes), parallel.Make[int32])
	}
}

// codeColumns returns the columns of integers that kernels take of a key and of a value.
func (j *Job) codeColumns() (d, dv int) {
	d, _ = kvrows.CodeColumns(&j.Call.K)
	dv, _ = kvrows.CodeColumns(&j.Call.V)
	return d, dv
}

// roomColumns returns for how many columns of values outputs of tiles have room.
func (j *Job) roomColumns() int {
	if !j.plan.shape.codes {
		return j.dv()
	}
	_, dv := j.codeColumns()
	return dv
}

// packPairs makes the columns zeros that keys do not have.
func packPairs(t *tile) {
	packPanel(t)
	d, _ := t.job.codeColumns()
	t.job.tier.Skinny().Pairs(t.pairs, t.q, t.Lanes, t.job.d(), ones[:1], 0, contract.QueryBits, t.unit)
	clear(t.pairs[ints.CeilDiv(t.job.d(), 2)*t.Lanes : d/2*t.Lanes])
}

func integersScores(t *tile, part mask.Span, top []float32) {
	w, d := t.Lanes, t.job.d()
	for n := 0; part.Lo < part.Hi; part.Lo += n {
		lo := t.Key(part.Lo)
		n = t.keys().Run(t.Head, lo, min(ukernel.RowsPerCall(part.Len(), w*d), t.keysOfStrips()))
		t.keys().Pair(t.Head, mask.Span{Lo: lo, Hi: lo + n}, t.phase, t.job.tier.Convert().PairColumns)
		scales, lsc := t.keys().Scales(t.Head, lo, n)
		t.eachStrip(part.Lo, n, scales, lsc, top, func(s []float32, at, columns int, scales []float32, lsc int, top []float32) {
			t.kern.CodeScores(ukernel.CodeScoresArgs{S: s, K: t.keys().PairOf(at, columns, lo), Scales: scales, Lsc: lsc, Q: t.pairs[at/2*w:], Unit: t.unit, M: n, D: columns, Max: top})
		})
	}
}

// integersValues takes the values as float32 if a pair of keys would begin before the block, or if
// there is no kernel for them.
func integersValues(t *tile) {
	if t.block.keys.Lo%2 != 0 || !t.job.plan.shape.codes || t.kern.CodeValues == nil {
		asFloatsValues(t)
		return
	}
	j, s, w, keys := t.job, t.scratch, t.Lanes, t.block.keys
	dv, group := kvrows.CodeColumns(&j.Call.V)
	o, units := t.room(), s.units[:w]
	t.values().Pair(t.Head, mask.Span{Lo: t.Key(keys.Lo), Hi: t.Key(keys.Hi)}, t.phase, j.tier.Convert().PairRows)
	for part := range segments(keys) {
		n := part.Len()
		for at, columns := 0, 0; at < dv; at += columns {
			columns = kvrows.Columns(group, at)
			if at%group == 0 {
				scales, lsc := t.valueScales(part, at/group)
				j.tier.Skinny().Pairs(s.pairs, t.scoresFrom(part), w, n, scales, lsc, contract.WeightBits, units)
			}
			v := t.values().PairOf(at, columns, t.Key(part.Lo))
			t.kern.CodeValues(ukernel.CodeValuesArgs{O: o[at*w:], V: v, P: s.pairs, Unit: units, Pairs: ints.CeilDiv(n, 2), Dv: columns, Load: part.Lo > keys.Lo})
		}
	}
	t.mergeBlock(o)
}

func integersMerge(t *tile, part []float32) {
	t.kern.CodeMerge(t.o, part, t.job.dv(), t.block.alpha, t.block.beta)
}

// segments yields each of the contract's segments of keys.
func segments(keys mask.Span) func(yield func(mask.Span) bool) {
	return func(yield func(mask.Span) bool) {
		for keys.Lo < keys.Hi {
			hi := min(keys.Hi, (keys.Lo+contract.ValueSegment)&^(contract.ValueSegment-1))
			if !yield(mask.Span{Lo: keys.Lo, Hi: hi}) {
				return
			}
			keys.Lo = hi
		}
	}
}

// valueScales returns the scales of a group of columns of the values of at most a segment
// of keys, and their distance.
func (t *tile) valueScales(keys mask.Span, group int) (scales []float32, stride int) {
	return t.values().GroupScales(t.Head, t.Key(keys.Lo), keys.Len(), group, t.scratch.valueScales[:])
}

// stripKeys are the keys whose strips are added up while their sums are in L1. There is room for
// twice as many in tiles of up to narrowLanes.
const stripKeys, narrowLanes = 64, 16

// keysOfStrips returns the most keys for eachStrip: a whole block if one strip has all columns.
func (t *tile) keysOfStrips() int {
	if d, group := kvrows.CodeColumns(&t.job.Call.K); kvrows.Columns(group, 0) == d {
		return BlockKeys
	}
	if t.Lanes <= narrowLanes {
		return 2 * stripKeys
	}
	return stripKeys
}

// eachStrip computes the scores of n keys from tile coordinate lo on, by calls of product
// for each strip of w columns from column at on. It adds them up in the order of the
// contract, with the scales t of a key's groups:
//
//	strips are groups      s = strip 0·t[0], then s = fma(strip g, t[g], s)
//	strips of one group    A = strip 0, then A = fma(strip, 1, A);  s = A·t[0]
//
// Products that are to be added wait in the memory of rounded weights. A nil top leaves
// the maxima to what follows.
func (t *tile) eachStrip(lo, n int, scales []float32, lsc int, top []float32, product func(s []float32, at, w int, scales []float32, lsc int, top []float32)) {
	lanes := t.Lanes
	d, group := kvrows.CodeColumns(&t.job.Call.K)
	s, rest := t.scoresFrom(mask.Span{Lo: lo}), t.scratch.rounded
	ignored := t.ignored()
	if top == nil {
		top = ignored
	}
	w := kvrows.Columns(group, 0)
	if w == d {
		product(s, 0, d, scales, lsc, top)
		return
	}
	groups := w == group // strips are groups
	for at := 0; at < d; at += w {
		w = kvrows.Columns(group, at)
		by, step, raised := ones[:1], 0, ignored
		if groups {
			by, step = scales[at/group:], lsc
		}
		if at == 0 {
			product(s, 0, w, by, step, ignored)
			continue
		}
		if groups && at+w == d {
			raised = top
		}
		product(rest, at, w, ones[:1], 0, ignored)
		t.kern.ScaleRows(s, lanes, rest, lanes, n, by, step, true, raised)
	}
	if !groups {
		t.kern.ScaleRows(s, lanes, s, lanes, n, scales, lsc, false, top)
	}
}

// The steps of quantized calls where the tier has no kernels for integers, or these do
// not take the groups of columns: the products by those for float32, on integers as
// float32, which gives the same bits. Products of later groups of columns wait in the
// memory of rounded weights.

func packRounded(t *tile) {
	packPanel(t)
	t.kern.Round(t.q, t.q, t.Lanes, t.job.d(), ones[:1], 0, contract.QueryBits, t.unit)
}

func asFloatsScores(t *tile, part mask.Span, top []float32) {
	x, w, d := &t.job.Call.K, t.Lanes, t.job.d()
	group := x.Group()
	for n := 0; part.Lo < part.Hi; part.Lo += n {
		s, lo := t.scoresFrom(part), t.Key(part.Lo)
		n = t.keys().Run(t.Head, lo, ukernel.RowsPerCall(part.Len(), w*d))
		k, stride, _ := t.keys().Floats(t.Head, lo, n)
		scales, lsc := t.keys().Scales(t.Head, lo, n)
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

// roundedValues is asFloatsValues with the scales of a group of columns of a segment of
// keys.
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

// productOfRounded writes to o the products of the rounded weights and the group of
// columns of V that begins with at.
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

// The steps of quantized calls with few rows, whose kernels are SkinnyKernels.QKCodes and
// PVCodes.

// keys4 tells whether QKCodes4 takes the keys, and values4 whether PVCodes4 takes the values.
func (j *Job) keys4() bool { return j.tier.Skinny().QKCodes4 != nil && kvrows.Takes4(&j.Call.K) }

func (j *Job) values4() bool { return j.tier.Skinny().PVCodes4 != nil && kvrows.Takes4(&j.Call.V) }

// shiftOf returns by how many bits a column is shifted to be a place of a row.
func shiftOf(as4 bool) int {
	if as4 {
		return 1
	}
	return 0
}

// What packCodes exchanges of every eight columns, one exchange after the other.
var (
	exchanges  = [][2]int{{1, 2}, {5, 6}}
	exchanges4 = [][2]int{{1, 4}, {2, 4}, {3, 5}, {5, 6}} // for 0 4 1 5 2 6 3 7
)

// packCodes makes the pairs that SkinnyKernels.QKCodes takes, or QKCodes4: it exchanges columns
// first. For one query, QKCodes takes columns in order, and the pairs are moved side by side.
func packCodes(t *tile) {
	packPanel(t)
	d, _ := t.job.codeColumns()
	w, q, as4 := t.Lanes, t.q[:d*t.Lanes], t.job.keys4()
	clear(q[t.job.d()*w:])
	order, single := exchanges, t.N == 1 && !as4
	if as4 {
		order = exchanges4
	}
	for x := 0; x < len(q) && !single; x += 8 * w {
		for _, c := range order {
			a, b := q[x+c[0]*w:][:t.N], q[x+c[1]*w:][:t.N]
			for i := range a {
				a[i], b[i] = b[i], a[i]
			}
		}
	}
	t.job.tier.Skinny().Pairs(t.pairs, q, w, d, ones[:1], 0, contract.QueryBits, t.unit)
	for x := 0; x < d/2 && single; x++ {
		t.pairs[x] = t.pairs[x*w]
	}
}

func skinnyIntegersScores(t *tile, part mask.Span, top []float32) {
	lanes, kernel, as4 := t.Lanes, t.job.tier.Skinny().QKCodes, t.job.keys4() // lanes of pairs
	if as4 {
		kernel = t.job.tier.Skinny().QKCodes4
	} else if t.N == 1 {
		lanes = 1
	}
	d, group := kvrows.CodeColumns(&t.job.Call.K)
	for n := 0; part.Lo < part.Hi; part.Lo += n {
		most := ukernel.RowsPerCall(part.Len(), t.Lanes*t.job.d())
		if group > ukernel.CodesColumns {
			most = min(most, stripKeys)
		}
		lo := t.Key(part.Lo)
		k, off, next := t.keys().Codes(t.Head, lo, most, min(most, ukernel.SkinnyKeys), t.seenFrom(part), as4)
		n = len(off)
		isShort, lsc := n < ukernel.SkinnyKeys, max(n, ukernel.SkinnyKeys)
		if isShort {
			off = t.scratch.repeat(off)
			next = off
		}
		product := func(s []float32, at, w, group int, scales []float32, top []float32) {
			from, to := at>>shiftOf(as4), s
			if isShort {
				to = t.scratch.rounded[lsc*t.Lanes:][:lsc*t.Lanes] // eachStrip takes as many before them
			}
			kernel(ukernel.QKCodesArgs{S: to, K: k[from:], Off: off, Scales: scales, Lsc: lsc, Group: group, Q: t.pairs[at/2*lanes:], Unit: t.unit, N: t.N, D: w, Max: top, Next: next})
			if isShort {
				copy(s, to[:n*t.Lanes])
			}
		}
		if group <= ukernel.CodesColumns {
			scales := t.keys().AnyKeyScales
			if isShort {
				scales = t.keys().RepeatedKeyScales
			}
			product(t.scoresFrom(part), 0, d, group, scales(t.Head, lo, n), t.orIgnored(top))
			continue
		}
		t.eachStrip(part.Lo, n, t.keys().AnyKeyScales(t.Head, lo, n), 1, top, func(s []float32, at, w int, _ []float32, _ int, top []float32) { product(s, at, w, w, ones[:lsc], top) })
	}
}

// repeat returns offsets of rows, and then of the last of them again, up to as many as kernels
// take.
func (s *scratch) repeat(off []int) []int {
	for i := range s.repeated {
		s.repeated[i] = off[min(i, len(off)-1)]
	}
	return s.repeated[:]
}

func skinnyIntegersValues(t *tile) {
	s, lanes, kernels, as4 := t.scratch, t.Lanes, t.job.tier.Skinny(), t.job.values4()
	product := kernels.PVCodes
	if as4 {
		product = kernels.PVCodes4
	}
	o, units, ldo, keys := t.room(), s.units[:], t.job.dv(), t.block.keys
	to := o
	dv, group := kvrows.CodeColumns(&t.job.Call.V)
	if dv > ldo {
		to = s.rounded
	}
	var (
		v         []int8
		off, next []int
		lo        int // the first of the rows off
	)
	all, lsc := t.values().AnyScales(t.Head, t.Key(keys.Lo), keys.Len())
	for part := range segments(keys) {
		n := part.Len()
		if part.Hi > lo+len(off) {
			lo = part.Lo
			v, off, next = t.values().Codes(t.Head, t.Key(lo), keys.Hi-lo, n, t.seenFrom(part), as4)
		}
		at := part.Lo - lo
		rows, soon, scales := off[at:][:n], next[at:][:n], all[(part.Lo-keys.Lo)*lsc:]
		lpg := ints.CeilDiv(n, 2) * lanes
		for at, columns := 0, 0; at < dv; at += columns {
			columns = min(dv-at, len(s.units)/lanes*group)
			ldp := t.pairsOfWeights(part, scales[at/group:], lsc, columns/group, lpg)
			product(ukernel.PVCodesArgs{O: to[at:], Ldo: dv, V: v[at>>shiftOf(as4):], Off: rows, Pairs: s.pairs, Ldp: ldp, Lpg: lpg, Unit: units, Group: group, N: t.N, Dv: columns, Load: part.Lo > keys.Lo, Next: soon})
		}
	}
	for lane := 0; dv > ldo && lane < t.N; lane++ {
		copy(o[lane*ldo:][:ldo], to[lane*dv:])
	}
	t.mergeBlock(o)
}

// pairsOfWeights makes pairs of the weights of a segment of keys with scales of the values, of some
// groups of columns, lpg apart, and their units. It returns the distance of pairs.
func (t *tile) pairsOfWeights(part mask.Span, scales []float32, lsc, groups, lpg int) (ldp int) {
	s, lanes, kernels, n := t.scratch, t.Lanes, t.job.tier.Skinny(), part.Len()
	if groups%2 == 0 && t.N <= ukernel.GroupLanes && kernels.GroupPairs != nil {
		kernels.GroupPairs(s.pairs, lpg, t.scoresFrom(part), lanes, n, scales, lsc, contract.WeightBits, s.units[:groups*ukernel.GroupLanes])
		return ukernel.GroupLanes
	}
	for g := range groups {
		kernels.Pairs(s.pairs[g*lpg:], t.scoresFrom(part), lanes, n, scales[g:], lsc, contract.WeightBits, s.units[g*lanes:][:lanes])
	}
	return lanes
}
