package backward

import (
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/view"
)

// Rows of gradients that hold a NaN are computed again, from visible pairs alone: the weight
// of a hidden pair is 0, but 0 times a NaN or Inf would be NaN. Nothing is guarded in the
// products themselves, so that costs nothing while all numbers are finite. Where the rows that
// weights multiply are finite, a hidden pair has added 0, and the NaN comes from a visible one.

// areKeysFinite tells whether the keys are finite that the segment sees.
func (j *Job) areKeysFinite(s *segment) bool {
	all := s.blocks()
	for lo := all.Lo; lo < all.Hi; lo += KeyBlock {
		keys := s.VisibleOf(lo, KeyBlock)
		if keys.Len() == 0 {
			continue
		}
		if data, ld := s.Keys(s.Key(keys.Lo), keys.Len()); !rows.AreFinite(j.tier, data, ld, keys.Len(), j.d()) {
			return false
		}
	}
	return true
}

// areRowsFinite tells whether the rows of KV head kv are finite of x, a tensor with the heads and
// queries of Q.
func (j *Job) areRowsFinite(s *segment, kv int, x *view.Tensor) bool {
	for i := range j.plan.segments {
		if !s.place(j, kv, i) {
			continue
		}
		data, off := s.Floats(x)
		for _, at := range off[:s.N] {
			if !rows.AreFinite(j.tier, data[at:], 0, 1, x.Dim(3)) {
				return false
			}
		}
	}
	return true
}

// exactQuery computes row r of dQ of KV head kv again. Afterwards it is the current tile.
func (j *Job) exactQuery(s *segment, kv, r int) {
	s.Begin(kv, r, 1)
	s.loadAgain(j, kv)
	lanes := s.Lanes
	row := s.part[:j.d()] // which no score needs
	clear(row)
	all := s.blocks()
	for lo := all.Lo; lo < all.Hi && !allNaN(row); lo += KeyBlock {
		keys := s.VisibleOf(lo, KeyBlock)
		n := keys.Len()
		if n == 0 {
			continue
		}
		s.computeWeights(j, keys, 0)
		var seen [KeyBlock]bool
		for x := range n {
			seen[x] = s.weights[x*lanes] != 0
		}
		s.normalised(j, 0, n)
		s.differentiate(j, keys, 0)
		block := s.dq[:j.d()]
		clear(block)
		for x := range n {
			if seen[x] {
				k, _ := s.Keys(s.Key(keys.Lo)+x, 1)
				chain(block, s.grads[x*lanes], k)
			}
		}
		add(row, block)
	}
	scale(row, j.scale)
	at := s.Index(&j.Call.DQ, 0)
	j.putRow(j.Call.DQ.F32()[at:at+j.d()], row)
}

// exactKey computes the row of key i of KV head kv again: of the sums of dV, or of dK.
func (j *Job) exactKey(s *segment, kv, i int, isV bool) {
	out, factor, weights := &j.sums.dK, j.scale, s.grads
	if isV {
		out, factor, weights = &j.sums.dV, 1, s.weights
	}
	b, h := j.batchAndHead(kv)
	row := out.Row(b, h, i)
	clear(row)
	for x := 0; x < j.plan.segments && !allNaN(row); x++ {
		if !s.place(j, kv, x) {
			continue
		}
		keys := s.VisibleOf(i-s.Key(0), 1)
		if keys.Len() == 0 {
			continue
		}
		s.loadAgain(j, kv)
		s.computeWeights(j, keys, 0)
		var seen uint64
		for lane, p := range s.weights[:s.N] {
			if p != 0 {
				seen |= 1 << lane
			}
		}
		s.normalised(j, 0, 1)
		s.differentiate(j, keys, 0)
		segment := s.dq[:len(row)]
		clear(segment)
		data, off := s.dOutRows, s.off[:]
		if !isV {
			data, off = s.Floats(&j.Call.Forward.Q)
		}
		for lane := range s.N {
			if seen>>lane&1 == 1 {
				chain(segment, weights[lane], data[off[lane]:])
			}
		}
		add(row, segment)
	}
	scale(row, factor)
}

// loadAgain is load, with the norms that the first pass has found.
func (s *segment) loadAgain(j *Job, kv int) {
	s.load(j)
	for lane := range s.Lanes {
		x := &j.norms[kv*j.plan.maxRows+s.First+min(lane, s.N-1)]
		s.inv[lane], s.mean[lane] = x.inv, x.mean
	}
}

// chain continues the chains of a row: acc = fma(w, x, acc).
func chain(acc []float32, w float32, x []float32) {
	for e := range acc {
		acc[e] = scalar.FMA(w, x[e], acc[e])
	}
}

func add(row, x []float32) {
	for e := range row {
		row[e] += x[e]
	}
}

// scale multiplies a row, adds +0 and replaces each NaN by the canonical one.
func scale(row []float32, factor float32) {
	for e, x := range row {
		row[e] = scalar.Canonical(float32(x*factor) + 0)
	}
}

func allNaN(row []float32) bool {
	for _, x := range row {
		if x == x {
			return false
		}
	}
	return len(row) > 0
}
