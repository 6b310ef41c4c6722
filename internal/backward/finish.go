package backward

import (
	"math/bits"

	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// clearKeys sets dK and dV of the keys of KV head kv from first to below last to zeros.
func (j *Job) clearKeys(kv, first, last int) {
	b, h := j.batchAndHead(kv)
	for _, x := range [...]*view.Tensor{&j.Call.DK, &j.Call.DV} {
		for key := first; x.IsSet() && key < last; key++ {
			clear(x.Row(b, h, key))
		}
	}
}

// finishHead does what finishKeys does for all keys of KV head kv.
func (j *Job) finishHead(s *segment, kv int) {
	for i := range j.keyTasks() {
		j.finishKeys(s, kv*j.keyTasks()+i)
	}
}

// finishKeys is the second phase: dK and dV of some keys are scaled.
func (j *Job) finishKeys(s *segment, i int) {
	kv, first, last := j.keysOf(i)
	for lo := first; lo < last; lo += RowSegment {
		n := min(last-lo, RowSegment)
		if j.Call.DK.IsSet() {
			j.exactKeys(s, kv, lo, s.scaleKeys(j, &j.Call.DK, kv, lo, n, j.scale), false)
		}
		if j.Call.DV.IsSet() {
			j.exactKeys(s, kv, lo, s.scaleKeys(j, &j.Call.DV, kv, lo, n, 1), true)
		}
	}
}

// keysOf returns the keys of task i of the second phase: those of KV head kv from first to below
// last.
func (j *Job) keysOf(i int) (kv, first, last int) {
	kv, first = i/j.keyTasks(), i%j.keyTasks()*keysPerTask
	b, _ := j.batchAndHead(kv)
	return kv, first, min(first+keysPerTask, j.Call.Forward.K.Length(b))
}

// batchAndHead returns the batch row of KV head kv, and its number there.
func (j *Job) batchAndHead(kv int) (b, h int) {
	heads := j.Call.Forward.K.Dim(1)
	return kv / heads, kv % heads
}

// exactKeys computes rows of dK or dV again: those of the set nan, from key lo on.
func (j *Job) exactKeys(s *segment, kv, lo int, nan uint64, isV bool) {
	for ; nan != 0; nan &= nan - 1 {
		j.exactKey(s, kv, lo+bits.TrailingZeros64(nan), isV)
	}
}

// finishQueries writes dQ of the current segment, head by head, as the rows of a head lie at
// equal distances.
func (j *Job) finishQueries(s *segment, kv int) {
	dq, group, row, rows, d := &j.Call.DQ, j.scores.Group(), s.Row(), s.Rows(), j.d()
	ld := rowLength(d)
	var nan uint64
	for first := range min(group, rows) {
		n := ints.CeilDiv(rows-first, group)
		at := s.Index(dq, first)
		set := s.moveRows(j, dq, at, s.dq[first*ld:], group*ld, n, j.scale)
		for ; set != 0; set &= set - 1 {
			nan |= 1 << (first + bits.TrailingZeros64(set)*group)
		}
	}
	for ; nan != 0; nan &= nan - 1 {
		j.exactQuery(s, kv, row+bits.TrailingZeros64(nan))
	}
}

// scaleKeys multiplies n rows of dK or dV, from key lo on, by scale, and adds +0. It returns the set
// of those that hold a NaN.
func (s *segment) scaleKeys(j *Job, x *view.Tensor, kv, lo, n int, scale float32) (nan uint64) {
	b, h := j.batchAndHead(kv)
	at := x.Index(b, h, lo)
	return s.moveRows(j, x, at, x.F32()[at:], x.Stride(2), n, scale)
}

// moveRows multiplies n rows of src, ld apart, by scale, adds +0 and writes them to the rows of
// x from index at on. It returns the set of those that hold a NaN. It overwrites src.
func (s *segment) moveRows(j *Job, x *view.Tensor, at int, src []float32, ld, n int, scale float32) (nan uint64) {
	skinny, d := j.tier.Skinny(), x.Dim(3)
	divisor, isQuotient := divisorFor(scale)
	for i := range n {
		s.factors[i], s.divisors[i], s.off[i] = scale, divisor, at+i*x.Stride(2)
	}
	for e, m := 0, 0; e < d; e += m {
		m = ukernel.ColumnsPerCall(d-e, n)
		if !isQuotient {
			skinny.Merge(src[e:], ld, s.zeros, 0, n, m, s.factors[:n], zeros[:n])
		}
		nan |= skinny.Unpack(x.F32()[e:], s.off[:n], src[e:], ld, n, m, s.divisors[:n])
	}
	return nan & (1<<n - 1)
}

// divisorFor returns a number of which scale is the rounded reciprocal, as for powers of two and
// most others, or 1 if that is none: Unpack multiplies by the reciprocal of what it is given.
func divisorFor(scale float32) (divisor float32, ok bool) {
	if x := 1 / scale; x != 0 && 1/x == scale {
		return x, true
	}
	return 1, false
}

var zeros [ukernel.MaxLanes]float32
