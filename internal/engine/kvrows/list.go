package kvrows

import (
	"fmt"

	"github.com/attn-go/attn/internal/engine/lanes"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/position"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/view"
)

// Rows says which rows are the keys of a head: the rows of a list, or the rows before a tree of
// queries and of the queries on a path of it, or every row.
type Rows struct {
	every bool

	Lists *view.KeyRows // nil if there is a tree

	Parents              view.Parents
	Queries              int // of a tree
	QueryStart, KeyStart []int
}

// everyRow are the Rows of a tensor with small pages, see Need.
var everyRow = Rows{every: true}

// past returns the number of keys of batch row b that are the rows of the same number: the first
// ones.
func (s *Rows) past(b int) int {
	if s.Lists != nil || s.every {
		return 0
	}
	return position.Of(s.QueryStart, b) - position.Of(s.KeyStart, b)
}

// A list holds rows that Rows names, as the rows of a contiguous tensor: copies of up to a block of
// them. So all that reads rows reads these.
type list struct {
	rows                 *Rows // nil if keys are rows
	copied, copiedScales view.Tensor
	head                 lanes.Head // whose rows are copied
	keys                 mask.Span  // and which: the first one is row 0
	piece                int        // how many rows that are used once are copied at a time

	memory, scales     []float32
	usage, scalesUsage parallel.Usage

	places places
	shared *places // of this list, or of another one with rows that lie alike

	path       []int32    // that head's rows on the path of its query
	pathOf     lanes.Head // with Head 0: all heads have the same ones
	hasPath    bool
	pathMemory []int32
	pathUsage  parallel.Usage
}

// places say where some rows begin.
type places struct {
	head      lanes.Head
	keys      mask.Span
	off       [blockKeys + ahead]int // in bytes
	scales    [blockKeys + ahead]int // in bytes, if hasScales
	hasScales bool
}

// ahead is how many rows before its use a kernel that takes rows by offsets prefetches a row.
const ahead = 64

// callBytes are as many as one call copies, in which the goroutine cannot be preempted.
const callBytes = 4 * rows.MaxConvert

// fit makes room for a block of rows of x.
func (l *list) fit(m *parallel.Memory, x *view.Tensor, path int) {
	parallel.Fit(m, &l.usage, &l.memory, (x.DType().Bytes(blockKeys*x.Dim(3))+3)/4, rows.Aligned)
	if s := x.Scales(); s != nil {
		parallel.Fit(m, &l.scalesUsage, &l.scales, blockKeys*s.Dim(3), rows.Aligned)
	}
	if path > 0 {
		parallel.Fit(m, &l.pathUsage, &l.pathMemory, path, parallel.Make[int32])
	}
}

// begin begins a call on such rows of x.
func (l *list) begin(x *view.Tensor, r *Rows) {
	l.rows, l.keys, l.hasPath = r, mask.Span{}, false
	shape := [4]int{1, 1, blockKeys, x.Dim(3)}
	bytes := x.DType().Bytes(blockKeys * x.Dim(3))
	l.piece = pieceOf(bytes, blockKeys)
	l.copied = view.FromBytes(x.DType(), view.BytesOf(l.memory)[:bytes], shape, view.Contiguous(shape))
	if s := x.Scales(); s != nil {
		shape[3] = s.Dim(3)
		l.copiedScales = view.Floats(l.scales, shape, view.Contiguous(shape))
		l.copied = l.copied.Scaled(&l.copiedScales)
	}
}

// from returns up to n rows of x that are keys of head h from number lo on, which is not less than
// past.
func (l *list) from(x *view.Tensor, h lanes.Head, lo, n int) []int32 {
	named := l.path
	if l.rows.Lists != nil {
		named = l.rows.Lists.Of(h.Batch, h.Head, h.Query)
	} else {
		if of := (lanes.Head{Batch: h.Batch, Query: h.Query}); !l.hasPath || of != l.pathOf {
			l.findPath(x, of)
			named = l.path
		}
		lo -= l.rows.past(h.Batch)
	}
	named = named[lo:]
	return named[:min(len(named), n)]
}

