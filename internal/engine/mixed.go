package engine

import (
	"math/bits"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/engine/tasks"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// Plain calls of so few rows that a tile of one KV head would leave at least half of its
// lanes idle, as for a few tokens or one: the lanes of a tile are rows of several KV
// heads, one head after the other. Each lane then has keys and values of its own. A call
// of a kernel serves some 8 heads.

// A mixedTile says which rows are in the lanes of such a tile, by their offsets in the
// tensors, and holds their statistics. The lanes after the last row repeat it.
type mixedTile struct {
	q, k, v, out [ukernel.MaxLanes]int
	room         [ukernel.MaxLanes]int // of rows in scratch memory
	max, sum     [ukernel.MaxLanes]float32
}

const (
	// mixedPairs is the largest product of rows and keys of a KV head for which such a
	// tile is faster. On Zen 3, 12 heads of D = 64 take 0.41 of the time with 1 × 1, 0.75
	// with 4 × 4 and 0.98 with 4 × 8; with 4 × 10 they take 3% more.
	mixedPairs = 32

	// mixedWidth bounds Dv, so that a call for all lanes stays short.
	mixedWidth = 4 * ukernel.ColumnSegment
)

// isMixed tells whether the tiles of a plain call have rows of several KV heads. The
// lanes are some of the narrowest tile's, whose kernels take any number of its widths.
func (j *Job) isMixed() bool {
	d := j.d()
	return 2*j.rows() <= j.tier.Narrowest() && j.rows()*j.keys() <= mixedPairs && j.kvHeads() > 1 &&
		d%ukernel.HeadColumns == 0 && d <= ukernel.ColumnSegment && j.dv() <= mixedWidth
}

// mixedTiles is plainTiles for the rows of count KV heads from number first on. Q̂ᵀ and S
// lie one behind the other.
func (j *Job) mixedTiles(s *scratch, _ *tasks.Bucket, first, _, count int) {
	kern, m, rows, keys, d := &j.tier.Tiles()[0], &s.mixed, j.rows(), j.keys(), j.d()
	queries, k, scale, room := &j.Call.Q, &j.Call.K, j.derived.scale, keys
	if j.widened.inPairs {
		queries, k, scale, room = &j.widened.pairs[0], &j.widened.pairs[1], 1, 3*keys
	}
	most := min(ukernel.MaxLanes, len(s.scores)/(d+room)) / kern.Lanes * kern.Lanes
	for row, end := first*rows, (first+count)*rows; row < end; row += most {
		n := min(most, end-row)
		w := ints.RoundUp(n, kern.Lanes)
		q, scores, top, sum := s.scores[:d*w], s.scores[d*w:(d+room)*w], m.max[:w], m.sum[:w]
		m.place(j, row, n, w)
		kern.Pack(q, w, queries.F32(), m.q[:w], n, d, scale)
		var nan uint64
		if j.widened.inPairs {
			m.evenOddScores(j, scores, k, q, top, s.ignored[:w])
			kern.SoftmaxBF16(scores, w, keys, top, sum)
			nan = m.evenOddOutput(j, scores, n, sum, s.segment)
		} else {
			kern.HeadScores(scores, k.F32(), m.k[:w], k.Stride(2), q, keys, d, top)
			kern.Softmax(scores, w, keys, top, sum)
			nan = j.tier.Skinny().HeadValues(j.Call.Out.F32(), m.out[:w], j.Call.V.F32(), m.v[:w], j.Call.V.Stride(2), scores, w, n, keys, j.dv(), sum)
		}
		if nan != 0 {
			j.finishMixed(s, row, nan)
		}
	}
}

// place sets the offsets of n rows from number from on, and of the lanes after them.
func (m *mixedTile) place(j *Job, from, n, lanes int) {
	rows := j.rows()
	h, r := j.kvHead(from/rows), from%rows
	for lane := 0; lane < n; h, r = j.next(h), 0 {
		k, v := j.Call.K.At(h.Batch, h.Head, 0), j.Call.V.At(h.Batch, h.Head, 0)
		for ; r < rows && lane < n; r++ {
			head, query := h.Head*j.derived.group, r
			if j.derived.group > 1 {
				head, query = head+r%j.derived.group, r/j.derived.group
			}
			m.q[lane], m.k[lane], m.v[lane], m.out[lane] = j.Call.Q.At(h.Batch, head, query), k, v, j.Call.Out.At(h.Batch, head, query)
			lane++
		}
	}
	for lane := n; lane < lanes; lane++ {
		m.q[lane], m.k[lane] = m.q[n-1], m.k[n-1]
	}
}

// finishMixed finishes the rows of a set, which hold a NaN, each as the row of a tile of
// its KV head.
func (j *Job) finishMixed(s *scratch, from int, nan uint64) {
	t, rows := &s.tiles[0], j.rows()
	for ; nan != 0; nan &= nan - 1 {
		lane := bits.TrailingZeros64(nan)
		t.placePlain(s, j.kvHead((from+lane)/rows), (from+lane)%rows, rows)
		t.sum[0] = s.mixed.sum[lane]
		t.finishNaNs(1)
	}
}

// Mixed tiles with products in bfloat16. The kernels for float32 compute their chains of even and
// of odd factors, each on half of the columns or of the keys: rows of queries and keys have their
// even columns before their odd ones, and every second row of values is a matrix, too.

// fitsPairs tells whether a short call with products in bfloat16 has such tiles. Its keys lie in
// one segment, as chains of values end with one.
func (j *Job) fitsPairs() bool {
	see := &j.derived.frame.visible
	return see.Lo/contract.ValueSegment == (see.Hi-1)/contract.ValueSegment &&
		j.isMixed() && j.d()%(2*ukernel.HeadColumns) == 0 && j.Call.Q.IsPairs() && j.Call.K.IsPairs()
}

// evenOddScores computes the scores of lanes from such rows. More rows of s follow for sums of
// chains.
func (m *mixedTile) evenOddScores(j *Job, s []float32, k *view.Tensor, q []float32, top, ignored []float32) {
	kern, w, keys, d := &j.tier.Tiles()[0], len(top), j.keys(), j.d()
	size := keys * w
	other := s[2*size:][:size]
	chain := func(s []float32, at, n int) {
		kern.HeadScores(s, k.F32()[at:], m.k[:w], k.Stride(2), q[at*w:], keys, n, ignored)
	}
	add := func(s, a []float32) { kern.ScaleRows(s, w, a, w, keys, ones[:], 0, true, ignored) }
	for x := 0; x < d; x += contract.BF16Segment {
		at, n, sums := x/2, min(d-x, contract.BF16Segment)/2, s[:size]
		if x > 0 {
			sums = s[size:][:size]
		}
		chain(sums, at, n)
		chain(other, d/2+at, n)
		if add(sums, other); x > 0 {
			add(s, sums)
		}
	}
	copy(top, negInfs[:])
	kern.ScaleRows(s, w, s, w, keys, j.derived.scales[:], 0, false, top)
}

// evenOddOutput is HeadValues with weights and values of bfloat16, of n lanes and one segment of
// keys. Products of bfloat16 are exact, and so two keys are one chain.
func (m *mixedTile) evenOddOutput(j *Job, p []float32, n int, sum, room []float32) (nan uint64) {
	out, v, values := &j.Call.Out, &j.Call.V, j.tier.Skinny().HeadValues
	w, keys, dv, ldv := len(sum), j.keys(), j.dv(), v.Stride(2)
	if keys <= 2 {
		return values(out.F32(), m.out[:w], v.F32(), m.v[:w], ldv, p, w, n, keys, dv, sum)
	}
	rows, odd := m.room[:w], n*dv
	for lane := range n {
		rows[lane] = lane * dv
	}
	values(room, rows, v.F32(), m.v[:w], 2*ldv, p, 2*w, n, (keys+1)/2, dv, ones[:w])
	values(room[odd:], rows, v.F32()[ldv:], m.v[:w], 2*ldv, p[w:], 2*w, n, keys/2, dv, ones[:w])
	return values(out.F32(), m.out[:w], room, rows, odd, ones[:], 0, n, 2, dv, sum)
}
