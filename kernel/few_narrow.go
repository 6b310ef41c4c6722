package kernel

// Keys and values of narrow types are the fastest to read for few query rows, if
// they are widened where they are used: a piece of scratch memory, even one in L1,
// costs more than all the rest. Where that can't be, they go the way of all others;
// see wideRows.

// widens tells whether the kernels for few rows widen rows of t on the way.
func (k *fewKernels) widens(t *Tensor) bool {
	if t.dtype == Float32 || k.fewScoresF16 == nil || t.shape[3]%fewNarrow != 0 {
		return false
	}
	return t.dtype != Int8 || t.group()%fewNarrow == 0
}

// group is the number of elements of an Int8 row that share a scale.
func (t *Tensor) group() int { return t.shape[3] / t.scales.shape[3] }

// narrowScores computes the scores s of up to rows keys from row lo of p's unit on,
// and returns how many; 0 if their type is not widened on the way, or if too few lie
// in one piece.
func (w *workspace) narrowScores(j *job, p *panel, s []float32, lo, rows int, top []float32) int {
	x, kern := &j.k, &p.kern.fewKernels
	if !kern.widens(x) {
		return 0
	}
	d, ld := j.d(), x.stride[2]
	if x.dtype == Int8 {
		k, next, far, n := coming(x, p.unit, lo, rows, x.i8())
		if n < fewKeys {
			return 0
		}
		kern.fewScoresInt8(s, k, ld, w.wideK.keyScales(x, p.unit, lo, n), n, x.group(), p.q, p.n, n, d, top, next, far)
		return n
	}
	scores := kern.fewScoresF16
	if x.dtype == BFloat16 {
		scores = kern.fewScoresBF16
	}
	k, next, far, n := coming(x, p.unit, lo, rows, x.u16())
	if n < fewKeys {
		return 0
	}
	scores(s, k, ld, p.q, p.n, n, d, top, next, far)
	return n
}

// narrowValues writes to o, or adds, the products of up to rows values from row lo of p's
// unit on, and their weights. It returns how many, 0 as narrowScores does.
func (w *workspace) narrowValues(j *job, p *panel, o []float32, lo, rows int, weights []float32, load bool) int {
	x, kern := &j.v, &p.kern.fewKernels
	if !kern.widens(x) {
		return 0
	}
	dv, ld, lanes := j.dv(), x.stride[2], p.kern.lanes
	if x.dtype == Int8 {
		v, next, far, n := coming(x, p.unit, lo, rows, x.i8())
		scales, lsc := x.rowScales(p.unit, lo)
		kern.fewValuesInt8(o, dv, v, ld, scales, lsc, x.group(), weights, lanes, p.n, n, dv, load, next, far)
		return n
	}
	values := kern.fewValuesF16
	if x.dtype == BFloat16 {
		values = kern.fewValuesBF16
	}
	v, next, far, n := coming(x, p.unit, lo, rows, x.u16())
	values(o, dv, v, ld, weights, lanes, p.n, n, dv, load, next, far)
	return n
}

// keyScales returns the scales of n rows of x, row by row side by side, and then those
// of the next group of columns. What is not so already becomes so where w's rows lie
// otherwise, which take more than that.
func (w *wideRows) keyScales(x *Tensor, u unit, lo, n int) []float32 {
	scales, stride := x.rowScales(u, lo)
	groups := x.scales.shape[3]
	if groups == 1 && stride == 1 {
		return scales[:n]
	}
	w.have = span{}
	for g := range groups {
		for i := range n {
			w.rows[g*n+i] = scales[i*stride+g]
		}
	}
	return w.rows[:groups*n]
}

// rowScales returns the memory of the scales of row lo of unit u, and on, and the
// distance between rows.
func (t *Tensor) rowScales(u unit, lo int) (scales []float32, stride int) {
	s := t.scales
	page, row := t.locate(u.b, lo)
	return s.f32[s.at(page, u.h, row):], s.stride[2]
}
