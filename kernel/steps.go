package kernel

import "math"

// A step changes part of the scores of the block at hand in place, between the
// product and the softmax, and raises top to what it leaves.
type step func(w *workspace, j *job, p *panel, part span, top []float32)

// steps are what a call does to scores, in the contract's order. How many there
// are depends on the options alone.
type steps struct {
	list   [maxSteps]step
	n      int
	capped int // the first so many lead to ScoresCapped
}

// Score, Softcap, ALiBi, Bias and the bool masks.
const maxSteps = 4 + maxBools

// stepKeys is the number of keys whose scores are computed and changed before
// those after them, so that they stay in L1 or near it. Fewer would read biases in
// pieces too short for the prefetcher.
const stepKeys = 128

func (s *steps) add(f step) {
	s.list[s.n] = f
	s.n++
}

// setSteps lists the steps that the options ask for.
func (p *problem) setSteps(o *Options) {
	s := &p.steps
	if o.Score != nil {
		s.add((*workspace).callScore)
	}
	if o.Softcap != 0 {
		s.add((*workspace).softcap)
	}
	s.capped = s.n
	if o.ALiBi != nil {
		s.add((*workspace).alibi)
	}
	if o.Bias.isSet() {
		s.add((*workspace).bias)
	}
	for x := range o.Mask.nBools {
		s.add(boolSteps[x])
	}
}

// step does all steps. Only the last one's maximum counts.
func (w *workspace) step(j *job, p *panel, part span, top []float32) {
	for x, f := range j.steps.list[:j.steps.n] {
		if x+1 < j.steps.n {
			f(w, j, p, part, w.ignored[:p.kern.lanes])
		} else {
			f(w, j, p, part, top)
		}
	}
}

func (w *workspace) softcap(j *job, p *panel, part span, top []float32) {
	limit := float64(j.cap) * math.Log2E
	p.kern.softcap(p.scores(part), p.kern.lanes, part.len(), float32(limit), float32(1/limit), top)
}

// alibi adds slopes times distances. The position of a row's query and of
// the tile's first key are counted from the panel's first block on: only their
// distance matters.
func (w *workspace) alibi(j *job, p *panel, part span, top []float32) {
	lanes := p.kern.lanes
	start := each(j.queryStart, p.unit.b) - p.start
	p.eachLane(j, func(lane, head, i int) {
		w.slopes[lane] = log2Units(j.alibi[head])
		w.positions[lane] = int32(start + i)
	})
	p.kern.alibi(p.scores(part), lanes, part.lo, part.len(), w.slopes[:lanes], w.positions[:lanes], top)
}

// bias adds a row of the bias to every lane.
func (w *workspace) bias(j *job, p *panel, part span, top []float32) {
	lanes, key := p.kern.lanes, part.lo-p.phase
	p.eachLane(j, func(lane, head, i int) {
		w.off[lane] = j.bias.at(p.unit.b, head, i) + key
	})
	rows := j.bias.f32
	if j.bias.dtype != Float32 {
		rows = w.wideBias(j, p, part.len())
	}
	p.kern.bias(p.scores(part), lanes, part.len(), rows, w.off[:lanes], top)
}

// wideBias widens n elements of the bias for every lane, which start at w.off, and
// makes that point to them. Lanes that share a row of the bias follow one another.
func (w *workspace) wideBias(j *job, p *panel, n int) []float32 {
	last, to := -1, -stepKeys
	for lane, at := range w.off[:p.kern.lanes] {
		if at != last {
			last, to = at, to+stepKeys
			j.tier.widenHalves(w.biases[to:], &j.bias, at, 1, n)
		}
		w.off[lane] = to
	}
	return w.biases[:]
}

// boolSteps are the steps of the mask's bool views.
var boolSteps = [maxBools]step{
	func(w *workspace, j *job, p *panel, part span, top []float32) {
		w.hide(j, p, &j.mask.bools[0], part, top)
	},
	func(w *workspace, j *job, p *panel, part span, top []float32) {
		w.hide(j, p, &j.mask.bools[1], part, top)
	},
}

func (w *workspace) hide(j *job, p *panel, view *boolView, part span, top []float32) {
	lanes, key := p.kern.lanes, part.lo-p.phase
	p.eachLane(j, func(lane, head, i int) {
		w.off[lane] = view.at(p.unit.b, head, i) + key
	})
	p.kern.hide(p.scores(part), lanes, part.len(), view.data, w.off[:lanes], view.hidden, top)
}

// eachLane calls f with the query head and the query of every lane; the last
// row's fill the panel.
func (p *panel) eachLane(j *job, f func(lane, head, i int)) {
	i, g, first := p.query, p.head, p.unit.h*j.group
	for lane := range p.kern.lanes {
		f(lane, first+g, i)
		if lane+1 >= p.n {
			continue
		}
		if g++; g == j.group {
			i, g = i+1, 0
		}
	}
}
