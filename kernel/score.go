package kernel

import "math"

// score computes S of the block at hand, from position lo on, and its maximum per
// lane. Keys that all rows see need no mask; those before and after them do.
func (w *workspace) score(j *job, p *panel, lo int) {
	top := p.blockMax
	if !p.started {
		top = p.max
		w.pack(j, p)
	}
	copy(top, negInf[:])
	open := p.common.and(p.keys)
	if open == p.keys {
		w.scoreRows(j, p, open, top)
		return
	}
	if open.lo == open.hi {
		open = span{p.keys.hi, p.keys.hi}
	}
	w.scoreMasked(j, p, span{p.keys.lo, open.lo}, lo, top)
	w.scoreRows(j, p, open, top)
	w.scoreMasked(j, p, span{open.hi, p.keys.hi}, lo, top)
}

// pack packs the queries of p. It does so right before their first use: in calls
// with few queries the processor packs the next panel while it waits for the
// scores of this one.
func (w *workspace) pack(j *job, p *panel) {
	w.offsets(j, &j.q, p)
	p.kern.pack(p.q, p.kern.lanes, j.q.f32, w.off[:p.kern.lanes], p.n, j.d(), j.scale)
}

// scoreRows computes the rows of S for part of the block's keys. A nil top leaves
// the maximum to the mask.
func (w *workspace) scoreRows(j *job, p *panel, part span, top []float32) {
	lanes, d, rs := p.kern.lanes, j.d(), j.k.stride[2]
	for part.lo < part.hi {
		n := rowsPerCall(part.len(), lanes*d)
		s := p.s[(part.lo-p.keys.lo)*lanes:]
		k := j.rowsOf(&j.k, p.unit, part.lo, n)
		if top == nil {
			p.kern.tile(s, lanes, k, rs, 1, p.q, lanes, n, d, false)
		} else {
			p.kern.tileMax(s, lanes, k, rs, 1, p.q, lanes, n, d, top)
		}
		part.lo += n
	}
}

// scoreMasked is scoreRows for keys that only some rows see.
func (w *workspace) scoreMasked(j *job, p *panel, part span, blockLo int, top []float32) {
	n := part.len()
	if n == 0 {
		return
	}
	w.scoreRows(j, p, part, nil)
	lanes := p.kern.lanes
	for lane := range lanes {
		s := p.spans[min(lane, p.n-1)]
		w.lo[lane] = int32(clampBlock(s.lo - blockLo))
		w.hi[lane] = int32(clampBlock(s.hi - blockLo))
	}
	p.kern.mask(p.s[(part.lo-p.keys.lo)*lanes:], lanes, part.lo-blockLo, n, w.lo[:lanes], w.hi[:lanes], top)
}

func clampBlock(x int) int { return min(max(x, 0), blockKeys) }

// negInf is the maximum of the widest panel before its first key.
var negInf = func() (s [64]float32) {
	for i := range s {
		s[i] = float32(math.Inf(-1))
	}
	return s
}()