// findPath keeps the rows of x on the path of a query. Walking it for each piece of it would take
// the square of its length.
func (l *list) findPath(x *view.Tensor, of lanes.Head) {
	s, past := l.rows, l.rows.past(of.Batch)
	l.path = s.Parents.Path(l.pathMemory[:s.Queries], of.Batch, of.Query, s.Queries)
	for i := range l.path {
		l.path[i] += int32(past)
	}
	for n := len(l.path); n > 0 && int(l.path[n-1]) >= x.Length(of.Batch); n-- {
		l.path = l.path[:n-1] // it does not exist
	}
	l.pathOf, l.hasPath = of, true
}

// inPlace returns how many of n keys from lo on are the rows of the same numbers and are read where
// they lie. Rows of small pages before a tree are not.
func (r *Reader) inPlace(h lanes.Head, lo, n int) int {
	switch {
	case r.list.rows == nil:
		return n
	case r.small:
		return 0
	}
	return max(0, min(n, r.list.rows.past(h.Batch)-lo))
}

// locate returns the tensor, the head and the row of it that are key lo, the first of n that are
// used together.
func (r *Reader) locate(h lanes.Head, lo, n int) (x *view.Tensor, of lanes.Head, row int) {
	l := &r.list
	if r.inPlace(h, lo, n) == n {
		return r.x, h, lo
	}
	if h != l.head || lo < l.keys.Lo || lo > l.keys.Hi || lo-l.keys.Lo+n > blockKeys {
		l.head, l.keys = h, mask.Span{Lo: lo, Hi: lo}
	}
	if more := lo + n - l.keys.Hi; more > 0 {
		r.copyListed(more)
	}
	return &l.copied, lanes.Head{}, lo - l.keys.Lo
}

// copyAhead copies n rows that do not lie in place, if they are not there, with more of those that
// are seen from row lo on: one copy of many takes less time.
func (r *Reader) copyAhead(h lanes.Head, lo, n, seen int) {
	if l := &r.list; r.inPlace(h, lo, n) == 0 && (h != l.head || lo < l.keys.Lo || lo+n > l.keys.Hi) {
		r.locate(h, lo, max(n, min(seen, l.piece)))
	}
}

// piece is locate for rows that are used once. It may take fewer of them, always in the same
// memory.
func (r *Reader) piece(h lanes.Head, lo, n int) (x *view.Tensor, of lanes.Head, row, got int) {
	if in := r.inPlace(h, lo, n); in > 0 {
		n = in
	} else {
		n = min(n, r.list.piece)
		r.list.keys = mask.Span{}
	}
	x, of, row = r.locate(h, lo, n)
	return x, of, row, n
}

// copyListed copies n more rows.
func (r *Reader) copyListed(n int) {
	l, x := &r.list, r.x
	size, at := x.DType().Bytes(x.Dim(3)), l.keys.Len()
	off, next := r.offsets(l.head, l.keys.Hi, n, min(n, ahead))
	r.gather(view.BytesOf(l.memory)[at*size:], x.Bytes(), off, next, size)
	if x.Scales() != nil {
		r.copyScales(l.scales[at*x.Scales().Dim(3):], l.head, l.keys.Hi, n)
	}
	l.keys.Hi += n
}

// gather copies rows of size bytes that begin at off to dst. Those that begin at next are
// prefetched.
func (r *Reader) gather(dst, src []byte, off, next []int, size int) {
	for i, step := 0, max(1, callBytes/size); i < len(off); i += step {
		end := min(i+step, len(off))
		r.tier.Convert().Gather(dst[i*size:], src, off[i:end], size, next[i:end])
	}
}

