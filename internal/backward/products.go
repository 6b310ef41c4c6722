package backward

import (
	"runtime"

	"github.com/attn-go/attn/internal/engine"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/position"
	"github.com/attn-go/attn/internal/ukernel"
)

// products is the second phase, for one range of keys: neighbouring numbers are different
// heads.
func (j *Job) products(s *scratch, i int) {
	x, group := i/j.headGroups(), i%j.headGroups()
	first := group * j.headsPerTask
	for kv := first; kv < min(first+j.headsPerTask, j.kvHeads()); kv++ {
		if !j.keyRange(s, kv, x) {
			return
		}
	}
}

// keyRange computes dK and dV of range x of KV head kv, and what these keys add to dQ. It
// reports whether the call goes on.
func (j *Job) keyRange(s *scratch, kv, x int) bool {
	b := kv / j.Forward.K.Dim(1)
	phase := position.Of(j.Forward.KeyStart, b) % engine.BlockKeys // of the first key
	lo := phase&^(KeyBlock-1) + x*j.span*KeyBlock                  // counted like Scorer.Visible
	hi := lo + j.span*KeyBlock
	first := max(lo-phase, 0)
	n := min(hi-phase, j.Forward.K.Length(b)) - first
	if n > 0 {
		clear(s.dk[:n*rowLength(j.d())])
		clear(s.dv[:n*rowLength(j.dv())])
		s.packed = mask.Span{}
	}
	for seg := range j.segments {
		if n > 0 && s.beginSegment(j, kv, seg) && s.Visible().And(mask.Span{Lo: lo, Hi: hi}).Len() > 0 {
			s.load(j, kv)
			if !s.blocks(j, kv, x, seg, lo, hi, first) {
				return false
			}
		}
		if !j.publish(kv, x, seg) {
			return false
		}
	}
	if n > 0 {
		j.finishKeys(s, kv, first, n)
	}
	return true
}

// blocks goes through the blocks of keys from lo to hi with the current segment.
func (s *scratch) blocks(j *Job, kv, x, seg, lo, hi, first int) bool {
	for ; lo < hi; lo += KeyBlock {
		keys, p := s.Score(lo, KeyBlock)
		n := keys.Len()
		if n == 0 {
			continue
		}
		key := s.Key(keys.Lo)
		ds := s.gradients(j, key, n, p, j.DBias.IsSet())
		lanes, rows, at := s.Kernels().Lanes, s.Rows(), key-first
		if j.DV.IsSet() {
			ld := rowLength(j.dv())
			j.tier.Product(s.dv[at*ld:], ld, p, lanes, 1, s.dOutRows, ld, n, columns(j.dv()), rows, RowSegment, true)
		}
		ld := rowLength(j.d())
		if j.DK.IsSet() {
			j.tier.Product(s.dk[at*ld:], ld, ds, lanes, 1, s.qRows, ld, n, columns(j.d()), rows, RowSegment, true)
		}
		if j.DQ.IsSet() {
			s.loadKeys(j, first, mask.Span{Lo: key, Hi: key + n})
			j.tier.Product(s.dq, ld, ds, 1, lanes, s.kRows[at*ld:], ld, rows, columns(j.d()), n, KeyBlock, false)
			if !j.await(kv, x, seg) {
				return false
			}
			s.addQueries(j)
		}
	}
	return true
}

// gradients turns the scores of n keys from number key on into weights, dropped ones if the
// call drops, and returns the gradients of the scores. Both are [keys][lanes]. If biased is
// true, it adds to the gradients of the biases.
func (s *scratch) gradients(j *Job, key, n int, p []float32, biased bool) []float32 {
	kern, t := s.Kernels(), &j.tier.Backward
	lanes := kern.Lanes
	dp := s.dp[:n*lanes]
	v, ldv := s.Values(key, n)
	kern.Gemm(dp, lanes, v, ldv, 1, s.dOutT, lanes, n, j.dv(), ukernel.ColumnSegment, false)
	drops := j.Forward.Dropout.Rate != 0
	if drops {
		s.Drop(dp)
	}
	t.Softmax(p, dp, lanes, n, s.lse[:lanes], s.delta[:lanes])
	if biased {
		s.addBias(j, key, n, dp)
	}
	if j.Forward.Softcap != 0 {
		capped, inv := s.Capped()
		t.Softcap(dp, capped, lanes, n, lanes, inv)
	}
	if drops {
		s.Drop(p)
	}
	return dp
}

// addQueries adds what a block gives to dQ, head by head, as the rows of a head lie at equal
// distances.
func (s *scratch) addQueries(j *Job) {
	dq, group, d, ld := &j.DQ, j.scores.Group(), j.d(), rowLength(j.d())
	for lane := range min(group, s.Rows()) {
		n := ints.CeilDiv(s.Rows()-lane, group)
		at := s.Index(dq, lane)
		for e, m := 0, 0; e < d; e += m {
			m = ukernel.ColumnsPerCall(d-e, n)
			j.tier.Skinny.Merge(dq.F32()[at+e:], dq.Stride(2), s.dq[lane*ld+e:], group*ld, n, m, ones[:n], ones[:n])
		}
	}
}

var ones = func() (s [ukernel.MaxLanes]float32) {
	for i := range s {
		s[i] = 1
	}
	return s
}()

// await waits until the keys before those of range x have been added to dQ of a segment. It
// reports false if the call has failed.
func (j *Job) await(kv, x, seg int) bool {
	if j.threads == 1 || x == 0 {
		return true
	}
	before := &j.done[kv*j.ranges+x-1]
	for int(before.Load()) <= seg {
		if j.stopped.Load() {
			return false
		}
		runtime.Gosched()
	}
	return true
}

// publish reports to the task of the next range that a segment is done.
func (j *Job) publish(kv, x, seg int) bool {
	if j.threads == 1 {
		return true
	}
	if !j.await(kv, x, seg) { // that segment's turn is the next one's only after all before it
		return false
	}
	j.done[kv*j.ranges+x].Store(int32(seg + 1))
	return true
}
