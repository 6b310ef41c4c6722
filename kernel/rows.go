package kernel

// place returns where query i of batch row b stands.
func (j *job) place(b, i int) place {
	start := each(j.keyStart, b)
	return place{batch: b, query: i, keys: j.k.length(b), keyStart: start, diagonal: i + each(j.queryStart, b) - start}
}

// sees returns what query i of p's batch row may see, as numbers within p: those of
// keys plus the phase.
func (p *panel) sees(j *job, i int) span {
	s := span{0, j.k.length(p.unit.b)}
	if j.masked {
		s = j.mask.span(j.place(p.unit.b, i))
	}
	if j.biased {
		s = s.and(span{0, j.bias.shape[3]})
	}
	if s.lo < s.hi {
		s.lo, s.hi = s.lo+p.phase, s.hi+p.phase
	}
	return s.and(j.window)
}

// see finds out what the rows of p see.
func (p *panel) see(j *job) {
	start := each(j.keyStart, p.unit.b)
	p.phase = start % blockKeys
	p.start = start - p.phase
	if !j.perRow {
		p.seen = p.sees(j, 0)
		p.common = p.seen
		return
	}
	p.seen = nothing
	p.common = everything
	i, g := p.query, p.head
	s := p.sees(j, i)
	for lane := range p.n {
		p.spans[lane] = s
		p.common = p.common.and(s)
		p.seen = p.seen.around(s)
		if g++; g == j.group && lane+1 < p.n {
			i, g = i+1, 0
			s = p.sees(j, i)
		}
	}
}

// offsets fills w.off with where the rows of p start in t, which is q or out:
// an entry for every lane, the last row's repeated.
func (w *workspace) offsets(j *job, t *Tensor, p *panel) { w.offsetsAt(j, t, p, 0) }

// offsetsAt is offsets for the rows' parts from element e on.
func (w *workspace) offsetsAt(j *job, t *Tensor, p *panel, e int) {
	at, g := t.index(p.unit.b, p.unit.h*j.group+p.head, p.query)+e, p.head
	off := w.off[:p.kern.lanes]
	off[0] = at
	for lane := 1; lane < p.n; lane++ {
		at += t.stride[1]
		if g++; g == j.group {
			at, g = at+t.stride[2]-j.group*t.stride[1], 0
		}
		off[lane] = at
	}
	for lane := p.n; lane < len(off); lane++ {
		off[lane] = at
	}
}
