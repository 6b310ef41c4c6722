package engine

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// pack fills in the tile's packed panel.
func (t *tile) pack() {
	t.packed = true
	j, d := t.job, t.job.d()
	data, off := t.floatsOf(&j.Call.Q)
	if j.derived.additive != nil {
		t.packRows(data, off)
		return
	}
	if ukernel.IsOneCall(d, len(off)) { // small calls feel a loop
		t.kern.Pack(t.q, len(off), data, off, t.n, d, j.derived.scale)
	} else {
		t.packTo(t.q, data, off, d, j.derived.scale)
	}
	if j.Call.Quantized {
		t.roundQueries()
	}
}

// floatsOf returns the tile's rows of x as float32, and where they start.
func (t *tile) floatsOf(x *view.Tensor) (data []float32, off []int) {
	off = t.offsets(x)
	if x.DType() == view.Float32 {
		return x.F32(), off
	}
	d := x.Dim(3)
	data = t.scratch.rows
	for lane, at := range off[:t.n] {
		rows.WidenRow(t.job.tier, data[lane*d:], x, at, d)
	}
	return data, t.rowOffsets(d)
}

// packTo packs d columns of the rows of src that start at off, and scales them, in short
// calls.
func (t *tile) packTo(dst, src []float32, off []int, d int, scale float32) {
	lanes := t.kern.Lanes
	for e, n := 0, 0; e < d; e += n {
		n = ukernel.ColumnsPerCall(d-e, lanes)
		t.kern.Pack(dst[e*lanes:], lanes, src[e:], off, t.n, n, scale)
	}
}

// unpack writes the tile's rows to Out and returns the set of those that hold a NaN.
func (t *tile) unpack() (nan uint64) {
	out, dv := &t.job.Call.Out, t.job.dv()
	if out.DType() == view.Float32 {
		return t.unpackTo(out.F32(), t.offsets(out), t.sum)
	}
	data := t.scratch.rows
	nan = t.unpackTo(data, t.rowOffsets(dv), t.sum)
	for lane, at := range t.offsets(out)[:t.n] {
		rows.Store(t.job.tier, out, at, data[lane*dv:(lane+1)*dv])
	}
	return nan
}

// unpackTo divides the output by sum and writes it to the rows of dst that start at
// off. It returns the set of those that hold a NaN.
func (t *tile) unpackTo(dst []float32, off []int, sum []float32) (nan uint64) {
	lanes, dv := t.kern.Lanes, t.job.dv()
	switch {
	case !ukernel.IsOneCall(dv, lanes):
		return t.unpackColumns(dst, off, sum)
	case t.skinny:
		return t.job.tier.Skinny().Unpack(dst, off, t.o, dv, t.n, dv, sum)
	}
	return t.kern.Unpack(dst, off, t.o, lanes, t.n, dv, sum)
}

// unpackColumns is unpackTo in short calls.
func (t *tile) unpackColumns(dst []float32, off []int, sum []float32) (nan uint64) {
	lanes, dv := t.kern.Lanes, t.job.dv()
	for e, n := 0, 0; e < dv; e += n {
		n = ukernel.ColumnsPerCall(dv-e, lanes)
		if t.skinny {
			nan |= t.job.tier.Skinny().Unpack(dst[e:], off, t.o[e:], dv, t.n, n, sum)
		} else {
			nan |= t.kern.Unpack(dst[e:], off, t.o[e*lanes:], lanes, t.n, n, sum)
		}
	}
	return nan
}

// offsets returns where the tile's rows start in x, which has the heads and queries of
// Q: one entry per lane, the last row's repeated. The next call overwrites it.
func (t *tile) offsets(x *view.Tensor) []int { return t.offsetsAt(x, 0) }

// offsetsAt is offsets for the parts of the rows from element e on.
//
// The starts of a ragged tensor are the caller's memory. If they change during the call,
// against the rules, assembly must not follow them out of the slice: offsetsAt panics
// instead, as indexing does.
func (t *tile) offsetsAt(x *view.Tensor, e int) []int {
	at := x.Index(t.head.batch, t.head.head*t.job.derived.group+t.groupHead, t.query) + e
	off := t.scratch.off[:t.kern.Lanes]
	t.setOffsets(x, off, at)
	if x.IsRagged() {
		checkOffsets(x, off, e)
	}
	return off
}

// setOffsets sets off, one entry per lane, to the offsets of the tile's rows in x, if the first
// one is at.
func (t *tile) setOffsets(x *view.Tensor, off []int, at int) {
	off[0] = at
	if t.n > 1 {
		at = t.nextOffsets(x, off[:t.n])
	}
	rest := off[t.n:]
	for lane := range rest {
		rest[lane] = at
	}
}

// nextOffsets sets all offsets but the first, which is given, and returns the last one.
func (t *tile) nextOffsets(x *view.Tensor, off []int) int {
	group, g, at := t.job.derived.group, t.groupHead, off[0]
	nextHead := x.Stride(1)
	nextQuery := x.Stride(2) - group*nextHead
	if group == 1 {
		for lane := range off[1:] {
			at += nextHead + nextQuery
			off[1+lane] = at
		}
		return at
	}
	for lane := range off[1:] {
		at += nextHead
		if g++; g == group {
			at, g = at+nextQuery, 0
		}
		off[1+lane] = at
	}
	return at
}

// checkOffsets panics if a row does not lie within x. off are the offsets of the rows' element
// e.
func checkOffsets(x *view.Tensor, off []int, e int) {
	least, most := slices.Min(off)-e, slices.Max(off)-e
	if least < 0 || most > x.Len()-x.Dim(3) {
		panic(fmt.Sprintf("attn: a row at %d to %d in a slice of %d elements: the starts of a tensor have changed during the call", least, most+x.Dim(3), x.Len()))
	}
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
	r, group := t.row+lane, t.job.derived.group
	return x.Index(t.head.batch, t.head.head*group+r%group, r/group)
}
