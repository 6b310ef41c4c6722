package kernel

// sight tells how many rows of a panel see a block of a bitmap.
type sight uint8

const (
	seenByNone sight = iota
	seenBySome
	seenByAll
)

// sight returns who of p sees the bitmap's block of key number x, and the end of
// that block.
func (p *panel) sight(j *job, x int) (s sight, end int) {
	m := &j.mask.sparse
	key := x - p.phase
	end = p.phase + (key/m.key+1)*m.key
	last := (p.row + p.n - 1) / j.group
	for i := p.query; i <= last; i = (i/m.query + 1) * m.query {
		this := seenByNone
		if m.sees(i, key) {
			this = seenByAll
		}
		if i > p.query && this != s {
			return seenBySome, end
		}
		s = this
	}
	return s, end
}

// trim returns keys without the blocks of the bitmap at both ends that no row of p
// sees.
func (p *panel) trim(j *job, keys span) span {
	seen := nothing
	for x := keys.lo; x < keys.hi; {
		s, end := p.sight(j, x)
		end = min(end, keys.hi)
		if s != seenByNone {
			seen = seen.around(span{x, end})
		}
		x = end
	}
	return keys.and(seen)
}

// scoreSparse computes S of the block at hand under a bitmap.
func (w *workspace) scoreSparse(j *job, p *panel, lo int, top []float32) {
	for x := p.keys.lo; x < p.keys.hi; {
		s, end := p.sight(j, x)
		for end < p.keys.hi { // neighbours that look the same are one
			next, e := p.sight(j, end)
			if next != s || s == seenBySome {
				break
			}
			end = e
		}
		part := span{x, min(end, p.keys.hi)}
		x = part.hi
		switch s {
		case seenByAll:
			w.scoreSpan(j, p, part, lo, top)
		case seenBySome:
			w.laneSpans(p, lo)
			w.hideRows(j, p, part)
			w.scoreLanes(j, p, part, lo, top)
		case seenByNone:
			fill(p.scores(part)[:part.len()*p.kern.lanes], negInf[0])
		}
	}
}

// hideRows empties the spans of the rows that do not see the bitmap's block that
// part lies in.
func (w *workspace) hideRows(j *job, p *panel, part span) {
	for lane := range p.kern.lanes {
		i := (p.row + min(lane, p.n-1)) / j.group
		if !j.mask.sparse.sees(i, part.lo-p.phase) {
			w.lo[lane], w.hi[lane] = 0, 0
		}
	}
}

func fill(s []float32, x float32) {
	for i := range s {
		s[i] = x
	}
}
