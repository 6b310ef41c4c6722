package kernel

// finishWeights writes the weights of p's rows: their scores once more, and the
// softmax with the maximum and sum of all blocks.
func (w *workspace) finishWeights(j *job, p *panel) {
	for lane := range p.n {
		clear(p.rowOf(j, &j.weights, lane))
	}
	if p.started {
		for lo := p.seen.lo &^ (blockKeys - 1); lo < p.seen.hi; lo += blockKeys {
			w.blockWeights(j, p, lo)
		}
	}
	for lane := range p.n {
		if s := p.sum[lane]; s != s {
			fill(p.rowOf(j, &j.weights, lane), canonicalNaN)
		}
	}
}

func (w *workspace) blockWeights(j *job, p *panel, lo int) {
	lanes := p.kern.lanes
	n := p.cut(j, lo)
	if n == 0 {
		return
	}
	p.s = w.scores[:n*lanes]
	w.prepare(j, p)
	w.score(j, p, lo)
	p.softmax(n, p.max, p.blockSum)
	if j.dropout.Rate != 0 {
		w.drop(j, p)
	}
	w.offsetsAt(j, &j.weights, p, p.keys.lo-p.phase)
	p.kern.unpack(j.weights.f32, w.off[:lanes], p.s, lanes, p.n, n, p.sum)
}

// finishScores writes the scores of p's rows at the stage that is wanted.
func (w *workspace) finishScores(j *job, p *panel) {
	for lane := range p.n {
		fill(p.rowOf(j, &j.scores, lane), negInf[0])
	}
	seen := p.seen
	if j.stage != ScoresMasked {
		seen = span{p.phase, p.phase + j.mask.length(p.unit.b, j.k.length(p.unit.b))}
	}
	for lo := seen.lo &^ (blockKeys - 1); lo < seen.hi; lo += blockKeys {
		if j.stage == ScoresMasked {
			w.maskedScores(j, p, lo)
		} else {
			w.rawScores(j, p, seen.and(span{lo, lo + blockKeys}))
		}
	}
	for lane := range p.n {
		canonize(p.rowOf(j, &j.scores, lane))
	}
}

// maskedScores does the block from lo on as it enters the softmax.
func (w *workspace) maskedScores(j *job, p *panel, lo int) {
	if n := p.cut(j, lo); n > 0 {
		p.s = w.scores[:n*p.kern.lanes]
		w.prepare(j, p)
		w.score(j, p, lo)
		w.storeScores(j, p)
	}
}

// rawScores does keys whether they are seen or not, up to a stage before the mask.
func (w *workspace) rawScores(j *job, p *panel, keys span) {
	if !p.packed {
		w.pack(j, p)
	}
	p.keys, p.s = keys, w.scores[:keys.len()*p.kern.lanes]
	w.scoreRows(j, p, keys, nil)
	if j.stage == ScoresCapped {
		for _, f := range j.steps.list[:j.steps.capped] {
			f(w, j, p, keys, w.ignored[:p.kern.lanes])
		}
	}
	w.storeScores(j, p)
}

// storeScores writes the scores of the block at hand, in natural units.
func (w *workspace) storeScores(j *job, p *panel) {
	lanes := p.kern.lanes
	for i := range p.s {
		p.s[i] *= ln2
	}
	w.offsetsAt(j, &j.scores, p, p.keys.lo-p.phase)
	p.kern.unpack(j.scores.f32, w.off[:lanes], p.s, lanes, p.n, p.keys.len(), ones[:lanes])
}

// rowOf returns the row of t, [B, H, Lq, ...], that belongs to a lane of p.
func (p *panel) rowOf(j *job, t *Tensor, lane int) []float32 {
	at := p.at(j, t, lane)
	return t.f32[at : at+t.shape[3]]
}

// at returns where it starts.
func (p *panel) at(j *job, t *Tensor, lane int) int {
	r := p.row + lane
	return t.index(p.unit.b, p.unit.h*j.group+r%j.group, r/j.group)
}
