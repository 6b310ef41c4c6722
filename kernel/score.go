package kernel

import "math"

// prepare gets ready all that score needs, so that one panel's scores follow upon another's.
func (w *workspace) prepare(j *job, p *panel) {
	if !p.packed {
		w.pack(j, p)
	}
	copy(p.top(), negInf[:])
	if p.keys.len() < fewKeys && j.plain() && p.common.and(p.keys) == p.keys {
		p.k = j.k.rows(p.unit, p.keys.lo-p.phase, p.keys.len())
	}
}

// top is where the maximum of the block at hand goes: the first block's is that of all.
func (p *panel) top() []float32 {
	if p.started {
		return p.blockMax
	}
	return p.max
}

// plain tells whether scores are products of keys as they lie in memory, and no more.
func (j *job) plain() bool {
	return j.k.dtype == Float32 && !j.k.isPaged() && j.steps.n == 0 && !j.mask.sparse.set && j.additive == nil
}

// score computes S of the block at hand, from number lo on, and its maximum per
// lane. Keys that all rows see need no mask; those before and after them do.
func (w *workspace) score(j *job, p *panel, lo int) {
	switch {
	case p.k != nil: // so few instructions that the next panel's chains begin before these end
		p.kern.tileMax(p.s, p.kern.lanes, p.k, j.k.stride[2], 1, p.q, p.kern.lanes, p.keys.len(), j.d(), p.top())
		p.k = nil // it is the caller's
	case j.mask.sparse.set:
		w.scoreSparse(j, p, lo, p.top())
	default:
		w.scoreSpan(j, p, p.keys, lo, p.top())
	}
}

// scoreSpan does part of the block's keys.
func (w *workspace) scoreSpan(j *job, p *panel, part span, lo int, top []float32) {
	open := p.common.and(part)
	if open == part {
		w.scoreOpen(j, p, part, top)
		return
	}
	if open.lo == open.hi {
		open = span{part.hi, part.hi}
	}
	w.scoreMasked(j, p, span{part.lo, open.lo}, lo, top)
	w.scoreOpen(j, p, open, top)
	w.scoreMasked(j, p, span{open.hi, part.hi}, lo, top)
}

// scoreOpen does keys that all rows see.
func (w *workspace) scoreOpen(j *job, p *panel, part span, top []float32) {
	if j.steps.n == 0 {
		w.scoreRows(j, p, part, top)
		return
	}
	for part.lo < part.hi {
		piece := span{part.lo, min(part.lo+stepKeys, part.hi)}
		w.scoreRows(j, p, piece, nil)
		w.step(j, p, piece, top)
		part.lo = piece.hi
	}
}

// scoreMasked does keys that only some rows see.
func (w *workspace) scoreMasked(j *job, p *panel, part span, lo int, top []float32) {
	if part.lo == part.hi {
		return
	}
	w.laneSpans(p, lo)
	w.scoreLanes(j, p, part, lo, top)
}

// scoreLanes does keys of which the lanes see those in w.lo and w.hi.
func (w *workspace) scoreLanes(j *job, p *panel, part span, lo int, top []float32) {
	if j.steps.n == 0 {
		w.scoreRows(j, p, part, nil)
	} else {
		w.scoreOpen(j, p, part, w.ignored[:p.kern.lanes])
	}
	lanes := p.kern.lanes
	p.kern.mask(p.scores(part), lanes, part.lo-lo, part.len(), w.lo[:lanes], w.hi[:lanes], top)
}

// scoreRows computes the products of the queries and part of the block's keys. A
// nil top leaves the maximum to a step or the mask.
func (w *workspace) scoreRows(j *job, p *panel, part span, top []float32) {
	if j.additive != nil {
		w.additiveRows(j, p, part, top)
		return
	}
	if p.few && part.len() >= fewKeys {
		w.fewScoreRows(j, p, part, top)
		return
	}
	lanes, d := p.kern.lanes, j.d()
	for part.lo < part.hi {
		s := p.scores(part)
		k, rs, n := w.wideK.of(j.tier, &j.k, p.unit, part.lo-p.phase, rowsPerCall(part.len(), lanes*d))
		if top == nil {
			p.kern.tile(s, lanes, k, rs, 1, p.q, lanes, n, d, false)
		} else {
			p.kern.tileMax(s, lanes, k, rs, 1, p.q, lanes, n, d, top)
		}
		part.lo += n
	}
}

// scores returns S of the block at hand from the first key of part on.
func (p *panel) scores(part span) []float32 {
	return p.s[(part.lo-p.keys.lo)*p.kern.lanes:]
}

// laneSpans fills w.lo and w.hi with what the rows of p see of the block from lo on.
func (w *workspace) laneSpans(p *panel, lo int) {
	for lane := range p.kern.lanes {
		s := p.spans[min(lane, p.n-1)]
		w.lo[lane] = int32(clampBlock(s.lo - lo))
		w.hi[lane] = int32(clampBlock(s.hi - lo))
	}
}

func clampBlock(x int) int { return min(max(x, 0), blockKeys) }

// negInf is the maximum of the widest panel before its first key.
var negInf = func() (s [maxLanes]float32) {
	for i := range s {
		s[i] = float32(math.Inf(-1))
	}
	return s
}()
