package kvrows

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/engine/lanes"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// int8Rows is the number of rows of 4 bits that become int8 before they are used as such,
// so that they are still in L1. There is room for a segment of rows from several pages,
// too.
const int8Rows = max(64, contract.ValueSegment)

// CodeColumns returns the number of columns of integers that kernels take of rows of x, and how
// many share a scale: a row is continued to whole groups of the kernels. Integers after its end are
// any, of keys that are seen: queries have zeros for them, and their products with weights are not
// used.
func CodeColumns(x *view.Tensor) (columns, group int) {
	columns, group = ints.RoundUp(x.Dim(3), ukernel.SkinnyGroup), x.Group()
	if group == x.Dim(3) {
		group = columns
	}
	return columns, group
}

// Takes4 tells whether kernels for integers of 4 bits take rows of x.
func Takes4(x *view.Tensor) bool {
	return x.DType() == view.Int4 && x.Dim(3)%ukernel.CodesColumns4 == 0 && x.Group()%ukernel.CodesColumns4 == 0
}

// more returns how many integers there are after a row's.
func (r *Reader) more() int { return -r.x.Dim(3) & (ukernel.SkinnyGroup - 1) }

// Codes returns rows as integers with CodeColumns, by their offsets, n of them or fewer, but no
// less than least ≤ int8Rows. Integers after the end of a row are any: they lie in rows of keys
// that are seen, as seen ≥ n keys from lo on are. as4 leaves rows that Takes4 takes as they are.
func (r *Reader) Codes(h lanes.Head, lo, n, least, seen int, as4 bool) (codes []int8, off, next []int) {
	if r.x.DType() == view.Int8 || as4 {
		got, more := n, r.more()
		if more > 0 {
			got = min(r.inPlace(h, lo, n), r.Run(h, lo, n))
			got = continued(r.x.Stride(2), got, r.x.Dim(3)+more, r.readable(h, lo, seen))
		}
		if got >= least {
			bytes, off, next := r.Offsets(h, lo, got)
			return view.As[int8](bytes), off, next
		}
	}
	n = min(n, int8Rows)
	codes, stride := r.Segment(h, lo, n, seen)
	off = r.evenly(stride)[:n]
	return codes, off, off
}

// CodesLieAnywhere tells whether Codes needs no copies of rows of x that lie anywhere.
func CodesLieAnywhere(x *view.Tensor, as4 bool) bool {
	return as4 || x.DType() == view.Int8 && x.Dim(3)%ukernel.SkinnyGroup == 0
}

// Int8s returns up to n rows of an Int8 or Int4 tensor as int8, with hints. The next call may
// overwrite rows of 4 bits.
func (r *Reader) Int8s(h lanes.Head, lo, n int) (codes []int8, stride, got int, next []int8, far int) {
	if r.x.DType() == view.Int8 {
		x, h, lo, n := r.piece(h, lo, n)
		codes, got, next, far = withHints(r.tier, x, h, lo, n, x.I8())
		return codes, x.Stride(2), got, next, far
	}
	got = r.Run(h, lo, min(n, int8Rows))
	if next = view.As[int8](r.copyInt8(r.codes, h, lo, got)); len(next) == 0 {
		next = r.codes
	}
	d := r.x.Dim(3)
	return r.codes[:got*d], d, got, next, 0
}

// Segment returns n ≤ int8Rows rows as int8, with CodeColumns, and their distance. Rows on several
// pages are gathered. seen ≥ n keys from lo on are seen.
func (r *Reader) Segment(h lanes.Head, lo, n, seen int) (codes []int8, stride int) {
	d, more := r.x.Dim(3), r.more()
	r.copyAhead(h, lo, n, seen)
	if r.x.DType() == view.Int8 && r.Run(h, lo, n) == n {
		x, of, row := r.locate(h, lo, n)
		if end := (n-1)*x.Stride(2) + d + more; more == 0 || end <= r.readable(h, lo, seen) {
			return x.I8()[x.Index(of.Batch, of.Head, row):][:end], x.Stride(2)
		}
	}
	codes = r.codes[:n*d+more]
	for at, run := 0, 0; at < n; at += run {
		run = r.Run(h, lo+at, n-at)
		r.copyInt8(codes[at*d:], h, lo+at, run)
	}
	return codes, d
}

