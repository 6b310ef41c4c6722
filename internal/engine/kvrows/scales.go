package kvrows

import (
	"github.com/attn-go/attn/internal/engine/lanes"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// KeyScales returns the scales of n rows, the first group of columns row by row, then the next
// group. Scales that lie otherwise are copied to the memory of rows, which is large enough.
func (r *Reader) KeyScales(h lanes.Head, lo, n int) []float32 {
	groups := r.x.Scales().Dim(3)
	for at, run := 0, 0; at < n; at += run {
		run = r.Run(h, lo+at, n-at)
		scales, stride := r.Scales(h, lo+at, run)
		if groups == 1 && stride == 1 && run == n {
			return scales[:n]
		}
		r.cached.forget()
		r.transpose(r.memory[at:], n, scales, stride, groups, run)
	}
	return r.memory[:groups*n]
}

// scaleLanes are the lanes of the tile whose Pack transposes scales.
const scaleLanes = 48

// transpose is the function of this name. Pack, which takes as many rows as a tile has lanes, and
// four columns or more in vectors, takes a fifth of its time.
func (r *Reader) transpose(dst []float32, ldd int, src []float32, stride, columns, n int) {
	tile := r.tier.Tile(scaleLanes)
	off := r.scaleRows[:tile.Lanes]
	if columns < 4 || n < len(off) {
		transpose(dst, ldd, src, stride, columns, n)
		return
	}
	for i := range off {
		off[i] = i * stride
	}
	for at := 0; at < n; at += len(off) {
		at = min(at, n-len(off)) // the last ones reach back
		tile.Pack(dst[at:], ldd, src[at*stride:], off, len(off), columns, 1)
	}
}

// transpose writes n rows of numbers, stride apart, to columns of dst, which are ldd apart. Four
// columns at a time take a third of the time of one.
func transpose(dst []float32, ldd int, src []float32, stride, columns, n int) {
	const each = 4
	for ; columns >= each; columns -= each {
		a, b, c, d := dst[:n], dst[ldd:][:n], dst[2*ldd:][:n], dst[3*ldd:][:n]
		for i := range a {
			row := src[i*stride:][:each]
			a[i], b[i], c[i], d[i] = row[0], row[1], row[2], row[3]
		}
		dst, src = dst[each*ldd:], src[min(each, len(src)):]
	}
	for ; columns > 0; columns-- {
		for i := range dst[:n] {
			dst[i] = src[i*stride]
		}
		dst, src = dst[ldd:], src[min(1, len(src)):]
	}
}

// ScalesAnywhere returns the scales of n rows that lie anywhere, row by row, or group by group as
// KeyScales does. They are copied to the memory of rows.
func (r *Reader) ScalesAnywhere(h lanes.Head, lo, n int, byGroup bool) []float32 {
	r.cached.forget()
	groups := r.x.Scales().Dim(3)
	scales := r.memory[:groups*n]
	r.copyScales(scales, h, lo, n)
	if byGroup && groups > 1 {
		columns := r.memory[groups*n:][:groups*n]
		r.transpose(columns, n, scales, groups, groups, n)
		return columns
	}
	return scales
}

// AnyKeyScales is KeyScales of rows that Offsets returns.
func (r *Reader) AnyKeyScales(h lanes.Head, lo, n int) []float32 {
	if r.inPlace(h, lo, n) == n {
		return r.KeyScales(h, lo, n)
	}
	return r.ScalesAnywhere(h, lo, n, true)
}

// AnyScales is Scales of rows that Offsets returns.
func (r *Reader) AnyScales(h lanes.Head, lo, n int) (scales []float32, stride int) {
	if r.inPlace(h, lo, n) == n {
		return r.runScales(h, lo, n)
	}
	return r.ScalesAnywhere(h, lo, n, false), r.x.Scales().Dim(3)
}

// RepeatedKeyScales is AnyKeyScales of n rows, at least one, and then of the last one again, up to
// ukernel.SkinnyKeys. They lie at the end of the memory, as AnyKeyScales may write its start.
func (r *Reader) RepeatedKeyScales(h lanes.Head, lo, n int) []float32 {
	scales := r.AnyKeyScales(h, lo, n)
	r.cached.forget()
	repeated := r.memory[len(r.memory)-len(scales)/n*ukernel.SkinnyKeys:]
	for i := range repeated {
		group, row := i/ukernel.SkinnyKeys, i%ukernel.SkinnyKeys
		repeated[i] = scales[group*n+min(row, n-1)]
	}
	return repeated
}

// Scales returns the scales of n keys that are a Run, and the distance between keys.
func (r *Reader) Scales(h lanes.Head, lo, n int) (scales []float32, stride int) {
	x, h, lo := r.locate(h, lo, n)
	return x.RowScales(h.Batch, h.Head, lo, n)
}

// runScales is Scales of rows that may lie on several pages: then the scales are copied to the
// memory of rows.
func (r *Reader) runScales(h lanes.Head, lo, n int) (scales []float32, stride int) {
	if r.Run(h, lo, n) == n {
		return r.Scales(h, lo, n)
	}
	r.cached.forget()
	groups := r.x.Scales().Dim(3)
	for at, run := 0, 0; at < n; at += run {
		run = r.Run(h, lo+at, n-at)
		of, stride := r.Scales(h, lo+at, run)
		rows.Copy(r.memory[at*groups:], groups, of, stride, run, groups)
	}
	return r.memory[:n*groups], groups
}

// copyScales writes the scales of n rows that lie anywhere to dst, row by row.
func (r *Reader) copyScales(dst []float32, h lanes.Head, lo, n int) {
	s := r.x.ScaleRows()
	groups := s.Dim(3)
	if r.list.rows.every && (groups == 1 || s.PageSize() >= leastRun) {
		r.copyPagedScales(dst, &s, h, lo, n)
		return
	}
	if groups > 1 {
		off, next := r.scaleOffsets(h, lo, n, ahead)
		r.gather(view.BytesOf(dst), view.BytesOf(s.F32()), off, next, 4*groups)
		return
	}
	off, _ := r.scaleOffsets(h, lo, n, ahead)
	all := s.F32()
	for i, at := range off {
		dst[i] = all[uint(at)/4]
	}
}

// leastRun is the least number of rows of a page of which several scales each are copied page by
// page: a call that copies rows one by one takes no longer for fewer.
const leastRun = 4

// leastCopy is the least number of scales that a copy takes less time for than a loop.
const leastCopy = 8

// gatherScales writes the scales of some whole pages to dst, of up to n of them, and prefetches
// the scales of as many pages after them: pages lie anywhere, so a copy alone would wait for
// memory.
func (r *Reader) gatherScales(dst []float32, s *view.Tensor, pages []int32, n, first, pageStride int) int {
	off, next := r.scaleRows[:len(r.scaleRows)/2], r.scaleRows[len(r.scaleRows)/2:]
	n = min(n, len(off))
	size := s.PageSize() * s.Dim(3)
	for i := range n {
		at := first + int(pages[i])*pageStride
		if uint(at) > uint(s.Len()-size) {
			panic(changed(at, s))
		}
		off[i], next[i] = 4*at, 4*at
		if after := i + n; after < len(pages) {
			next[i] = 4 * (first + int(pages[after])*pageStride)
		}
	}
	r.gather(view.BytesOf(dst), view.BytesOf(s.F32()), off[:n], next[:n], 4*size)
	return n
}

// copyPagedScales is copyScales of pages.
func (r *Reader) copyPagedScales(dst []float32, s *view.Tensor, h lanes.Head, lo, n int) {
	groups, stride, all := s.Dim(3), s.Stride(2), s.F32()
	pages, size := s.Pages(h.Batch)
	pages = pages[:min(len(pages), ints.CeilDiv(s.Length(h.Batch), size))] // callers may change the rest
	first, pageStride := s.At(0, h.Head, 0), s.Stride(0)
	if size == 1 {
		for i, page := range pages[lo:][:n] {
			dst[i] = all[first+int(page)*pageStride]
		}
		return
	}
	gathers := stride == groups && (groups > 1 || size >= leastCopy)
	page, row := lo/size, lo%size
	for i := 0; i < n; page, row = page+1, 0 {
		if gathers && row == 0 && n-i >= size {
			whole := r.gatherScales(dst[i*groups:], s, pages[page:], (n-i)/size, first, pageStride)
			i += whole * size
			page += whole - 1
			continue
		}
		run, at := min(size-row, n-i), first+int(pages[page])*pageStride+row*stride
		if groups > 1 || run >= leastCopy {
			rows.Copy(dst[i*groups:], groups, all[at:], stride, run, groups)
			i += run
			continue
		}
		for end := i + run; i < end; i++ {
			dst[i] = all[at]
			at += stride
		}
	}
}
