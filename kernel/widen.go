package kernel

// Tensors of other types than float32 are widened row by row where they are used,
// and the rest of the engine computes with float32 alone, but for few query rows, see
// few_narrow.go: keys and values of a block into scratch memory that all panels of a
// unit share, query rows before they are packed. Widening is exact, or for int8 one
// product, so that it does not matter how often and where it is done. Rows in pages are
// gathered there, too.

// widenFloats is how many elements one call into assembly widens at most, about
// 30 µs when they come from memory: assembly cannot be preempted.
const widenFloats = 128 << 10

// widen writes n rows of unit u, from row lo on, to dst, one right after the other.
func (t *tier) widen(dst []float32, x *Tensor, u unit, lo, n int) {
	d := x.shape[3]
	for end := lo + n; lo < end; lo += n {
		n = x.run(lo, min(end-lo, max(1, widenFloats/d)))
		page, row := x.locate(u.b, lo)
		at := x.at(page, u.h, row)
		switch x.dtype {
		case Float32:
			copyRows(dst, d, x.f32[at:], x.stride[2], n, d)
		case Int8:
			s := x.scales
			t.convert().widenInt8(dst, d, x.i8()[at:], x.stride[2], s.f32[s.at(page, u.h, row):], s.stride[2], d/s.shape[3], n, d)
		default:
			t.widenHalves(dst, x, at, n, d)
		}
		dst = dst[n*d:]
	}
}

// widenHalves writes d elements of n rows of an F16 or BF16 tensor, of which the
// first begin at at, to dst, one right after the other.
func (t *tier) widenHalves(dst []float32, x *Tensor, at, n, d int) {
	t.convert().widenHalves(x.dtype)(dst, d, x.u16()[at:], x.stride[2], n, d)
}

// store writes a row to where one of x starts, which is not Int8.
func (t *tier) store(x *Tensor, at int, row []float32) {
	if x.dtype == Float32 {
		copy(x.f32[at:], row)
		return
	}
	t.convert().narrowHalves(x.dtype)(x.u16()[at:], 0, row, 0, 1, len(row))
}

// convert returns the tier's converters.
func (t *tier) convert() *converters { return &t.widest().converters }

// widenHalves and narrowHalves return the converters of Float16 or BFloat16.
func (c *converters) widenHalves(t DType) func(dst []float32, ldd int, src []uint16, lds, n, d int) {
	if t == BFloat16 {
		return c.widenBF16
	}
	return c.widenF16
}

func (c *converters) narrowHalves(t DType) func(dst []uint16, ldd int, src []float32, lds, n, d int) {
	if t == BFloat16 {
		return c.narrowBF16
	}
	return c.narrowF16
}

// wideRows holds rows of one tensor and unit, widened, up to a block of them.
type wideRows struct {
	used bool // or else the tensor's own memory, as for float32 wherever that is in one piece
	rows []float32
	unit unit
	have span // of the rows that are there, the first one at the start
}

// fit makes room for a block of t and forgets what was there. Pages of float32 are used
// where they lie unless they are to be gathered.
func (w *wideRows) fit(t *Tensor, gather bool) {
	w.have = span{}
	w.used = t.dtype != Float32 || t.isPaged() && gather
	if n := blockKeys * t.shape[3]; w.used && len(w.rows) < n {
		w.rows = aligned(n)
	}
}

// of returns rows of unit u of x, from row lo on, their distance and their number: n ≥ 1,
// or fewer where a page ends. Rows that are there are not widened again, and only rows
// that were asked for are read.
func (w *wideRows) of(t *tier, x *Tensor, u unit, lo, n int) (rows []float32, stride, got int) {
	if x.dtype == Float32 {
		if run := x.run(lo, n); run == n || !w.used {
			return x.rows(u, lo, run), x.stride[2], run
		}
	}
	d := x.shape[3]
	if u != w.unit || lo < w.have.lo || lo > w.have.hi || lo-w.have.lo+n > blockKeys {
		w.unit, w.have = u, span{lo, lo}
	}
	if end := lo + n; end > w.have.hi {
		t.widen(w.rows[w.have.len()*d:], x, u, w.have.hi, end-w.have.hi)
		w.have.hi = end
	}
	at := (lo - w.have.lo) * d
	return w.rows[at : at+n*d], d, n
}

// pack packs the queries of p.
func (w *workspace) pack(j *job, p *panel) {
	lanes, d := p.kern.lanes, j.d()
	p.packed = true
	w.offsets(j, &j.q, p)
	rows := j.q.f32
	if j.q.dtype != Float32 {
		rows = w.rows
		for lane, at := range w.off[:p.n] {
			j.tier.widenHalves(rows[lane*d:], &j.q, at, 1, d)
		}
		w.oneByOne(p, d)
	}
	if j.additive != nil {
		w.padQueries(j, p, rows)
		return
	}
	p.kern.pack(p.q, lanes, rows, w.off[:lanes], p.n, d, j.scale)
}

// unpack writes the rows of p to out and returns the set of those that hold a NaN.
func (w *workspace) unpack(j *job, p *panel) (nan uint64) {
	lanes, dv := p.kern.lanes, j.dv()
	if j.out.dtype == Float32 {
		w.offsets(j, &j.out, p)
		return p.unpackTo(j.out.f32, w.off[:lanes], dv, p.sum)
	}
	w.oneByOne(p, dv)
	nan = p.unpackTo(w.rows, w.off[:lanes], dv, p.sum)
	w.offsets(j, &j.out, p)
	for lane, at := range w.off[:p.n] {
		j.tier.store(&j.out, at, w.rows[lane*dv:(lane+1)*dv])
	}
	return nan
}

// unpackTo divides p's output by sum and writes it to the rows of dst that start at
// off. It returns the set of those that hold a NaN.
func (p *panel) unpackTo(dst []float32, off []int, dv int, sum []float32) (nan uint64) {
	if p.few {
		return p.kern.fewUnpack(dst, off, p.o, dv, p.n, dv, sum)
	}
	return p.kern.unpack(dst, off, p.o, p.kern.lanes, p.n, dv, sum)
}

// needsRows tells whether w.rows is needed.
func (j *job) needsRows() bool {
	return j.q.dtype != Float32 || j.out.dtype != Float32 || j.state.on()
}

// oneByOne fills w.off with where the rows of p start in w.rows.
func (w *workspace) oneByOne(p *panel, size int) {
	for lane := range w.off[:p.kern.lanes] {
		w.off[lane] = min(lane, p.n-1) * size
	}
}

// fillNaN makes the row that starts at at a row of NaN.
func (t *Tensor) fillNaN(at int) {
	for i := range t.shape[3] {
		switch t.dtype {
		case Float32:
			t.f32[at+i] = canonicalNaN
		case Float16:
			t.u16()[at+i] = uint16(ToF16(canonicalNaN))
		case BFloat16:
			t.u16()[at+i] = uint16(ToBF16(canonicalNaN))
		}
	}
}

// rows returns the memory of n ≥ 1 rows of unit u of a float32 tensor, from row lo
// on, with the gaps between them and nothing beyond. They are a run.
func (t *Tensor) rows(u unit, lo, n int) []float32 {
	at := t.index(u.b, u.h, lo)
	return t.f32[at : at+(n-1)*t.stride[2]+t.shape[3]]
}
