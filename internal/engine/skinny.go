package engine

import (
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

const (
	// skinnyPiece is the number of keys that are widened, or gathered from pages,
	// before they are used, so that they are still in L1.
	skinnyPiece = 16

	// prefetchBytes is how far ahead K and V are prefetched.
	prefetchBytes = 8 << 10

	// maxSkinnyWidth bounds D and Dv, so that a call of 16 keys stays short.
	maxSkinnyWidth = 4 << 10
)

// isSkinny tells whether KV heads with so many rows use the skinny kernels.
func (j *Job) isSkinny(rows int) bool {
	return rows <= j.tier.SkinnyRows && j.d() >= ukernel.SkinnyColumns && max(j.d(), j.dv()) <= maxSkinnyWidth && !j.fillsTile()
}

// fillsTile tells whether a tile is faster all the same: the rows of a KV head leave
// no lane of it idle, and its keys are one block at most, so that reading them takes
// little of the time.
func (j *Job) fillsTile() bool {
	t, rows := j.tier, j.rows()
	return t.FullRows > 0 && rows >= t.FullRows && j.keys() <= BlockKeys && t.Tile(rows).Lanes == rows
}

// hinted are rows of a tensor with the prefetch hints that belong to them, see
// ukernel.SkinnyKernels.
type hinted[E any] struct {
	rows   []E
	stride int
	n      int // number of rows, at equal distances
	next   []E // rows that are needed soon
	far    int // distance from there to rows that are needed after them
}

// getSkinny is get with prefetch hints. Of widened rows it returns no more than a
// piece, always in the same memory.
func (f *floatRows) getSkinny(t *ukernel.Tier, x *view.Tensor, h kvHead, lo, n int) hinted[float32] {
	if f.used {
		f.have = mask.Span{}
		rows, stride, got := f.get(t, x, h, lo, min(n, skinnyPiece))
		return hinted[float32]{rows: rows, stride: stride, n: got, next: rows}
	}
	return withHints(x, h, lo, n, x.F32())
}

// withHints returns the rows of KV head h of x from row lo on, n of them or fewer
// where a page ends. all is the slice of x.
func withHints[E any](x *view.Tensor, h kvHead, lo, n int, all []E) hinted[E] {
	ahead := max(ukernel.SkinnyKeys, prefetchBytes/(x.DType().Size()*x.Dim(3))&^(ukernel.SkinnyKeys-1))
	if x.IsPaged() {
		return pagesWithHints(x, h, lo, n, ahead, all)
	}
	r := hinted[E]{rows: all[x.Index(h.batch, h.head, lo):], stride: x.Stride(2), n: n}
	r.next = r.rows
	if n < ukernel.SkinnyKeys { // too short to hide the time of a prefetch
		return r
	}
	r.far = ahead * r.stride
	if ahead < len(r.rows)/max(1, r.stride) {
		r.next = r.rows[r.far:]
	}
	return r
}

// pagesWithHints is withHints for a tensor in pages, the next of which may lie
// anywhere. Hints do not reach over the end of a page, so the rows end with the
// first page that ends, their own or one of those ahead, unless that makes them too
// few for the QK kernel.
func pagesWithHints[E any](x *view.Tensor, h kvHead, lo, n, ahead int, all []E) hinted[E] {
	pages, size := x.Pages(h.batch)
	page, row := lo/size, lo%size
	run := min(n, size-row)
	left := x.Length(h.batch) - lo
	var at [3]int // of the rows, of those needed soon, of those after them
	for i := range at {
		if i > 0 && left > ahead {
			left -= ahead
			if row += ahead; row >= size {
				page, row = page+row/size, row%size
			}
			if size-row >= ukernel.SkinnyKeys {
				run = min(run, size-row)
			}
		}
		at[i] = x.At(int(pages[page]), h.head, row)
	}
	return hinted[E]{rows: all[at[0]:], stride: x.Stride(2), n: run, next: all[at[1]:], far: at[2] - at[1]}
}

// skinnyProducts is products with the skinny kernels.
func (t *tile) skinnyProducts(part mask.Span, top []float32) {
	lanes, d := t.kern.Lanes, t.job.d()
	if top == nil {
		top = t.ignored()
	}
	for part.Lo < part.Hi {
		s, lo, rows := t.scoresFrom(part), part.Lo-t.phase, ukernel.RowsPerCall(part.Len(), lanes*d)
		n := t.narrowProducts(s, lo, rows, top)
		if n == 0 {
			k := t.scratch.keys.getSkinny(t.job.tier, &t.job.K, t.head, lo, rows)
			if k.n < ukernel.SkinnyKeys {
				t.kern.GemmMax(s, lanes, k.rows, k.stride, 1, t.q, lanes, k.n, d, top)
			} else {
				t.job.tier.Skinny.QK(s, k.rows, k.stride, t.q, t.n, k.n, d, top, k.next, k.far)
			}
			n = k.n
		}
		part.Lo += n
	}
}

// skinnyPV is tilePV with the skinny kernels.
func (t *tile) skinnyPV() {
	lanes, dv, skinny := t.kern.Lanes, t.job.dv(), &t.job.tier.Skinny
	o := t.o
	if t.started {
		o = t.scratch.partial
	}
	load := false
	for part := t.block.keys; part.Lo < part.Hi; load = true {
		p, lo, rows := t.scoresFrom(part), part.Lo-t.phase, ukernel.RowsPerCall(part.Len(), t.n*dv)
		n := t.narrowPV(o, lo, rows, p, load)
		if n == 0 {
			v := t.scratch.values.getSkinny(t.job.tier, &t.job.V, t.head, lo, rows)
			skinny.PV(o, dv, v.rows, v.stride, p, lanes, t.n, v.n, dv, load, v.next, v.far)
			n = v.n
		}
		part.Lo += n
	}
	if t.started {
		skinny.Merge(t.o, dv, o, dv, t.n, dv, t.alpha, t.beta)
	}
}
