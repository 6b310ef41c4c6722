package kernel

// Where few query rows meet many keys, as in decoding, panels leave most lanes
// idle, and what counts is how fast K and V come from memory. A panel of few rows
// keeps its form for all that happens to scores; but its products put keys, and
// columns of V, in the lanes, and its output lies in rows:
//
//	S [256][w]  as ever, computed with 16 keys in the lanes
//	O [n][Dv]   running output
//
// The order of the operations on a row is the same, and so are its bits.

// fewKernels are the micro-kernels of one ISA for panels of few rows. The rules of
// panelKernels hold for them. w, the panel's width, is a multiple of 4.
//
// next is a hint: rows as long and as far apart as those of K or V begin there
// that will be needed soon, as many as K or V has here, and far elements behind them,
// or before them, as many that come after these. They are prefetched, the latter into
// the second-level cache; what is there does not matter.
type fewKernels struct {
	// fewScores is tileMax for n queries in the first lanes of the panel q: A is
	// K as it lies, m ≥ fewKeys rows of d ≥ fewColumns columns, and B is q.
	//
	//	s[j·w+lane] = fma chain over x = 0..d-1 ascending, acc = fma(k[j·ldk+x], q[x·w+lane], acc)
	//
	// from +0, then max as in tileMax. The lanes from n up to a multiple of 4 repeat
	// lane n-1, and those behind them repeat the 4 before.
	fewScores func(s, k []float32, ldk int, q []float32, n, m, d int, max, next []float32, far int)

	// fewValues is the product of n lanes of the weights p and m rows of V:
	//
	//	o[i·ldo+e] = fma chain over j = 0..m-1 ascending, acc = fma(p[j·ldp+i], v[j·ldv+e], acc)
	//
	// from +0, or from o itself if load is true. i < n, e < dv.
	fewValues func(o []float32, ldo int, v []float32, ldv int, p []float32, ldp, n, m, dv int, load bool, next []float32, far int)

	// The following are fewScores and fewValues where K or V is of another type, given
	// as in converters: it is widened on the way. d and dv are multiples of fewNarrow.
	// A tier may lack them, all or none; K and V are widened before there.
	fewScoresF16, fewScoresBF16 func(s []float32, k []uint16, ldk int, q []float32, n, m, d int, max []float32, next []uint16, far int)
	fewValuesF16, fewValuesBF16 func(o []float32, ldo int, v []uint16, ldv int, p []float32, ldp, n, m, dv int, load bool, next []uint16, far int)

	// Of int8, group neighbours in a row share a scale, group a multiple of fewNarrow.
	// fewScoresInt8 takes the scales with the keys side by side, fewValuesInt8 as they
	// usually lie:
	//
	//	k[j·ldk+x] stands for float32(k[j·ldk+x])·scales[x/group·lsc+j]
	//	v[j·ldv+e] stands for float32(v[j·ldv+e])·scales[j·lsc+e/group]
	fewScoresInt8 func(s []float32, k []int8, ldk int, scales []float32, lsc, group int, q []float32, n, m, d int, max []float32, next []int8, far int)
	fewValuesInt8 func(o []float32, ldo int, v []int8, ldv int, scales []float32, lsc, group int, p []float32, ldp, n, m, dv int, load bool, next []int8, far int)

	// fewSoftmax is softmax for the first lanes of a panel alone: len(max) and len(sum) are
	// fewLanes. What lies between them and the next row may hold anything afterwards.
	fewSoftmax func(s []float32, ld, n int, max, sum []float32)

	// fewFold folds the output of a block into the running one:
	// o[i·ldo+e] = fma(part[i·ldp+e], beta[i], o[i·ldo+e]·alpha[i]).
	fewFold func(o []float32, ldo int, part []float32, ldp, n, dv int, alpha, beta []float32)

	// fewUnpack is unpack for an output in rows:
	// dst[off[i]+e] = o[i·ldo+e]·inv + (+0), inv = 1/sum[i], or 0 for a sum of 0.
	// n ≤ 64. Bit i of the result tells that row i holds a NaN.
	fewUnpack func(dst []float32, off []int, o []float32, ldo, n, dv int, sum []float32) uint64
}

// The least keys and columns that fewScores works on, what divides the columns of
// narrow types, and the lanes of fewSoftmax.
const (
	fewKeys    = 16
	fewColumns = 8
	fewNarrow  = 16
	fewLanes   = 4
)

const (
	// fewPiece is the number of keys that are widened, or gathered from pages,
	// before they are used, so that they are still in L1.
	fewPiece = 16

	// fewAhead is the number of bytes that K and V are prefetched ahead.
	fewAhead = 8 << 10

	// fewWidth bounds D and Dv, so that a call of 16 keys stays short.
	fewWidth = 4 << 10
)