// Anywhere returns where n rows from key lo on begin, in bytes from the start of the tensor's
// memory, and as many that will be needed soon. It returns none if the rows lie at equal distances.
func (r *Reader) Anywhere(h lanes.Head, lo, n int) (off, next []int) {
	if r.inPlace(h, lo, n) > 0 {
		return nil, nil
	}
	return r.offsets(h, lo, n, ahead)
}

// evenRows are the offsets of rows at equal distances, in bytes from the first one.
type evenRows struct {
	stride int
	off    [2 * blockKeys]int
}

// Offsets returns where n rows from key lo on begin, in bytes from the start of data, and as many
// that will be needed soon. No row lies beyond the tensor: Zen 5 takes up to 70 cycles for each
// prefetch of memory that is not there.
func (r *Reader) Offsets(h lanes.Head, lo, n int) (data []byte, off, next []int) {
	if r.inPlace(h, lo, n) < n || r.Run(h, lo, n) < n {
		off, next = r.offsets(h, lo, n, ahead)
		return r.x.Bytes(), off, next
	}
	x := r.x
	bytes, at := x.DType().Bytes, x.Index(h.Batch, h.Head, lo)
	end := at + (n-1)*x.Stride(2) + x.Dim(3) // no change of page tables or starts during a call leads assembly beyond
	ahead := min(rowsAhead(r.tier, x), blockKeys, (x.Len()-end)/max(1, x.Stride(2)))
	off = r.evenly(bytes(x.Stride(2)))
	return x.Bytes()[bytes(at):bytes(end)], off[:n], off[ahead:][:n]
}

// evenly returns the offsets of rows that lie so many bytes apart.
func (r *Reader) evenly(stride int) []int {
	if e := &r.even; stride != e.stride {
		e.stride = stride
		for i := range e.off {
			e.off[i] = i * stride
		}
	}
	return r.even.off[:]
}

// Share lets r take the places of rows from a reader of the same keys if they lie alike in both
// tensors, as keys and values of a cache do. Both have begun.
func (r *Reader) Share(with *Reader) {
	if r.list.rows != nil && r.list.rows == with.list.rows && r.x.LiesAs(with.x) {
		r.list.shared = &with.list.places
	}
}

// offsets returns where n rows from key lo on begin, in bytes, and n rows that lie so far ahead of
// them: at the end of a list, some of the last rows once more.
func (r *Reader) offsets(h lanes.Head, lo, n, ahead int) (off, next []int) {
	p, all := r.list.shared, len(r.list.places.off)
	known := h == p.head && lo >= p.keys.Lo && lo+n <= p.keys.Hi
	if !known || lo+n+ahead > p.keys.Hi && p.keys.Len() == all && lo > p.keys.Lo {
		found := len(r.list.find(p.off[:all], r.x, h, lo, unitOf(r.x.DType())))
		p.head, p.keys, p.hasScales = h, mask.Span{Lo: lo, Hi: lo + found}, false
	}
	return p.of(p.off[:], lo, n, ahead)
}

// scaleOffsets is offsets of the rows of scales.
func (r *Reader) scaleOffsets(h lanes.Head, lo, n, ahead int) (off, next []int) {
	r.offsets(h, lo, n, ahead)
	p := r.list.shared
	if !p.hasScales {
		s := r.x.ScaleRows()
		r.list.find(p.scales[:p.keys.Len()], &s, h, p.keys.Lo, unitOf(view.Float32))
		p.hasScales = true
	}
	return p.of(p.scales[:], lo, n, ahead)
}

// of returns what offsets does, of some offsets of the places.
func (p *places) of(off []int, lo, n, ahead int) (these, next []int) {
	off = off[lo-p.keys.Lo : p.keys.Len()]
	return off[:n], off[min(ahead, len(off)-n):][:n]
}

// A unit is what offsets of elements count in: share elements take each bytes. No product is larger
// than its result, so that 32 bits hold it.
type unit struct{ share, each int }

func unitOf(t view.DType) unit { return unit{t.PerByte(), t.Bytes(t.PerByte())} }

