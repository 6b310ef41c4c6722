package engine

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/view"
)

// pack fills in the tile's packed panel.
func (t *tile) pack() {
	t.packed = true
	j, q := t.job, &t.job.Q
	d := j.d()
	off := t.offsets(q)
	data := q.F32()
	if q.DType() != view.Float32 {
		data = t.scratch.rows
		for lane, at := range off[:t.n] {
			rows.WidenRow(j.tier, data[lane*d:], q, at, d)
		}
		off = t.rowOffsets(d)
	}
	if j.additive != nil {
		t.packRows(data, off)
		return
	}
	t.kern.Pack(t.q, len(off), data, off, t.n, d, j.scale)
}

// unpack writes the tile's rows to Out and returns the set of those that hold a NaN.
func (t *tile) unpack() (nan uint64) {
	out, dv := &t.job.Out, t.job.dv()
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
	j := t.job
	dv := j.dv()
	if t.skinny {
		return j.tier.Skinny.Unpack(dst, off, t.o, dv, t.n, dv, sum)
	}
	return t.kern.Unpack(dst, off, t.o, t.kern.Lanes, t.n, dv, sum)
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
	group, g := t.job.group, t.groupHead
	at := x.Index(t.head.batch, t.head.head*group+g, t.query) + e
	nextHead := x.Stride(1)
	nextQuery := x.Stride(2) - group*nextHead
	off := t.scratch.off[:t.kern.Lanes]
	own := off[:t.n]
	own[0] = at
	if group == 1 {
		for lane := range own[1:] {
			at += nextHead + nextQuery
			own[1+lane] = at
		}
	} else {
		for lane := range own[1:] {
			at += nextHead
			if g++; g == group {
				at, g = at+nextQuery, 0
			}
			own[1+lane] = at
		}
	}
	rest := off[t.n:]
	for lane := range rest {
		rest[lane] = at
	}
	if x.IsRagged() {
		checkOffsets(x, off, e)
	}
	return off
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
	r, group := t.row+lane, t.job.group
	return x.Index(t.head.batch, t.head.head*group+r%group, r/group)
}
