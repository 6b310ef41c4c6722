package backward

import (
	"math/bits"

	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// clearKeys sets the sums of dK and dV of the keys of KV head kv from first to below last to zeros.
func (j *Job) clearKeys(kv, first, last int) {
	b, h := j.batchAndHead(kv)
	for _, x := range [...]*view.Tensor{&j.sums.dK, &j.sums.dV} {
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

// finishKeys is the second phase: dK and dV of some keys are scaled, and added if the call
// accumulates.
func (j *Job) finishKeys(s *segment, i int) {
	kv, first, last := j.keysOf(i)
	for lo := first; lo < last; lo += RowSegment {
		n := min(last-lo, RowSegment)
		if j.Call.DK.IsSet() {
			j.exactKeys(s, kv, lo, s.scaleKeys(j, &j.sums.dK, kv, lo, n, j.scale), false)
			j.addSums(&j.Call.DK, &j.sums.dK, kv, lo, n)
		}
		if j.Call.DV.IsSet() {
			j.exactKeys(s, kv, lo, s.scaleKeys(j, &j.sums.dV, kv, lo, n, 1), true)
			j.addSums(&j.Call.DV, &j.sums.dV, kv, lo, n)
		}
	}
}

// keysOf returns the keys of task i of the second phase: of KV head kv from first to below last.
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

// exactKeys finishes rows of dK or dV that hold a NaN: the rows in the set nan, from key lo on.
func (j *Job) exactKeys(s *segment, kv, lo int, nan uint64, isV bool) {
	if nan == 0 {
		return
	}
	out, factors := &j.sums.dK, &j.Call.Forward.Q
	if isV {
		out, factors = &j.sums.dV, &j.Call.DOut
	}
	b, h := j.batchAndHead(kv)
	isExact := j.areRowsFinite(s, kv, factors)
	for ; nan != 0; nan &= nan - 1 {
		if i := lo + bits.TrailingZeros64(nan); isExact {
			scale(out.Row(b, h, i), 1)
		} else {
			j.exactKey(s, kv, i, isV)
		}
	}
}

// finishQueries writes dQ of the current segment, head by head, as the rows of a head lie at
// equal distances.
func (j *Job) finishQueries(s *segment, kv int) {
	dq, group, row, rows, d := &j.Call.DQ, j.scores.Group(), s.First, s.N, j.d()
	ld := rowLength(d)
	var nan uint64
	for first := range min(group, rows) {
		n := ints.CeilDiv(rows-first, group)
		at := s.Index(dq, first)
		to, from := matrix{dq.F32()[at:], dq.Stride(2)}, matrix{s.dq[first*ld:], group * ld}
		set := s.putRows(j, to, from, n, d, j.scale)
		for ; set != 0; set &= set - 1 {
			nan |= 1 << (first + bits.TrailingZeros64(set)*group)
		}
	}
	isExact := nan != 0 && j.areKeysFinite(s)
	for ; nan != 0; nan &= nan - 1 {
		lane := bits.TrailingZeros64(nan)
		if !isExact {
			j.exactQuery(s, kv, row+lane)
			continue
		}
		out := s.Row(dq, lane)
		from := out
		if j.Call.Accumulate {
			from = s.dq[lane*ld:][:d]
		}
		scale(from, 1)
		j.putRow(out, from)
	}
}

// scaleKeys multiplies n rows of dK or dV, from key lo on, by scale, and adds +0. It returns the
// set of those that hold a NaN.
func (s *segment) scaleKeys(j *Job, x *view.Tensor, kv, lo, n int, scale float32) (nan uint64) {
	b, h := j.batchAndHead(kv)
	rows := matrix{x.F32()[x.Index(b, h, lo):], x.Stride(2)}
	return s.moveRows(j, rows, rows, n, x.Dim(3), scale)
}

// moveRows multiplies n rows of d columns of from by scale, adds +0 and writes them to the rows of
// to, which may be the same. It returns the set of those that hold a NaN. It overwrites from.
func (s *segment) moveRows(j *Job, to, from matrix, n, d int, scale float32) (nan uint64) {
	skinny := j.tier.Skinny()
	divisor, isQuotient := divisorFor(scale)
	for i := range n {
		s.factors[i], s.divisors[i], s.off[i] = scale, divisor, i*to.ld
	}
	for e, m := 0, 0; e < d; e += m {
		m = ukernel.ColumnsPerCall(d-e, n)
		if !isQuotient {
			skinny.Merge(from.data[e:], from.ld, s.zeros, 0, n, m, s.factors[:n], zeros[:n])
		}
		nan |= skinny.Unpack(to.data[e:], s.off[:n], from.data[e:], from.ld, n, m, s.divisors[:n])
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