// of returns the offset of an element that begins a unit, as all rows do.
func (u unit) of(n int) int {
	if u.share > 1 {
		n /= u.share
	}
	return n * u.each
}

// elements is the inverse of it.
func (u unit) elements(at int) int { return at / u.each * u.share }

// find sets off to where the rows of x begin, in such units, that are keys of head h from number lo
// on, as many as there are.
func (l *list) find(off []int, x *view.Tensor, h lanes.Head, lo int, in unit) []int {
	if l.rows == nil || l.rows.every {
		off = off[:min(len(off), x.Length(h.Batch)-lo)]
		findRows(off, x, h, lo, in)
		return off
	}
	before := max(0, min(len(off), l.rows.past(h.Batch)-lo, x.Length(h.Batch)-lo)) // of a tree, in small pages
	if before > 0 {
		findRows(off[:before], x, h, lo, in)
	}
	if before == len(off) || lo+before < l.rows.past(h.Batch) {
		return off[:before]
	}
	list := l.from(x, h, lo+before, len(off)-before)
	off = off[:before+len(list)]
	findListed(off[before:], x, h, list, in)
	return off
}

// findRows sets off to where the rows of x begin, from row lo on.
func findRows(off []int, x *view.Tensor, h lanes.Head, lo int, in unit) {
	if x.IsPaged() {
		findPaged(off, x, h, lo, in)
		return
	}
	at, step := in.of(x.Index(h.Batch, h.Head, lo)), in.of(x.Stride(2))
	for i := range off {
		off[i] = at + i*step
	}
}

// findPaged is findRows of rows in pages.
func findPaged(off []int, x *view.Tensor, h lanes.Head, lo int, in unit) {
	most := uint(in.of(x.Len() - x.Dim(3)))
	pages, size := x.Pages(h.Batch)
	first, pageStep, step := in.of(x.At(0, h.Head, 0)), in.of(x.Stride(0)), in.of(x.Stride(2))
	if size == 1 {
		for i, page := range pages[lo:][:len(off)] {
			at := first + int(page)*pageStep
			if uint(at) > most {
				panic(changed(in.elements(at), x))
			}
			off[i] = at
		}
		return
	}
	for page, row := lo/size, lo%size; len(off) > 0; page, row = page+1, 0 {
		n := min(size-row, len(off))
		at := first + int(pages[page])*pageStep + row*step
		if uint(at) > most || uint(at+(n-1)*step) > most {
			panic(changed(in.elements(at), x))
		}
		for i := range off[:n] {
			off[i] = at
			at += step
		}
		off = off[n:]
	}
}

// changed says that a row is not in the slice: assembly must not follow lists and pages that change
// during the call.
func changed(at int, x *view.Tensor) string {
	return fmt.Sprintf("attn: a row at %d in a slice of %d elements: lists of rows or pages have changed during the call", at, x.Len())
}

// findListed sets off to where the rows of x begin that a list names.
func findListed(off []int, x *view.Tensor, h lanes.Head, list []int32, in unit) {
	stride, most := x.Stride(2), uint(x.Len()-x.Dim(3))
	first, size, rows := 0, 0, uint32(x.Dim(2))
	var pages []int32
	if x.IsPaged() {
		pages, size = x.Pages(h.Batch)
	} else {
		first = x.Index(h.Batch, h.Head, 0)
	}
	for i, row := range list {
		at := first + int(row)*stride
		if size > 0 {
			at = x.At(int(pages[uint32(row)/uint32(size)]), h.Head, int(uint32(row)%uint32(size)))
		}
		if uint(at) > most || size == 0 && uint32(row) >= rows {
			panic(changed(at, x))
		}
		off[i] = in.of(at)
	}
}

// Run returns how many of n keys from lo on lie at equal distances, as do their scales.
func (r *Reader) Run(h lanes.Head, lo, n int) int {
	if in := r.inPlace(h, lo, n); in > 0 {
		return r.x.Run(lo, in)
	}
	return n // copies
}
