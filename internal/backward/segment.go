package backward

import (
	"math"

	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// beginSegment makes segment x of KV head kv the current tile and reports whether it has
// rows.
func (s *scratch) beginSegment(j *Job, kv, x int) bool {
	row, n := j.segment(kv/j.Forward.K.Dim(1), x)
	if n <= 0 {
		return false
	}
	s.Begin(kv, row, n)
	return true
}

// prepare is the first phase, for one segment: D of its rows, and a dQ of zeros.
func (j *Job) prepare(s *scratch, i int) {
	kv, x := i/j.segments, i%j.segments
	if !s.beginSegment(j, kv, x) {
		return
	}
	lanes, dv := s.Kernels().Lanes, j.dv()
	s.Pack(s.dOutT, &j.DOut)
	s.Pack(s.outT, &j.Forward.Out)
	sum := s.delta[:lanes]
	clear(sum)
	for e := 0; e < dv; e += ukernel.ColumnSegment {
		j.tier.Backward.Dots(sum, s.dOutT[e*lanes:], s.outT[e*lanes:], lanes, min(ukernel.ColumnSegment, dv-e))
	}
	copy(s.deltas(j, kv), sum)
	if j.DQ.IsSet() {
		for lane := range s.Rows() {
			clear(s.queryRow(&j.DQ, lane))
		}
	}
}

// deltas returns D of the segment's rows.
func (s *scratch) deltas(j *Job, kv int) []float32 {
	at := kv*j.maxRows + s.Row()
	return j.delta[at : at+s.Rows()]
}

// queryRow returns the row of x, a float32 tensor with the heads and queries of Q, that
// belongs to a lane.
func (s *scratch) queryRow(x *view.Tensor, lane int) []float32 {
	at := s.Index(x, lane)
	return x.F32()[at : at+x.Dim(3)]
}

// load fills in what all blocks of the task need of the segment: dOᵀ, the rows of Q and dO,
// LSE in the unit of exp2, and D.
func (s *scratch) load(j *Job, kv int) {
	s.Pack(s.dOutT, &j.DOut)
	if j.DV.IsSet() {
		s.copyRows(s.dOutRows, &j.DOut)
	}
	if j.DK.IsSet() {
		s.copyRows(s.qRows, &j.Forward.Q)
	}
	n := s.Rows()
	copy(s.delta[:], s.deltas(j, kv))
	for lane := range n {
		s.lse[lane] = float32(s.queryRow(&j.Forward.LSE, lane)[0] * log2E)
	}
	for lane := n; lane < s.Kernels().Lanes; lane++ {
		s.lse[lane], s.delta[lane] = s.lse[n-1], s.delta[n-1]
	}
}

var log2E = math.Float32frombits(0x3FB8AA3B)

// copyRows copies the segment's rows of x, one after the other.
func (s *scratch) copyRows(dst []float32, x *view.Tensor) {
	d := x.Dim(3)
	data, off := s.Floats(x)
	for lane, at := range off[:s.Rows()] {
		copy(dst[lane*rowLength(d):][:d], data[at:])
	}
}

// loadKeys adds keys to the rows in kRows, whose first one is key first of the tensor. Only
// keys that some row sees, and those between them, are read.
func (s *scratch) loadKeys(j *Job, first int, keys mask.Span) {
	if s.packed.Len() == 0 {
		s.packed = mask.Span{Lo: keys.Lo, Hi: keys.Lo}
	}
	s.copyKeys(j, first, mask.Span{Lo: keys.Lo, Hi: s.packed.Lo})
	s.copyKeys(j, first, mask.Span{Lo: s.packed.Hi, Hi: keys.Hi})
	s.packed = s.packed.Union(keys)
}

func (s *scratch) copyKeys(j *Job, first int, keys mask.Span) {
	d, n := j.d(), 0
	for lo := keys.Lo; lo < keys.Hi; lo += n {
		n = min(keys.Hi-lo, KeyBlock)
		data, stride := s.Keys(lo, n)
		rows.Copy(s.kRows[(lo-first)*rowLength(d):], rowLength(d), data, stride, n, d)
	}
}
