package kernel

// task does a block of rows times a group of strips.
func (w *linearScratch) task(j *linearJob, i int) {
	rows, strips := share(j.out.rows, j.blocks, i/j.groups), share(j.linear.strips(), j.groups, i%j.groups)
	for k := 0; ; k += j.steps {
		steps := span{k, min(k+j.steps, j.linear.k)}
		for s := strips.lo; s < strips.hi; s++ {
			w.multiply(j, rows, s, steps)
			if steps.hi == j.linear.k {
				w.settle(j, rows, s)
			}
		}
		if steps.hi == j.linear.k {
			return
		}
	}
}

// share returns part i of n things that parts share as evenly as can be.
func share(n, parts, i int) span {
	size, more := n/parts, n%parts
	lo := i*size + min(i, more)
	if i < more {
		size++
	}
	return span{lo, lo + size}
}

// columns returns the memory that the rows' chains of strip s pause in, from the first
// row on, and the distance of the rows.
func (w *linearScratch) columns(j *linearJob, rows span, s int) (c []float32, ldc int) {
	if at, lanes := s*stripLanes, j.linear.stripWidth(s); at+lanes > j.linear.n {
		return w.edge, lanes
	}
	return j.out.f32[rows.lo*j.out.rowStride+s*stripLanes:], j.out.rowStride
}

// multiply continues the rows' chains of strip s by some steps.
func (w *linearScratch) multiply(j *linearJob, rows span, s int, steps span) {
	c, ldc := w.columns(j, rows, s)
	p := w.part(j, s, steps)
	rs, cs := j.x.rowStride, j.x.colStride
	for lo := rows.lo; lo < rows.hi; {
		m := rowsPerCall(rows.hi-lo, stripLanes*steps.len())
		x := j.x.f32[min(lo*rs+steps.lo*cs, len(j.x.f32)):]
		j.tier.multiply(c[(lo-rows.lo)*ldc:], ldc, x, rs, cs, &p, m, steps.len(), steps.lo > 0)
		lo += m
	}
}

// A stripPart is some rows of a strip.
type stripPart struct {
	lanes int
	dtype DType
	f32   []float32 // of Float32
	u16   []uint16  // of another type
}

// part returns some rows of strip s: as they lie, or widened.
func (w *linearScratch) part(j *linearJob, s int, steps span) stripPart {
	l := j.linear
	p := stripPart{lanes: l.stripWidth(s), dtype: l.dtype}
	at, n := l.stripAt(s)+steps.lo*p.lanes, steps.len()*p.lanes
	if l.dtype == Float32 {
		p.f32 = l.f32[at : at+n]
		return p
	}
	p.u16 = l.u16[at : at+n]
	if !j.widens && p.lanes == stripLanes {
		return p
	}
	j.tier.convert().widenHalves(l.dtype)(w.wide, 0, p.u16, 0, 1, n)
	p.dtype, p.f32 = Float32, w.wide[:n]
	return p
}

// multiply is the tile product with a part of a strip.
func (t *tier) multiply(c []float32, ldc int, a []float32, rs, cs int, p *stripPart, m, k int, load bool) {
	strips := &t.widest().stripKernels
	switch {
	case p.lanes < stripLanes:
		t.tiles(c, ldc, a, rs, cs, p.f32, p.lanes, m, k, load)
	case p.dtype == Float32:
		strips.strip(c, ldc, a, rs, cs, p.f32, p.lanes, m, k, load)
	case p.dtype == Float16:
		strips.stripF16(c, ldc, a, rs, cs, p.u16, p.lanes, m, k, load)
	case p.dtype == BFloat16:
		strips.stripBF16(c, ldc, a, rs, cs, p.u16, p.lanes, m, k, load)
	}
}

// tiles multiplies by a part of a strip that is not whole: with tiles of the fewest and
// most equal widths.
func (t *tier) tiles(c []float32, ldc int, a []float32, rs, cs int, b []float32, lanes, m, k int, load bool) {
	widest := t.widest().lanes
	for lane := 0; lane < lanes; {
		left := lanes - lane
		p := t.kernels(ceilDiv(left, ceilDiv(left, widest)))
		p.tile(c[lane:], ldc, a, rs, cs, b[min(lane, len(b)):], lanes, m, k, load)
		lane += p.lanes
	}
}

// settle adds the bias to the rows' columns of strip s and puts them in their place.
func (w *linearScratch) settle(j *linearJob, rows span, s int) {
	first, lanes := s*stripLanes, j.linear.stripWidth(s)
	c, ldc := w.columns(j, rows, s)
	j.tier.widest().settle(c, ldc, rows.len(), j.linear.bias[first:first+lanes])
	if n := j.linear.n; first+lanes > n {
		for i := range rows.len() {
			copy(j.out.f32[(rows.lo+i)*j.out.rowStride+first:][:n-first], c[i*lanes:])
		}
	}
}
