package kernel

// see finds out what the rows of p see.
func (p *panel) see(j *job) {
	if !j.perRow {
		p.seen = j.mask.span(p.unit.b, 0, j.keys())
		p.common = p.seen
		return
	}
	p.seen = span{j.keys(), 0}
	p.common = span{0, j.keys()}
	i, g := p.query, p.head
	s := j.mask.span(p.unit.b, i, j.keys())
	for lane := range p.n {
		p.spans[lane] = s
		p.common = p.common.and(s)
		p.seen = p.seen.around(s)
		if g++; g == j.group && lane+1 < p.n {
			i, g = i+1, 0
			s = j.mask.span(p.unit.b, i, j.keys())
		}
	}
}

// offsets fills w.off with where the rows of p start in t, which is q or out:
// an entry for every lane, the last row's repeated.
func (w *workspace) offsets(j *job, t *Tensor, p *panel) {
	i, g := p.query, p.head
	off := w.off[:p.kern.lanes]
	for lane := range off[:p.n] {
		off[lane] = t.at(p.unit.b, p.unit.h*j.group+g, i)
		if g++; g == j.group {
			i, g = i+1, 0
		}
	}
	for lane := p.n; lane < len(off); lane++ {
		off[lane] = off[p.n-1]
	}
}
