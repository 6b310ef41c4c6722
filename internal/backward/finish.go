package backward

import (
	"math/bits"

	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// finishQueries is the third phase, for one segment: dQ is scaled.
func (j *Job) finishQueries(s *scratch, i int) {
	kv, x := i/j.segments, i%j.segments
	if !s.beginSegment(j, kv, x) {
		return
	}
	dq, group, row, rows := &j.DQ, j.scores.Group(), s.Row(), s.Rows()
	for first := range min(group, rows) { // head by head, as in addQueries
		n := ints.CeilDiv(rows-first, group)
		at := s.Index(dq, first)
		for i := range n {
			s.off[i] = at + i*dq.Stride(2)
		}
		nan := s.scaleRows(j, dq, dq.F32()[at:], dq.Stride(2), j.d(), n, j.scale)
		for ; nan != 0; nan &= nan - 1 {
			j.exactQuery(s, kv, row+first+bits.TrailingZeros64(nan)*group)
		}
		s.beginSegment(j, kv, x)
	}
}

// finishKeys writes the n rows of dK and dV of KV head kv from key first on.
func (j *Job) finishKeys(s *scratch, kv, first, n int) {
	heads := j.Forward.K.Dim(1)
	for _, x := range []struct {
		t     *view.Tensor
		sum   []float32
		scale float32
		isV   bool
	}{{&j.DK, s.dk, j.scale, false}, {&j.DV, s.dv, 1, true}} {
		if !x.t.IsSet() {
			continue
		}
		d := x.t.Dim(3)
		ld := rowLength(d)
		for lo, m := 0, 0; lo < n; lo += m {
			m = min(n-lo, RowSegment)
			for r := range m {
				s.off[r] = x.t.Index(kv/heads, kv%heads, first+lo+r)
			}
			nan := s.scaleRows(j, x.t, x.sum[lo*ld:], ld, d, m, x.scale)
			for ; nan != 0; nan &= nan - 1 {
				j.exactKey(s, kv, first+lo+bits.TrailingZeros64(nan), x.isV)
			}
		}
	}
}

// scaleRows multiplies n rows of src, ld apart, by scale, adds +0 and writes them to the rows
// of x that start at s.off. It returns the set of those that hold a NaN.
func (s *scratch) scaleRows(j *Job, x *view.Tensor, src []float32, ld, d, n int, scale float32) (nan uint64) {
	skinny := &j.tier.Skinny
	for i := range n {
		s.factors[i] = scale
	}
	for e, m := 0, 0; e < d; e += m {
		m = ukernel.ColumnsPerCall(d-e, n)
		skinny.Merge(src[e:], ld, s.zeros, 0, n, m, s.factors[:n], zeros[:n])
		nan |= skinny.Unpack(x.F32()[e:], s.off[:n], src[e:], ld, n, m, ones[:n])
	}
	return nan & (1<<n - 1)
}

var zeros [ukernel.MaxLanes]float32
