package backward

import (
	"math"

	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// doTask is the first phase.
func (j *Job) doTask(s *scratch, i int) {
	x, group := j.place(i)
	first, end := group*j.plan.headsPerTask, min(x+j.plan.segmentsPerTask, j.plan.segments)
	for kv := first; kv < min(first+j.plan.headsPerTask, j.kvHeads()); kv++ {
		for lo := x; lo < end; lo += j.plan.sideBySide {
			if !j.doSegments(s.segments[:min(j.plan.sideBySide, end-lo)], kv, lo) {
				return
			}
		}
	}
}

// doSegments computes dQ of segments of KV head kv, from number x on, and adds what they give to dK
// and dV. It reports whether the call goes on.
func (j *Job) doSegments(all []segment, kv, x int) bool {
	seen := mask.Nothing
	for i := range all {
		seen = seen.Union(all[i].begin(j, kv, x+i))
	}
	for lo := seen.Lo; lo < seen.Hi; lo += KeyBlock {
		for i := range all {
			all[i].sumUp(j, lo)
		}
	}
	for i := range all {
		all[i].normalise(j)
	}
	for lo := seen.Lo; lo < seen.Hi; lo += KeyBlock {
		for i := range all {
			if !all[i].addBlock(j, lo) {
				return false
			}
		}
	}
	for i := range all {
		if !all[i].finish(j) {
			return false
		}
	}
	return true
}

// begin makes segment x of KV head kv the current one. It returns the blocks of keys that it sees.
func (s *segment) begin(j *Job, kv, x int) mask.Span {
	s.kv, s.number, s.set, s.hasDQ = kv, x, 0, false
	s.seen, s.isKept, s.at = mask.Nothing, true, 0
	if s.hasRows = s.place(j, kv, x); s.hasRows {
		clear(s.sum[:])
		clear(s.dot[:])
		s.load(j)
		s.loadRows(j)
		s.seen = s.blocks()
		s.isKept = s.seen.Lo >= s.seen.Hi || s.seen.Len() <= keptKeys
	}
	return s.seen
}

// finish writes dQ. The first segment clears dK and dV of all keys that are not set, and the last
// one finishes them if there is one thread. It reports whether the call goes on.
func (s *segment) finish(j *Job) bool {
	s.q = matrix{} // the caller's memory
	if s.hasRows && j.Call.DQ.IsSet() {
		if !s.hasDQ {
			clear(s.dq[:s.N*rowLength(j.d())])
		}
		j.finishQueries(s, s.kv)
	}
	if s.number == 0 {
		s.clearTo(j, math.MaxInt)
	}
	if s.number == j.plan.segments-1 && j.turns.isAlone {
		j.finishHead(s, s.kv)
	}
	return j.turns.pass(s.kv, s.number, allBlocks)
}

// clearTo clears dK and dV of the keys below end that are not set.
func (s *segment) clearTo(j *Job, end int) {
	b, _ := j.batchAndHead(s.kv)
	if end = min(end, j.Call.Forward.K.Length(b)); s.set < end {
		j.clearKeys(s.kv, s.set, end)
		s.set = end
	}
}

// place makes segment x of KV head kv the current tile and reports whether it has rows.
func (s *segment) place(j *Job, kv, x int) bool {
	b, _ := j.batchAndHead(kv)
	row, n := j.segment(b, x)
	if n <= 0 {
		return false
	}
	s.Begin(kv, row, n)
	return true
}

// blocks returns the blocks of keys that the segment sees, or Nothing.
func (s *segment) blocks() mask.Span {
	v := s.Visible()
	if v.Len() == 0 {
		return mask.Nothing
	}
	return mask.Span{Lo: v.Lo &^ (KeyBlock - 1), Hi: v.Hi}
}

// seenOf returns the keys of the block from lo on that the segment sees.
func (s *segment) seenOf(lo int) mask.Span {
	if lo < s.seen.Lo || lo >= s.seen.Hi {
		return mask.Span{}
	}
	return s.VisibleOf(lo, KeyBlock)
}

// load fills in what scores and weights need of the segment: dO, dOᵀ, and LSE in the unit
// of exp2.
func (s *segment) load(j *Job) {
	s.loadDOut(j)
	lse, off := s.Floats(&j.Call.Forward.LSE)
	for lane, at := range off {
		s.lse[lane] = float32(lse[at] * scalar.Log2E)
	}
}

// loadDOut copies the rows of dO, as they count, and transposes them. Numbers below
// scalar.LeastGradient count as +0, as smaller weights do: on some CPUs their products, which may
// be subnormal, take 100 times as long as others.
func (s *segment) loadDOut(j *Job) {
	d, ld, n := j.dv(), rowLength(j.dv()), s.N
	data, off := s.Floats(&j.Call.DOut)
	if lds := off[n-1] - off[0]; n == 1 || isEven(off[:n], lds/(n-1)) {
		rows.FlushBelow(j.tier, s.dOutRows, ld, data[off[0]:], lds/max(n-1, 1), n, d, scalar.LeastGradient)
	} else {
		for lane, at := range off[:n] {
			rows.FlushBelow(j.tier, s.dOutRows[lane*ld:], ld, data[at:], d, 1, d, scalar.LeastGradient)
		}
	}
	for lane := range s.Lanes {
		s.off[lane] = min(lane, n-1) * ld
	}
	s.PackRows(s.dOutT, s.dOutRows, s.off[:s.Lanes], d, 1)
}

// loadRows finds the rows of Q.
func (s *segment) loadRows(j *Job) {
	if j.Call.DK.IsSet() {
		s.q = s.rowsOf(&j.Call.Forward.Q, s.qRows)
	}
}

// A matrix has rows that lie ld apart. Those that go into a product have whole steps of columns.
type matrix struct {
	data []float32
	ld   int
}

// rowsOf returns the segment's rows of x: where they lie, if a product can read them there, or
// copied to room.
func (s *segment) rowsOf(x *view.Tensor, room []float32) matrix {
	d, n := x.Dim(3), s.N
	data, off := s.Floats(x)
	if ld := x.Stride(2); x.DType() == view.Float32 && d%columnStep == 0 && isSpread(ld) && isEven(off[:n], ld) {
		return matrix{data[off[0]:], ld}
	}
	for lane, at := range off[:n] {
		copy(room[lane*rowLength(d):][:d], data[at:])
	}
	return matrix{room, rowLength(d)}
}

// isEven reports whether rows lie ld apart.
func isEven(off []int, ld int) bool {
	for i, at := range off[1:] {
		if at-off[i] != ld {
			return false
		}
	}
	return true
}

// isSpread reports whether steps of rows that lie ld apart are whole lines of a cache, of which
// RowSegment fill at most half of any set, if there are 64 sets of 8 lines.
func isSpread(ld int) bool { return ld%columnStep == 0 && ld%(8*columnStep) != 0 }

// sumUp is the first pass of one block: the sums of weights, and of their products with their
// gradients. Both are kept for the second pass, from index s.at on, if there is room for all
// blocks.
func (s *segment) sumUp(j *Job, lo int) {
	if keys := s.seenOf(lo); keys.Len() > 0 {
		s.computeWeights(j, keys, s.at)
		if s.isKept {
			s.at += keys.Len() * s.Lanes
		}
	}
}

// computeWeights computes the weights of keys, not yet normalised, and their gradients, from index
// at on. It adds to sum and dot.
func (s *segment) computeWeights(j *Job, keys mask.Span, at int) {
	lanes, n := s.Lanes, keys.Len()
	p, dp := s.weights[at:at+n*lanes], s.grads[at:at+n*lanes]
	var capped []float32
	if j.plan.shape.isCap {
		capped = s.capped[at : at+n*lanes]
	}
	s.Score(keys, p, capped)
	v, ldv := s.Values(s.Key(keys.Lo), n)
	for r, m := 0, 0; r < n; r += m { // GemmMax prefetches, and nobody needs the maxima
		m = ukernel.RowsPerCall(n-r, lanes*j.dv())
		s.Kernels().GemmMax(dp[r*lanes:], lanes, v[min(r*ldv, len(v)):], ldv, 1, s.dOutT, lanes, m, j.dv(), ukernel.ColumnSegment, s.tops[:lanes])
	}
	if j.Call.Forward.Dropout.Rate != 0 {
		s.Drop(keys, dp)
	}
	sum, dot := s.sum[:lanes], s.dot[:lanes]
	for x, m := 0, 0; x < n; x += m {
		m = min(n-x, SumKeys-(keys.Lo+x)%SumKeys)
		lo, hi := x*lanes, (x+m)*lanes
		j.tier.Gradients(lanes).BackwardWeights(p[lo:hi], dp[lo:hi], lanes, m, s.lse[:lanes], s.chainSum[:lanes], s.chainDot[:lanes])
		j.tier.Elementwise().Add(sum, sum, s.chainSum[:lanes])
		j.tier.Elementwise().Add(dot, dot, s.chainDot[:lanes])
	}
}

// normalise ends the first pass: it sets inv and mean, and keeps them for the job.
func (s *segment) normalise(j *Job) {
	s.at = 0
	if !s.hasRows {
		return
	}
	if sinks := j.Call.Forward.Sinks; sinks != nil {
		s.EachLane(func(lane, head, _ int) { s.sum[lane] += sinkWeight(sinks[head], s.lse[lane]) })
	}
	norms := j.norms[s.kv*j.plan.maxRows+s.First:][:s.N]
	for lane, sum := range s.sum[:s.Lanes] {
		inv := float32(0)
		if sum != 0 {
			inv = 1 / sum
		}
		s.inv[lane], s.mean[lane] = inv, s.dot[lane]*inv
		if lane < len(norms) {
			norms[lane] = norm{inv, s.mean[lane]}
		}
	}
}

// addBlock is the second pass of one block: it adds to all gradients, and lets the next segment add
// to the gradients of the block's keys. It reports whether the call goes on.
func (s *segment) addBlock(j *Job, lo int) bool {
	block := int64(lo / KeyBlock)
	if !s.hasRows {
		return true
	}
	if keys := s.seenOf(lo); keys.Len() > 0 {
		if !s.isKept {
			s.computeWeights(j, keys, 0)
		}
		if !s.addKeys(j, keys, s.at, block) {
			return false
		}
		if s.isKept {
			s.at += keys.Len() * s.Lanes
		}
	}
	if s.number == 0 { // those after it may add to all keys of the block
		s.clearTo(j, s.Key(lo+KeyBlock))
	}
	return j.turns.pass(s.kv, s.number, block+1)
}

// addKeys adds what keys of a block give to all gradients. Their weights, and the gradients of
// these, begin at index at.
func (s *segment) addKeys(j *Job, keys mask.Span, at int, block int64) bool {
	key, n, d, lanes := s.Key(keys.Lo), keys.Len(), j.d(), s.Lanes
	p, ds := s.normalised(j, at, n)
	if j.Call.DBias.IsSet() {
		if !j.turns.await(s.kv, s.number, block) {
			return false
		}
		s.addBias(j, key, n, ds)
	}
	s.differentiate(j, keys, at)
	if j.Call.DQ.IsSet() {
		k, ldk := s.keyRows(j, key, n)
		j.tier.Product(s.dq, rowLength(d), ds, 1, lanes, k, ldk, s.N, wholeSteps(d), n, KeyBlock, s.hasDQ)
		s.hasDQ = true
	}
	if !j.turns.await(s.kv, s.number, block) {
		return false
	}
	isFirst := s.number == 0
	if isFirst {
		s.clearTo(j, key)
		s.set = key + n
	}
	if j.Call.DV.IsSet() {
		s.addProduct(j, &j.sums.dV, key, n, p, matrix{s.dOutRows, rowLength(j.dv())}, !isFirst)
	}
	if j.Call.DK.IsSet() {
		s.addProduct(j, &j.sums.dK, key, n, ds, s.q, !isFirst)
	}
	return true
}

// normalised normalises the weights of n keys from index at on, and turns their gradients into
// gradients of the scores.
func (s *segment) normalised(j *Job, at, n int) (p, ds []float32) {
	lanes := s.Lanes
	p, ds = s.weights[at:at+n*lanes], s.grads[at:at+n*lanes]
	j.tier.Gradients(lanes).BackwardScores(p, ds, lanes, n, s.inv[:lanes], s.mean[:lanes])
	return p, ds
}

// differentiate goes on to the gradients of the products of queries and keys, and to the
// weights that multiply values.
func (s *segment) differentiate(j *Job, keys mask.Span, at int) {
	n, lanes := keys.Len(), s.Lanes
	end := at + n*lanes
	if j.plan.shape.isCap {
		j.tier.Gradients(lanes).BackwardSoftcap(s.grads[at:end], s.capped[at:end], lanes, n, lanes, s.CapFactor())
	}
	if j.Call.Forward.Dropout.Rate != 0 {
		s.Drop(keys, s.weights[at:end])
	}
}

// keyRows returns n keys from number lo on as rows of whole steps of columns.
func (s *segment) keyRows(j *Job, lo, n int) (data []float32, ld int) {
	data, ld = s.Keys(lo, n)
	d := j.d()
	if d%columnStep == 0 {
		return data, ld
	}
	for r := range n {
		copy(s.kRows[r*rowLength(d):][:d], data[r*ld:])
	}
	return s.kRows, rowLength(d)
}

// addProduct adds the product of weights [n][lanes] with the segment's rows to n rows of out, the
// sums of dK or dV, from row key on. Without add it sets them to the product, which differs from
// adding it to zeros in the sign of a zero alone, and that does not reach the result.
func (s *segment) addProduct(j *Job, out *view.Tensor, key, n int, weights []float32, rows matrix, add bool) {
	batch, head := s.Head.Batch, s.Head.Head
	d, lanes := out.Dim(3), s.Lanes
	ld, dst, stride := rowLength(d), out.F32()[out.Index(batch, head, key):], out.Stride(2)
	if d%columnStep == 0 {
		j.tier.Product(dst, stride, weights, lanes, 1, rows.data, rows.ld, n, d, s.N, RowSegment, add)
		return
	}
	if !add {
		for r := range n {
			clear(dst[r*stride:][:d])
		}
	}
	j.tier.Product(s.part, ld, weights, lanes, 1, rows.data, rows.ld, n, wholeSteps(d), s.N, RowSegment, false)
	for r, m := 0, 0; r < n; r += m {
		m = min(n-r, len(ones))
		for e, c := 0, 0; e < d; e += c {
			c = ukernel.ColumnsPerCall(d-e, m)
			j.tier.Skinny().Merge(dst[r*stride+e:], stride, s.part[r*ld+e:], ld, m, c, ones[:m], ones[:m])
		}
	}
}

var ones = rows.Ones(ukernel.MaxLanes)
