package kernel

import (
	"math"

	"github.com/attn-go/attn/fallback"
)

// A hidden key has weight 0, and 0 times a hidden value is 0 unless that value
// is NaN or Inf. Instead of guarding every product, rows that end as NaN are
// looked at again: that costs nothing while all is finite.

// canonicalNaN is the NaN of every NaN row.
var canonicalNaN = math.Float32frombits(0x7FC00000)

// finishNaN settles a row of p that holds a NaN. If its sum is one, a score that
// it sees was NaN or +Inf, as hidden scores are replaced before the softmax.
// Otherwise the NaN came in with the values, maybe with hidden ones.
func (w *workspace) finishNaN(j *job, p *panel, lane int) {
	if s := p.sum[lane]; s == s && !p.exact {
		w.redo(j, p.unit, p.row+lane)
		return
	}
	j.out.fillNaN(p.at(j, &j.out, lane))
	if j.lse.isSet() {
		p.rowOf(j, &j.lse, lane)[0] = canonicalNaN
	}
}

// canonize makes every NaN of s the canonical one.
func canonize(s []float32) {
	for i, x := range s {
		if x != x {
			s[i] = canonicalNaN
		}
	}
}

// redo does row r of a unit again, in a panel of its own and with the keys alone
// that it sees. The bits of a row do not depend on its panel, so that nothing
// else changes.
func (w *workspace) redo(j *job, u unit, r int) {
	p := &w.single[0]
	width := j.tier.kernels(1).lanes
	p.fit(j, width)
	w.begin(j, p, u, r, 1)
	p.exact = true
	for lo := p.seen.lo &^ (blockKeys - 1); lo < p.seen.hi && !w.settled(j, p); lo = addSat(lo, blockKeys) {
		w.block(j, w.single[:], lo)
	}
	w.finish(j, p)
}

// settled tells that the row of an exact panel holds a NaN, which it keeps whatever
// follows: a visible NaN costs no more than the keys up to its block. Of partials
// every element counts.
func (w *workspace) settled(j *job, p *panel) bool {
	return p.started && !j.state.on() && p.hasNaN(j.dv())
}

func (p *panel) hasNaN(dv int) bool {
	for e := range dv {
		if x := p.o[e*p.kern.lanes]; x != x {
			return true
		}
	}
	return false
}

// findRuns finds the keys of the block at hand that the only row of an exact
// panel sees: those with a score above -Inf, or NaN.
func (w *workspace) findRuns(p *panel) {
	w.runs = w.runs[:0]
	hidden := true
	for i := range p.keys.len() {
		if was := hidden; p.s[i*p.kern.lanes] == negInf[0] {
			hidden = true
		} else if hidden = false; was {
			w.runs = append(w.runs, span{i, i + 1})
		} else {
			w.runs[len(w.runs)-1].hi = i + 1
		}
	}
}

// weighRuns is weighAll with the keys of w.runs alone.
func (w *workspace) weighRuns(j *job, p *panel) {
	lanes, dv := p.kern.lanes, j.dv()
	o := w.partial
	if !p.started {
		o = p.o
	}
	clear(o[:lanes*dv])
	for _, r := range w.runs {
		for r.lo < r.hi {
			v, cs, n := w.wideV.of(j.tier, &j.v, p.unit, p.keys.lo+r.lo-p.phase, r.len())
			p.kern.tile(o, lanes, v, 1, cs, p.s[r.lo*lanes:], lanes, dv, n, true)
			r.lo += n
		}
	}
	if !p.started {
		return
	}
	for e := range dv {
		x := &p.o[e*lanes]
		*x = fallback.FMA(o[e*lanes], p.beta[0], float32(*x*p.alpha[0]))
	}
}
