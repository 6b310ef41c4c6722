package engine

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

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
