package kernel

// task does task i of j: its panels, block of keys by block of keys, so that all
// panels use a block while it is in cache.
func (w *workspace) task(j *job, i int) {
	y := j.stretch(i)
	if y.blocks > 0 {
		w.splitTask(j, y, i)
		return
	}
	first, n, count := y.part(i)
	panels := w.panels[:count]
	all := nothing
	u, few := j.unit(first), j.few(y.rows)
	for x := range panels {
		p := &panels[x]
		p.few = few
		w.begin(j, p, u, n*j.width, j.width)
		all = all.around(p.seen)
		if n++; n == y.panels {
			u, n = j.next(u), 0
		}
	}
	for lo := all.lo &^ (blockKeys - 1); lo < all.hi; lo = addSat(lo, blockKeys) {
		w.block(j, panels, lo)
	}
	for x := range panels {
		w.finish(j, &panels[x])
	}
}

// begin makes p the panel of up to width rows of unit u from row on, with what
// earlier calls have left.
func (w *workspace) begin(j *job, p *panel, u unit, row, width int) {
	w.place(j, p, u, row, width)
	if j.state.resume {
		w.resume(j, p)
	}
}

// place is begin for a panel that has seen no key.
func (w *workspace) place(j *job, p *panel, u unit, row, width int) {
	p.unit, p.row, p.n = u, row, min(width, j.rowsOf(u.b)-row)
	p.query, p.head = row, 0
	if j.group > 1 {
		p.query, p.head = row/j.group, row%j.group
	}
	p.use(j.tier.kernels(p.n))
	p.see(j)
}

// block does the panels' keys in the block from lo on: scores, softmax, weighted
// values, folded into what earlier blocks left.
func (w *workspace) block(j *job, panels []panel, lo int) {
	for len(panels) > 0 {
		n := w.scoreBatch(j, panels, lo)
		for x := range panels[:n] {
			w.softmax(j, &panels[x])
		}
		for x := range panels[:n] {
			w.weigh(j, &panels[x])
		}
		panels = panels[n:]
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
		n := p.cut(j, lo) * p.kern.lanes
		if x > 0 && used+n > min(batchFloats, len(w.scores)) {
			panels = panels[:x]
			break
		}
		p.s = w.scores[used : used+n]
		used += n
		if n > 0 {
			w.prepare(j, p)
		}
	}
	for x := range panels {
		if p := &panels[x]; p.keys.len() > 0 {
			w.score(j, p, lo)
		}
	}
	return len(panels)
}

// cut finds the keys of the block from lo on that any row of p sees, and returns
// their number.
func (p *panel) cut(j *job, lo int) int {
	p.keys = p.seen.and(span{lo, addSat(lo, blockKeys)})
	if j.mask.sparse.set {
		p.keys = p.trim(j, p.keys)
	}
	return p.keys.len()
}

// softmax turns the scores of the block at hand into weights and merges its
// statistics.
func (w *workspace) softmax(j *job, p *panel) {
	n := p.keys.len()
	switch {
	case n == 0:
		return
	case p.exact:
		w.findRuns(p)
	}
	max, sum := p.max, p.sum
	if p.started {
		max, sum = p.blockMax, p.blockSum
	}
	p.softmax(n, max, sum)
	if j.dropout.Rate != 0 {
		w.drop(j, p)
	}
	if p.started {
		p.kern.fold(p.max, p.sum, p.blockMax, p.blockSum, p.alpha, p.beta)
	}
}

// softmax turns n rows of scores into weights, where few queries leave lanes idle in the
// lanes alone that they need: what the others hold then, and their sums, nobody heeds.
func (p *panel) softmax(n int, max, sum []float32) {
	if p.few && p.n <= fewLanes {
		p.kern.fewSoftmax(p.s, p.kern.lanes, n, max[:fewLanes], sum[:fewLanes])
		return
	}
	p.kern.softmax(p.s, p.kern.lanes, n, max, sum)
}
