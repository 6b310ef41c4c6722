package backward

import (
	"math"

	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

var log2E = math.Float32frombits(0x3FB8AA3B)

// doTask is the first phase.
func (j *Job) doTask(s *scratch, i int) {
	x, group := j.place(i)
	first := group * j.headsPerTask
	for kv := first; kv < min(first+j.headsPerTask, j.kvHeads()); kv++ {
		for seg := x; seg < min(x+j.segmentsPerTask, j.segments); seg++ {
			if !j.doSegment(s, kv, seg) {
				return
			}
		}
	}
}

// doSegment computes dQ of segment x of KV head kv, and adds what it gives to dK and dV. The first
// segment sets them, and the last one finishes them if there is one thread. It reports whether the
// call goes on.
func (j *Job) doSegment(s *scratch, kv, x int) bool {
	s.set = 0
	if s.beginSegment(j, kv, x) && !j.doRows(s, kv, x) {
		return false
	}
	if x == 0 {
		s.clearTo(j, kv, math.MaxInt)
	}
	if x == j.segments-1 && j.turns.isAlone {
		j.finishHead(s, kv)
	}
	return j.turns.pass(kv, x, allBlocks)
}

// doRows is doSegment for a segment that has rows, the current tile.
func (j *Job) doRows(s *scratch, kv, x int) bool {
	s.load(j)
	s.loadRows(j)
	kept := s.sumUp(j)
	s.normalise(j, kv)
	s.hasDQ = false
	at := 0
	for lo, hi := s.blocks(); lo < hi; lo += KeyBlock {
		if !s.addBlock(j, kv, x, lo, at, kept) {
			return false
		}
		if kept {
			at += s.Current().Len() * s.Kernels().Lanes
		}
	}
	s.q, s.dOut = matrix{}, matrix{} // the caller's memory
	if j.DQ.IsSet() {
		if !s.hasDQ {
			clear(s.dq[:s.Rows()*rowLength(j.d())])
		}
		j.finishQueries(s, kv)
	}
	return true
}

// clearTo clears dK and dV of the keys of KV head kv below end that are not set.
func (s *scratch) clearTo(j *Job, kv, end int) {
	b, _ := j.batchAndHead(kv)
	if end = min(end, j.Forward.K.Length(b)); s.set < end {
		j.clearKeys(kv, s.set, end)
		s.set = end
	}
}

// beginSegment makes segment x of KV head kv the current tile and reports whether it has
// rows.
func (s *scratch) beginSegment(j *Job, kv, x int) bool {
	b, _ := j.batchAndHead(kv)
	row, n := j.segment(b, x)
	if n <= 0 {
		return false
	}
	s.Begin(kv, row, n)
	return true
}

// blocks returns the blocks of keys that the segment sees: from lo to below hi.
func (s *scratch) blocks() (lo, hi int) {
	v := s.Visible()
	if v.Len() == 0 {
		return 0, 0
	}
	return v.Lo &^ (KeyBlock - 1), v.Hi
}

// load fills in what scores and weights need of the segment: dOᵀ, and LSE in the unit of exp2.
func (s *scratch) load(j *Job) {
	s.Pack(s.dOutT, &j.DOut)
	lse, off := s.Floats(&j.Forward.LSE)
	for lane, at := range off {
		s.lse[lane] = float32(lse[at] * log2E)
	}
}

// loadRows finds the rows of Q and dO.
func (s *scratch) loadRows(j *Job) {
	if j.DV.IsSet() {
		s.dOut = s.rowsOf(&j.DOut, s.dOutRows)
	}
	if j.DK.IsSet() {
		s.q = s.rowsOf(&j.Forward.Q, s.qRows)
	}
}

// A matrix has rows of whole pieces of columns, ld apart.
type matrix struct {
	data []float32
	ld   int
}

// rowsOf returns the segment's rows of x: where they lie, if a product can read them there, or
// copied to room.
func (s *scratch) rowsOf(x *view.Tensor, room []float32) matrix {
	d, n := x.Dim(3), s.Rows()
	data, off := s.Floats(x)
	if ld := x.Stride(2); x.DType() == view.Float32 && d%piece == 0 && isSpread(ld) && isEven(off[:n], ld) {
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

// isSpread reports whether pieces of rows that lie ld apart are whole lines of a cache, of which
// RowSegment fill at most half of any set, if there are 64 sets of 8 lines.
func isSpread(ld int) bool { return ld%piece == 0 && ld%(8*piece) != 0 }

// sumUp is the first pass: the sums of weights, and of their products with their gradients. It
// reports whether both are kept for the second pass.
func (s *scratch) sumUp(j *Job) (kept bool) {
	lanes := s.Kernels().Lanes
	clear(s.sum[:lanes])
	clear(s.dot[:lanes])
	lo, hi := s.blocks()
	kept = hi-lo <= keptKeys
	for at := 0; lo < hi; lo += KeyBlock {
		n := s.Enter(lo, KeyBlock).Len()
		if n == 0 {
			continue
		}
		s.computeWeights(j, at)
		if kept {
			at += n * lanes
		}
	}
	return kept
}

// computeWeights computes the weights of the current keys, not yet normalised, and their
// gradients, from index at on. It adds to sum and dot.
func (s *scratch) computeWeights(j *Job, at int) {
	keys := s.Current()
	lanes, n := s.Kernels().Lanes, keys.Len()
	p, dp := s.weights[at:at+n*lanes], s.grads[at:at+n*lanes]
	var capped []float32
	if j.shape.isCap {
		capped = s.capped[at : at+n*lanes]
	}
	s.Score(p, capped)
	v, ldv := s.Values(s.Key(keys.Lo), n)
	for r, m := 0, 0; r < n; r += m { // GemmMax prefetches, and nobody needs the maxima
		m = ukernel.RowsPerCall(n-r, lanes*j.dv())
		s.Kernels().GemmMax(dp[r*lanes:], lanes, v[min(r*ldv, len(v)):], ldv, 1, s.dOutT, lanes, m, j.dv(), ukernel.ColumnSegment, s.tops[:lanes])
	}
	if j.Forward.Dropout.Rate != 0 {
		s.Drop(dp)
	}
	sum, dot := s.sum[:lanes], s.dot[:lanes]
	for x, m := 0, 0; x < n; x += m {
		m = min(n-x, SumKeys-(keys.Lo+x)%SumKeys)
		lo, hi := x*lanes, (x+m)*lanes
		s.Kernels().BackwardWeights(p[lo:hi], dp[lo:hi], lanes, m, s.lse[:lanes], s.chainSum[:lanes], s.chainDot[:lanes])
		j.tier.Norms.Add(sum, sum, s.chainSum[:lanes])
		j.tier.Norms.Add(dot, dot, s.chainDot[:lanes])
	}
}

// normalise sets inv and mean, and keeps them for the job.
func (s *scratch) normalise(j *Job, kv int) {
	if sinks := j.Forward.Sinks; sinks != nil {
		s.EachLane(func(lane, head, _ int) { s.sum[lane] += sinkWeight(sinks[head], s.lse[lane]) })
	}
	norms := j.norms[kv*j.maxRows+s.Row():][:s.Rows()]
	for lane, sum := range s.sum[:s.Kernels().Lanes] {
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

// addBlock is the second pass of one block: it adds to all gradients. at is where weights and
// their gradients are kept, or 0 if they are not.
func (s *scratch) addBlock(j *Job, kv, x, lo, at int, kept bool) bool {
	keys := s.Enter(lo, KeyBlock)
	n, d, block := keys.Len(), j.d(), int64(lo/KeyBlock)
	if n == 0 {
		return true
	}
	if !kept {
		s.computeWeights(j, at)
	}
	key, lanes := s.Key(keys.Lo), s.Kernels().Lanes
	p, ds := s.normalised(j, at, n)
	if j.DBias.IsSet() {
		if !j.turns.await(kv, x, block) {
			return false
		}
		s.addBias(j, key, n, ds)
	}
	s.differentiate(j, at, n)
	if j.DQ.IsSet() {
		k, ldk := s.keyRows(j, key, n)
		j.tier.Product(s.dq, rowLength(d), ds, 1, lanes, k, ldk, s.Rows(), pieces(d), n, KeyBlock, s.hasDQ)
		s.hasDQ = true
	}
	if !j.turns.await(kv, x, block) {
		return false
	}
	if x == 0 { // those after it may add to all keys of the block
		s.clearTo(j, kv, key)
		s.set = key + n
		s.clearTo(j, kv, s.Key(lo+KeyBlock))
	}
	if j.DV.IsSet() {
		s.addProduct(j, &j.DV, key, n, p, s.dOut, x > 0)
	}
	if j.DK.IsSet() {
		s.addProduct(j, &j.DK, key, n, ds, s.q, x > 0)
	}
	return j.turns.pass(kv, x, block+1)
}

// normalised normalises the weights of n keys from index at on, and turns their gradients into
// those of the scores.
func (s *scratch) normalised(j *Job, at, n int) (p, ds []float32) {
	lanes := s.Kernels().Lanes
	p, ds = s.weights[at:at+n*lanes], s.grads[at:at+n*lanes]
	s.Kernels().BackwardScores(p, ds, lanes, n, s.inv[:lanes], s.mean[:lanes])
	return p, ds
}

// differentiate goes on to the gradients of the products of queries and keys, and to the
// weights that multiply values.
func (s *scratch) differentiate(j *Job, at, n int) {
	lanes := s.Kernels().Lanes
	end := at + n*lanes
	if j.shape.isCap {
		s.Kernels().BackwardSoftcap(s.grads[at:end], s.capped[at:end], lanes, n, lanes, s.CapFactor())
	}
	if j.Forward.Dropout.Rate != 0 {
		s.Drop(s.weights[at:end])
	}
}

// keyRows returns n keys from number lo on as rows of whole pieces of columns.
func (s *scratch) keyRows(j *Job, lo, n int) (data []float32, ld int) {
	data, ld = s.Keys(lo, n)
	d := j.d()
	if d%piece == 0 {
		return data, ld
	}
	for r := range n {
		copy(s.kRows[r*rowLength(d):][:d], data[r*ld:])
	}
	return s.kRows, rowLength(d)
}

// addProduct adds the product of weights [n][lanes] with the segment's rows to n rows of out, dK
// or dV, from row key on. Without add it sets them to the product, which differs from adding it to
// zeros in the sign of a zero alone, and that does not reach the result.
func (s *scratch) addProduct(j *Job, out *view.Tensor, key, n int, weights []float32, rows matrix, add bool) {
	batch, head := s.KVHead()
	d, lanes := out.Dim(3), s.Kernels().Lanes
	ld, dst, stride := rowLength(d), out.F32()[out.Index(batch, head, key):], out.Stride(2)
	if d%piece == 0 {
		j.tier.Product(dst, stride, weights, lanes, 1, rows.data, rows.ld, n, d, s.Rows(), RowSegment, add)
		return
	}
	if !add {
		for r := range n {
			clear(dst[r*stride:][:d])
		}
	}
	j.tier.Product(s.part, ld, weights, lanes, 1, rows.data, rows.ld, n, pieces(d), s.Rows(), RowSegment, false)
	for r, m := 0, 0; r < n; r += m {
		m = min(n-r, len(ones))
		for e, c := 0, 0; e < d; e += c {
			c = ukernel.ColumnsPerCall(d-e, m)
			j.tier.Skinny.Merge(dst[r*stride+e:], stride, s.part[r*ld+e:], ld, m, c, ones[:m], ones[:m])
		}
	}
}

var ones = func() (s [ukernel.MaxLanes]float32) {
	for i := range s {
		s[i] = 1
	}
	return s
}()
