package kernel

// weigh multiplies V of the block at hand by its weights and folds the product
// into p.o.
func (w *workspace) weigh(j *job, p *panel) {
	n := p.keys.len()
	switch {
	case n == 0:
		return
	case p.exact:
		w.weighRuns(j, p)
	case p.few:
		w.fewWeigh(j, p)
	default:
		w.weighAll(j, p, n)
	}
	p.started = true
}

func (w *workspace) weighAll(j *job, p *panel, n int) {
	lanes := p.kern.lanes
	v, cs, _ := w.wideV.of(j.tier, &j.v, p.unit, p.keys.lo-p.phase, n)
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

// rowsPerCall returns how many of the rows of a tile product to do in one call,
// for the fmas of a row: assembly cannot be preempted, and 2 Mi fmas take about
// 90 µs on two 128-bit FMA units at 3 GHz, a fourth of that on two of 512 bits.
func rowsPerCall(rows, fmas int) int {
	const limit = 2 << 20
	if rows*fmas <= limit {
		return rows
	}
	return max(1, limit/fmas)
}