// copyInt8 writes n rows from row lo on to dst as int8. They are a Run. Of rows of 4 bits it
// returns what follows them.
func (r *Reader) copyInt8(dst []int8, h lanes.Head, lo, n int) (next []byte) {
	x, h, lo := r.locate(h, lo, n)
	d, bytes := x.Dim(3), x.DType().Bytes
	at := x.Index(h.Batch, h.Head, lo)
	if x.DType() == view.Int8 {
		rows.Copy(dst, d, x.I8()[at:], x.Stride(2), n, d)
		return nil
	}
	end := at + (n-1)*x.Stride(2) + d // no change of page tables or starts during a call leads assembly beyond
	src, count := x.Bytes()[bytes(at):bytes(end)], n
	if x.Stride(2) == d {
		count, d = 1, n*d
	}
	r.tier.Convert().UnpackInt4(dst, d, src, bytes(x.Stride(2)), count, d)
	return following(x, h, lo, n)
}

// pairs holds up to a block of rows of integers in pairs, strip by strip.
type pairs struct {
	memory []int32
	usage  parallel.Usage
	cached kept
}

// Columns returns the number of columns of the strip of integers that begins with column
// at. Columns that share a scale are a group. Its first two segments are one strip: the
// sum of both rounds once, either way. Each other segment is one.
func Columns(group, at int) int {
	if in := at % group; in > 0 {
		return min(group-in, ukernel.ColumnSegment)
	}
	return min(group, ukernel.CodesColumns)
}

// PairOf returns the pairs of a strip of w columns, from column at on, of rows from lo
// on. Pair has made them.
func (r *Reader) PairOf(at, w, lo int) []int32 {
	return r.pairs.memory[(at*blockKeys+(lo-r.pairs.cached.Lo)*w)/2:]
}

// Pair makes pairs of rows, see ukernel.Converters.PairColumns and PairRows, or keeps
// those that are there. Segments begin at multiples of their size of lo+phase, and for
// pairs of rows keys.Lo+phase is even.
func (r *Reader) Pair(h lanes.Head, keys mask.Span, phase int, pair func(dst []int32, src []int8, lds, n, d int)) {
	const seg = contract.ValueSegment
	p := &r.pairs
	d, group := CodeColumns(r.x)
	lo := p.cached.from(h, keys.Lo, keys.Hi)
	if lo < keys.Hi && lo > p.cached.Lo {
		lo -= (lo + phase) & 1 // the last row may lack its second
	}
	for n := 0; lo < keys.Hi; lo += n {
		n = min(keys.Hi-lo, seg-(lo+phase)%seg)
		src, stride := r.Segment(h, lo, n, keys.Hi-lo)
		for at, w := 0, 0; at < d; at += w {
			w = Columns(group, at)
			pair(r.PairOf(at, w, lo), src[at:], stride, n, w)
		}
	}
}

// GroupScales returns the scales of a group of columns of at most a segment of rows, and
// their distance. If they lie on several pages, they are copied to room.
func (r *Reader) GroupScales(h lanes.Head, lo, n, group int, room []float32) (scales []float32, stride int) {
	if r.Run(h, lo, n) == n {
		scales, stride = r.Scales(h, lo, n)
		return scales[group:], stride
	}
	for at, run := 0, 0; at < n; at += run {
		run = r.Run(h, lo+at, n-at)
		of, stride := r.Scales(h, lo+at, run)
		for i := range room[at:][:run] {
			room[at+i] = of[i*stride+group]
		}
	}
	return room[:n], 1
}
