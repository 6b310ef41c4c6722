package kernel

import (
	"math"
	"math/bits"
)

// task does task i of j: its panels, block of keys by block of keys, so that all
// panels use a block while it is in cache.
func (w *workspace) task(j *job, i int) {
	first, end := j.part(i, j.units())
	panels := w.panels[:end-first]
	all := span{j.keys(), 0}
	u, n := j.unit(first/j.panels), first%j.panels // unit and panel in it
	for x := range panels {
		p := &panels[x]
		w.begin(j, p, u, n*j.width, j.width)
		all = all.around(p.seen)
		if n++; n == j.panels {
			u, n = j.next(u), 0
		}
	}
	w.blocks(j, panels, all)
	for x := range panels {
		w.finish(j, &panels[x])
	}
}

// begin makes p the panel of up to width rows of unit u from row on.
func (w *workspace) begin(j *job, p *panel, u unit, row, width int) {
	p.unit, p.row, p.n = u, row, min(width, j.rows()-row)
	p.query, p.head = row, 0
	if j.group > 1 {
		p.query, p.head = row/j.group, row%j.group
	}
	p.use(j.kernels(p.n))
	p.see(j)
}

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

// and returns the intersection, with hi = lo where it is empty.
func (s span) and(t span) span {
	lo, hi := max(s.lo, t.lo), min(s.hi, t.hi)
	return span{lo, max(lo, hi)}
}

// around returns the smallest span that holds both; s may be the inverted span
// {keys, 0}, which holds nothing.
func (s span) around(t span) span {
	if t.lo >= t.hi {
		return s
	}
	return span{min(s.lo, t.lo), max(s.hi, t.hi)}
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

// blocks does all of the panels' keys, block by block in order: scores, softmax,
// weighted values, folded into what earlier blocks left.
func (w *workspace) blocks(j *job, panels []panel, keys span) {
	for lo := keys.lo &^ (blockKeys - 1); lo < keys.hi; lo += blockKeys {
		for rest := panels; len(rest) > 0; {
			n := w.scoreBatch(j, rest, lo)
			for x := range rest[:n] {
				rest[x].softmax(w)
			}
			for x := range rest[:n] {
				w.weigh(j, &rest[x])
			}
			rest = rest[n:]
		}
	}
}

// batchFloats is the size of the scores that are kept between the stages of a
// block for several panels at once: few enough to stay in L1. Panels that are
// that small wait for single chains most of the time, and stage by stage the
// processor can work on the next one meanwhile.
const batchFloats = 4 << 10

// scoreBatch computes the scores in the block from lo on of the first panel and of
// those after it that fit into a batch, and returns their number.
func (w *workspace) scoreBatch(j *job, panels []panel, lo int) int {
	used := 0
	for x := range panels {
		p := &panels[x]
		p.keys = p.seen.and(span{lo, lo + blockKeys})
		n := (p.keys.hi - p.keys.lo) * p.kern.lanes
		if x > 0 && used+n > min(batchFloats, len(w.scores)) {
			return x
		}
		p.s = w.scores[used : used+n]
		used += n
		if n > 0 {
			w.score(j, p, lo)
		}
	}
	return len(panels)
}

// softmax turns the scores of the block at hand into weights and merges its
// statistics.
func (p *panel) softmax(w *workspace) {
	n := p.keys.hi - p.keys.lo
	switch {
	case n == 0:
		return
	case p.exact:
		w.findRuns(p)
	}
	if !p.started {
		p.kern.softmax(p.s, p.kern.lanes, n, p.max, p.sum)
		return
	}
	p.kern.softmax(p.s, p.kern.lanes, n, p.blockMax, p.blockSum)
	p.kern.fold(p.max, p.sum, p.blockMax, p.blockSum, p.alpha, p.beta)
}

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
		n := rowsPerCall(part.hi-part.lo, lanes*d)
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
	n := part.hi - part.lo
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

// weigh multiplies V of the block at hand by its weights and folds the product
// into p.o.
func (w *workspace) weigh(j *job, p *panel) {
	n := p.keys.hi - p.keys.lo
	switch {
	case n == 0:
		return
	case p.exact:
		w.weighRuns(j, p)
	default:
		w.weighAll(j, p, n)
	}
	p.started = true
}

func (w *workspace) weighAll(j *job, p *panel, n int) {
	lanes, cs := p.kern.lanes, j.v.stride[2]
	v := j.rowsOf(&j.v, p.unit, p.keys.lo, n)
	for e := 0; e < j.dv(); {
		m := rowsPerCall(j.dv()-e, lanes*n)
		o := p.o[e*lanes:]
		if p.started {
			p.kern.tileFold(o, lanes, v[e:], 1, cs, p.s, lanes, m, n, p.alpha, p.beta)
		} else {
			p.kern.tile(o, lanes, v[e:], 1, cs, p.s, lanes, m, n, false)
		}
		e += m
	}
}

// rowsOf returns the memory of n ≥ 1 key or value rows of a unit, from row lo
// on, with the gaps between them and nothing beyond.
func (j *job) rowsOf(t *Tensor, u unit, lo, n int) []float32 {
	at := t.at(u.b, u.h, lo)
	return t.f32[at : at+(n-1)*t.stride[2]+t.shape[3]]
}

// rowsPerCall returns how many of the rows of a tile product to do in one call,
// for the fmas of a row: assembly cannot be preempted, and 4 Mi fmas take about
// 70 µs on one 512-bit FMA unit at 3.7 GHz.
func rowsPerCall(rows, fmas int) int {
	const limit, least = 4 << 20, 16
	if rows <= least || rows*fmas <= limit {
		return rows
	}
	return max(least, limit/fmas)
}

// finish writes the rows of p to out.
func (w *workspace) finish(j *job, p *panel) {
	lanes := p.kern.lanes
	if !p.started { // no key at all
		clear(p.sum)
		clear(p.o[:lanes*j.dv()])
	}
	w.offsets(j, &j.out, p)
	nan := p.kern.unpack(j.out.f32, w.off[:lanes], p.o, lanes, p.n, j.dv(), p.sum)
	for nan &= 1<<p.n - 1; nan != 0; nan &= nan - 1 {
		w.finishNaN(j, p, bits.TrailingZeros64(nan))
	}
}

var negInf = func() (s [64]float32) {
	for i := range s {
		s[i] = float32(math.Inf(-1))
	}
	return s
}()
