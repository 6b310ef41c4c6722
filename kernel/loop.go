package kernel

import (
	"math"
	"math/bits"
)

// task does task i of j: the panels of one group, block of keys by block of
// keys, so that all panels use a block while it is in cache.
func (w *workspace) task(j *job, i int) {
	first, end := j.part(i, j.units())
	panels := w.panels[:end-first]
	all := span{j.keys(), 0}
	for x := range panels {
		p := &panels[x]
		u := (first + x) / j.panels
		w.begin(j, p, j.unit(u), (first+x-u*j.panels)*j.width, j.width)
		if p.seen.lo < p.seen.hi {
			all.lo, all.hi = min(all.lo, p.seen.lo), max(all.hi, p.seen.hi)
		}
	}
	for lo := all.lo &^ (blockKeys - 1); lo < all.hi; lo += blockKeys {
		for x := range panels {
			w.block(j, &panels[x], lo)
		}
	}
	for x := range panels {
		w.finish(j, &panels[x])
	}
}

// begin makes p the panel of up to width rows of the unit from row on and packs
// its queries.
func (w *workspace) begin(j *job, p *panel, u unit, row, width int) {
	p.unit = u
	p.row, p.n = row, min(width, j.rows()-row)
	p.kern = j.kernels(p.n)
	p.started, p.exact = false, false
	p.see(j)
	w.offsets(j, &j.q, p)
	p.kern.pack(p.q, p.kern.lanes, j.q.f32, w.off[:p.kern.lanes], p.n, j.d(), j.scale)
}

// see finds out what the rows of p see.
func (p *panel) see(j *job) {
	if p.perRow = j.mask.perRow(); !p.perRow {
		p.seen = j.mask.span(p.unit.b, 0, j.keys())
		p.common = p.seen
		return
	}
	p.seen = span{j.keys(), 0}
	p.common = span{0, j.keys()}
	i, g := p.row/j.group, p.row%j.group
	s := j.mask.span(p.unit.b, i, j.keys())
	for lane := range p.n {
		p.spans[lane] = s
		p.common = p.common.and(s)
		if s.lo < s.hi {
			p.seen.lo, p.seen.hi = min(p.seen.lo, s.lo), max(p.seen.hi, s.hi)
		}
		if g++; g == j.group && lane+1 < p.n {
			i, g = i+1, 0
			s = j.mask.span(p.unit.b, i, j.keys())
		}
	}
}

// and returns the intersection, with hi = lo where it is empty.
func (s span) and(t span) span {
	lo, hi := max(s.lo, t.lo), min(s.hi, t.hi)
	return span{lo, max(lo, hi)}
}

