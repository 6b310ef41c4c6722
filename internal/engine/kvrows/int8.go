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

// Codes is Int8s of rows with CodeColumns. Rows of a run too short for a kernel are gathered with
// rows after it. seen ≥ n keys from lo on are seen. as4 leaves rows that Takes4 takes as they are.
func (r *Reader) Codes(h lanes.Head, lo, n, seen int, as4 bool) (codes []int8, stride, got int, next []int8, far int) {
	if r.Run(h, lo, n) < min(n, ukernel.SkinnyKeys) {
		n = min(n, int8Rows)
		codes, stride, next = r.Segment(h, lo, n, seen, as4)
		return codes, stride, n, next, 0
	}
	codes, stride, got, next, far = r.int8s(h, lo, n, as4)
	more := r.more()
	if more == 0 || r.x.DType() != view.Int8 {
		return codes[:len(codes)+more], stride, got, next, far
	}
	d, least := r.x.Dim(3), min(got, ukernel.SkinnyKeys)
	if codes, got = continued(codes, stride, got, d+more, r.readable(h, lo, seen)); got >= least {
		return codes, stride, got, next, far
	}
	got = r.Run(h, lo, min(n, int8Rows))
	r.copyInt8(r.codes, h, lo, got, false)
	return r.codes[:got*d+more], d, got, r.codes, 0
}

// Int8s returns up to n rows of an Int8 or Int4 tensor as int8, with hints. The next call may
// overwrite rows of 4 bits.
func (r *Reader) Int8s(h lanes.Head, lo, n int) (codes []int8, stride, got int, next []int8, far int) {
	return r.int8s(h, lo, n, false)
}

func (r *Reader) int8s(h lanes.Head, lo, n int, as4 bool) (codes []int8, stride, got int, next []int8, far int) {
	if r.x.DType() == view.Int8 || as4 {
		x, h, lo, n := r.piece(h, lo, n)
		codes, got, next, far = withHints(r.tier, x, h, lo, n, view.As[int8](x.Bytes()))
		return codes, units(x, x.Stride(2)), got, next, far
	}
	got = r.Run(h, lo, min(n, int8Rows))
	if next = view.As[int8](r.copyInt8(r.codes, h, lo, got, false)); len(next) == 0 {
		next = r.codes
	}
	d := r.x.Dim(3)
	return r.codes[:got*d], d, got, next, 0
}

// Segment returns the rows of a segment as int8, with CodeColumns, their distance and those that
// are needed soon. Rows on several pages are gathered. seen ≥ n keys from lo on are seen. as4
// leaves rows that Takes4 takes as they are.
func (r *Reader) Segment(h lanes.Head, lo, n, seen int, as4 bool) (codes []int8, stride int, next []int8) {
	d := r.x.Dim(3)
	if as4 {
		d = units(r.x, d)
	}
	r.copyAhead(h, lo, n, seen)
	if (r.x.DType() == view.Int8 || as4) && r.Run(h, lo, n) == n {
		x, of, row := r.locate(h, lo, n)
		codes, _, next, _ = withHints(r.tier, x, of, row, n, view.As[int8](x.Bytes())) // all n rows lie there, fewer may have hints
		stride = units(x, x.Stride(2))
		if end := (n-1)*stride + d + r.more(); r.more() == 0 || end <= r.readable(h, lo, seen) {
			return codes[:end], stride, next
		}
	}
	codes = r.codes[:n*d+r.more()]
	for at, run := 0, 0; at < n; at += run {
		run = r.Run(h, lo+at, n-at)
		next = view.As[int8](r.copyInt8(codes[at*d:], h, lo+at, run, as4))
	}
	if len(next) == 0 {
		next = codes
	}
	return codes, d, next
}

// copyInt8 writes n rows from row lo on to dst as int8, or as they are. They are a Run. Of rows of
// 4 bits that become int8 it returns what follows them.
func (r *Reader) copyInt8(dst []int8, h lanes.Head, lo, n int, as4 bool) (next []byte) {
	x, h, lo := r.locate(h, lo, n)
	d, bytes := x.Dim(3), x.DType().Bytes
	at := x.Index(h.Batch, h.Head, lo)
	if x.DType() == view.Int8 || as4 {
		d = units(x, d)
		rows.Copy(dst, d, view.As[int8](x.Bytes())[units(x, at):], units(x, x.Stride(2)), n, d)
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
		src, stride, _ := r.Segment(h, lo, n, keys.Hi-lo, false)
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
