package engine

import "github.com/attn-go/attn/internal/view"

// pack fills in the tile's packed panel.
func (t *tile) pack() {
	t.packed = true
	d := t.job.d()
	off := t.offsets(&t.job.Q)
	rows := t.job.Q.F32()
	if q := &t.job.Q; q.DType() != view.Float32 {
		rows = t.scratch.rows
		for lane, at := range off[:t.n] {
			widenHalves(t.job.tier, rows[lane*d:], q, at, 1, d)
		}
		off = t.rowOffsets(d)
	}
	if t.job.additive != nil {
		t.packRows(rows, off)
		return
	}
	t.kern.Pack(t.q, t.kern.Lanes, rows, off, t.n, d, t.job.scale)
}

// unpack writes the tile's rows to Out and returns the set of those that hold a NaN.
func (t *tile) unpack() (nan uint64) {
	out, dv := &t.job.Out, t.job.dv()
	if out.DType() == view.Float32 {
		return t.unpackTo(out.F32(), t.offsets(out), t.sum)
	}
	rows := t.scratch.rows
	nan = t.unpackTo(rows, t.rowOffsets(dv), t.sum)
	for lane, at := range t.offsets(out)[:t.n] {
		store(t.job.tier, out, at, rows[lane*dv:(lane+1)*dv])
	}
	return nan
}

// unpackTo divides the output by sum and writes it to the rows of dst that start at
// off. It returns the set of those that hold a NaN.
func (t *tile) unpackTo(dst []float32, off []int, sum []float32) (nan uint64) {
	dv := t.job.dv()
	if t.skinny {
		return t.job.tier.Skinny.Unpack(dst, off, t.o, dv, t.n, dv, sum)
	}
	return t.kern.Unpack(dst, off, t.o, t.kern.Lanes, t.n, dv, sum)
}

// offsets returns where the tile's rows start in x, which has the heads and queries of
// Q: one entry per lane, the last row's repeated. The next call overwrites it.
func (t *tile) offsets(x *view.Tensor) []int { return t.offsetsAt(x, 0) }

// offsetsAt is offsets for the parts of the rows from element e on.
func (t *tile) offsetsAt(x *view.Tensor, e int) []int {
	group := t.job.group
	at, g := x.Index(t.head.batch, t.head.head*group+t.groupHead, t.query)+e, t.groupHead
	nextHead := x.Stride(1)
	nextQuery := x.Stride(2) - group*nextHead
	off := t.scratch.off[:t.kern.Lanes]
	off[0] = at
	for lane := 1; lane < t.n; lane++ {
		at += nextHead
		if g++; g == group {
			at, g = at+nextQuery, 0
		}
		off[lane] = at
	}
	for lane := t.n; lane < len(off); lane++ {
		off[lane] = at
	}
	return off
}

// rowOffsets returns the offsets of the tile's rows if they lie one after the other,
// size elements each.
func (t *tile) rowOffsets(size int) []int {
	off := t.scratch.off[:t.kern.Lanes]
	for lane := range off {
		off[lane] = min(lane, t.n-1) * size
	}
	return off
}

// rowOf returns the row of x, [B, H, Lq, ...], that belongs to a lane.
func (t *tile) rowOf(x *view.Tensor, lane int) []float32 {
	at := t.indexOf(x, lane)
	return x.F32()[at : at+x.Dim(3)]
}

// indexOf returns the index at which that row starts.
func (t *tile) indexOf(x *view.Tensor, lane int) int {
	r, group := t.row+lane, t.job.group
	return x.Index(t.head.batch, t.head.head*group+r%group, r/group)
}