// few tells whether a panel of so many rows is one of few.
func (j *job) few(rows int) bool {
	return rows <= j.tier.fewRows && j.d() >= fewColumns && max(j.d(), j.dv()) <= fewWidth && !j.fillsPanel()
}

// fillsPanel tells whether panels do better all the same: the rows of a unit leave no lane
// of one idle, and its keys are a block at most, which is not waited for long.
func (j *job) fillsPanel() bool {
	t, rows := j.tier, j.rows()
	return t.fullRows > 0 && rows >= t.fullRows && j.keys() <= blockKeys && t.kernels(rows).lanes == rows
}

// fewOf returns rows of x like wideRows.of, and the hint which will be needed soon.
// Of widened ones it takes no more than a piece, always in the same memory.
func (w *wideRows) fewOf(t *tier, x *Tensor, u unit, lo, n int) (rows, next []float32, far, stride, got int) {
	if w.used {
		w.have = span{}
		rows, stride, got = w.of(t, x, u, lo, min(n, fewPiece))
		return rows, rows, 0, stride, got
	}
	rows, next, far, got = coming(x, u, lo, n, x.f32)
	return rows, next, far, x.stride[2], got
}

// coming returns the memory of x, all, from row lo of unit u on, the rows that will be needed
// soon, how far from there those lie that come after these, and how many of n rows lie
// in one piece.
func coming[E any](x *Tensor, u unit, lo, n int, all []E) (rows, next []E, far, run int) {
	ahead, stride := max(fewKeys, fewAhead/(x.dtype.size()*x.shape[3])&^(fewKeys-1)), x.stride[2]
	if x.isPaged() {
		return comingPages(x, u, lo, n, ahead, all)
	}
	rows = all[x.index(u.b, u.h, lo):]
	if n < fewKeys { // there is nothing to wait for
		return rows, rows, 0, n
	}
	far = ahead * stride
	if ahead < len(rows)/max(1, stride) {
		return rows, rows[far:], far, n
	}
	return rows, rows, far, n
}

// comingPages is coming for a tensor in pages, whose next one may lie anywhere: no row
// beyond the end of a page is one to come, and so a piece ends with the first page that
// does, its own or one of those ahead, unless that makes it too short for fewScores.
func comingPages[E any](x *Tensor, u unit, lo, n, ahead int, all []E) (rows, next []E, far, run int) {
	size, pages := int(x.size), x.table.Pages[u.b]
	page, row := lo/size, lo%size
	run = min(n, size-row)
	left := x.table.Lengths[u.b] - lo
	var at [3]int
	for i := range at {
		if i > 0 && left > ahead {
			left -= ahead
			if row += ahead; row >= size {
				page, row = page+row/size, row%size
			}
			if size-row >= fewKeys {
				run = min(run, size-row)
			}
		}
		at[i] = x.at(int(pages[page]), u.h, row)
	}
	return all[at[0]:], all[at[1]:], at[2] - at[1], run
}

// fewScoreRows is scoreRows for a panel of few rows.
func (w *workspace) fewScoreRows(j *job, p *panel, part span, top []float32) {
	lanes, d := p.kern.lanes, j.d()
	if top == nil {
		top = w.ignored[:lanes]
	}
	for part.lo < part.hi {
		s, lo, rows := p.scores(part), part.lo-p.phase, rowsPerCall(part.len(), lanes*d)
		n := w.narrowScores(j, p, s, lo, rows, top)
		if n == 0 {
			var k, next []float32
			var far, ld int
			k, next, far, ld, n = w.wideK.fewOf(j.tier, &j.k, p.unit, lo, rows)
			if n < fewKeys {
				p.kern.tileMax(s, lanes, k, ld, 1, p.q, lanes, n, d, top)
			} else {
				p.kern.fewScores(s, k, ld, p.q, p.n, n, d, top, next, far)
			}
		}
		part.lo += n
	}
}

// fewWeigh is weighAll for a panel of few rows.
func (w *workspace) fewWeigh(j *job, p *panel) {
	lanes, dv := p.kern.lanes, j.dv()
	o := p.o
	if p.started {
		o = w.partial
	}
	load := false
	for part := p.keys; part.lo < part.hi; load = true {
		lo, rows := part.lo-p.phase, rowsPerCall(part.len(), p.n*dv)
		n := w.narrowValues(j, p, o, lo, rows, p.scores(part), load)
		if n == 0 {
			var v, next []float32
			var far, ld int
			v, next, far, ld, n = w.wideV.fewOf(j.tier, &j.v, p.unit, lo, rows)
			p.kern.fewValues(o, dv, v, ld, p.scores(part), lanes, p.n, n, dv, load, next, far)
		}
		part.lo += n
	}
	if p.started {
		p.kern.fewFold(p.o, dv, o, dv, p.n, dv, p.alpha, p.beta)
	}
}
