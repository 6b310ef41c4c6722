package backward

import (
	"math"

	"github.com/attn-go/attn/fallback"
)

// Rows of gradients that hold a NaN are computed again, from visible pairs alone: the weight
// of a hidden pair is 0, but 0 times a NaN or Inf would be NaN. Nothing is guarded in the
// products themselves, so that costs nothing while all numbers are finite.

// exactQuery computes row r of dQ of KV head kv again.
func (j *Job) exactQuery(s *scratch, kv, r int) {
	s.Begin(kv, r, 1)
	s.load(j, kv)
	row := s.queryRow(&j.DQ, 0)
	clear(row)
	visible := s.Visible()
	for lo := visible.Lo &^ (KeyBlock - 1); lo < visible.Hi && !allNaN(row); lo += KeyBlock {
		keys, p := s.Score(lo, KeyBlock)
		lanes, n := s.Kernels().Lanes, keys.Len()
		if n == 0 {
			continue
		}
		seen := seenKeys(p, lanes, n)
		ds := s.gradients(j, s.Key(keys.Lo), n, p, false)
		block := s.dq[:j.d()]
		clear(block)
		for x := range n {
			if seen[x] {
				k, _ := s.Keys(s.Key(keys.Lo)+x, 1)
				addProduct(block, ds[x*lanes], k)
			}
		}
		add(row, block)
	}
	scale(row, j.scale)
}

// exactKey computes the row of key i of KV head kv again: of dV, or of dK.
func (j *Job) exactKey(s *scratch, kv, i int, isV bool) {
	heads, out, factor := j.Forward.K.Dim(1), &j.DK, j.scale
	from := &j.Forward.Q
	if isV {
		out, factor, from = &j.DV, 1, &j.DOut
	}
	row := out.Row(kv/heads, kv%heads, i)
	clear(row)
	for x := 0; x < j.segments && !allNaN(row); x++ {
		if !s.beginSegment(j, kv, x) {
			continue
		}
		at := i - s.Key(0)
		keys, p := s.Score(at, 1)
		if keys.Len() == 0 {
			continue
		}
		seen := seenRows(p[:s.Rows()])
		s.load(j, kv)
		weights := s.gradients(j, i, 1, p, false)
		if isV {
			weights = p
		}
		segment := s.dq[:len(row)]
		clear(segment)
		data, off := s.Floats(from)
		for lane := range s.Rows() {
			if seen>>lane&1 == 1 {
				addProduct(segment, weights[lane], data[off[lane]:])
			}
		}
		add(row, segment)
	}
	scale(row, factor)
}

// seenKeys tells which of n keys the only row of a tile sees: those whose score is not -Inf.
func seenKeys(scores []float32, lanes, n int) (seen [KeyBlock]bool) {
	for x := range n {
		seen[x] = scores[x*lanes] != negInf
	}
	return seen
}

// seenRows returns the set of rows that see the only key.
func seenRows(scores []float32) (seen uint64) {
	for lane, x := range scores {
		if x != negInf {
			seen |= 1 << lane
		}
	}
	return seen
}

var negInf = float32(math.Inf(-1))

// addProduct continues the chains of a row: acc = fma(w, x, acc).
func addProduct(acc []float32, w float32, x []float32) {
	for e := range acc {
		acc[e] = fallback.FMA(w, x[e], acc[e])
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
		row[e] = canonical(float32(x*factor) + 0)
	}
}

func canonical(x float32) float32 {
	if x != x {
		return math.Float32frombits(0x7FC00000)
	}
	return x
}

func allNaN(row []float32) bool {
	for _, x := range row {
		if x == x {
			return false
		}
	}
	return len(row) > 0
}