// offsets fills w.off with where the rows of p start in t, which is q or out:
// an entry for every lane, the last row's repeated.
func (w *workspace) offsets(j *job, t *Tensor, p *panel) {
	i, g := p.row/j.group, p.row%j.group
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

// block does the part of p that lies in the key block from lo on: scores,
// softmax, weighted values, folded into what earlier blocks left.
func (w *workspace) block(j *job, p *panel, lo int) {
	keys := p.seen.and(span{lo, lo + blockKeys})
	n := keys.hi - keys.lo
	if n == 0 {
		return
	}
	lanes := p.kern.lanes
	bmax, bsum := p.max[:lanes], p.sum[:lanes]
	if p.started {
		bmax, bsum = w.blockMax[:lanes], w.blockSum[:lanes]
	}
	copy(bmax, negInf[:])
	w.score(j, p, keys, lo, bmax)
	if p.exact {
		w.findRuns(lanes, n)
	}
	p.kern.softmax(w.scores, lanes, n, bmax, bsum)
	if p.started {
		p.kern.fold(p.max[:lanes], p.sum[:lanes], bmax, bsum, w.alpha[:lanes], w.beta[:lanes])
	}
	if p.exact {
		w.weighRuns(j, p, keys)
	} else {
		w.weigh(j, p, keys)
	}
	p.started = true
}

// score fills w.scores with S of the keys and max with its maximum per lane.
// Keys that all rows see need no mask; those before and after them do.
func (w *workspace) score(j *job, p *panel, keys span, blockLo int, max []float32) {
	open := p.common.and(keys)
	if open.lo == open.hi {
		open = span{keys.hi, keys.hi}
	}
	w.scoreMasked(j, p, keys, span{keys.lo, open.lo}, blockLo, max)
	w.scoreRows(j, p, keys, open, max)
	w.scoreMasked(j, p, keys, span{open.hi, keys.hi}, blockLo, max)
}

// scoreRows computes the rows of S for part, a range of keys. A nil max leaves
// the maximum to the mask.
func (w *workspace) scoreRows(j *job, p *panel, keys, part span, max []float32) {
	lanes, d, rs := p.kern.lanes, j.d(), j.k.stride[2]
	step := rowsPerCall(lanes, d)
	for ; part.lo < part.hi; part.lo += step {
		n := min(step, part.hi-part.lo)
		s := w.scores[(part.lo-keys.lo)*lanes:]
		k := j.rowsOf(&j.k, p.unit, part.lo, n)
		if max == nil {
			p.kern.tile(s, lanes, k, rs, 1, p.q, lanes, n, d, false)
		} else {
			p.kern.tileMax(s, lanes, k, rs, 1, p.q, lanes, n, d, max)
		}
	}
}

// scoreMasked is scoreRows for keys that only some rows see.
func (w *workspace) scoreMasked(j *job, p *panel, keys, part span, blockLo int, max []float32) {
	n := part.hi - part.lo
	if n == 0 {
		return
	}
	w.scoreRows(j, p, keys, part, nil)
	lanes := p.kern.lanes
	for lane := range lanes {
		s := p.spans[min(lane, p.n-1)]
		w.lo[lane] = int32(clampBlock(s.lo - blockLo))
		w.hi[lane] = int32(clampBlock(s.hi - blockLo))
	}
	p.kern.mask(w.scores[(part.lo-keys.lo)*lanes:], lanes, part.lo-blockLo, n, w.lo[:lanes], w.hi[:lanes], max)
}

func clampBlock(x int) int { return min(max(x, 0), blockKeys) }

// weigh multiplies V of the keys by the weights in w.scores and folds the
// product into p.o.
func (w *workspace) weigh(j *job, p *panel, keys span) {
	lanes, n, cs := p.kern.lanes, keys.hi-keys.lo, j.v.stride[2]
	v := j.rowsOf(&j.v, p.unit, keys.lo, n)
	step := rowsPerCall(lanes, n)
	for e := 0; e < j.dv(); e += step {
		m := min(step, j.dv()-e)
		o := p.o[e*lanes:]
		if p.started {
			p.kern.tileFold(o, lanes, v[e:], 1, cs, w.scores, lanes, m, n, w.alpha[:lanes], w.beta[:lanes])
		} else {
			p.kern.tile(o, lanes, v[e:], 1, cs, w.scores, lanes, m, n, false)
		}
	}
}

// rowsOf returns the memory of n ≥ 1 key or value rows of a unit, from row lo
// on, with the gaps between them and nothing beyond.
func (j *job) rowsOf(t *Tensor, u unit, lo, n int) []float32 {
	at := t.at(u.b, u.h, lo)
	return t.f32[at : at+(n-1)*t.stride[2]+t.shape[3]]
}

// rowsPerCall bounds the tile rows of one call, since assembly cannot be
// preempted: to 4 Mi fmas, about 70 µs of one 512-bit FMA unit at 3.7 GHz.
func rowsPerCall(lanes, depth int) int {
	return max(16, 4<<20/(lanes*depth))
}

// finish writes the rows of p to out.
func (w *workspace) finish(j *job, p *panel) {
	lanes := p.kern.lanes
	if !p.started { // no key at all
		clear(p.sum[:lanes])
		clear(p.o[:lanes*j.dv()])
	}
	w.offsets(j, &j.out, p)
	nan := p.kern.unpack(j.out.f32, w.off[:lanes], p.o, lanes, p.n, j.dv(), p.sum[:lanes])
	nan &= 1<<p.n - 1
	if nan == 0 {
		return
	}
	for ; nan != 0; nan &= nan - 1 {
		w.finishNaN(j, p, bits.TrailingZeros64(nan))
	}
}

var negInf = func() (s [64]float32) {
	for i := range s {
		s[i] = float32(math.Inf(-1))
	}
	return s
}()
