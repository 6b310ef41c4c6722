package kvrows

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/engine/lanes"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// Skinny kernels take prefetch hints: next are rows that are needed soon, and far is the
// distance from there to those after them, see ukernel.SkinnyKernels.

// piece is the least number of keys that are widened, or gathered from pages, before skinny
// kernels use them.
const piece = 16

// pieceBytes are so few that the rows of a piece stay in L1 until they are used.
const pieceBytes = 8 << 10

// pieceOf returns how many rows are a piece, at most so many, if a block has so many bytes.
func pieceOf(bytes, most int) int {
	return max(piece, min(most, pieceBytes*blockKeys/bytes&^(piece-1)))
}

// Hinted is Floats with hints. Of widened rows it returns no more than a piece, always in
// the same memory.
func (r *Reader) Hinted(h lanes.Head, lo, n int) (data []float32, stride, got int, next []float32, far int) {
	if r.copies {
		r.cached.forget()
		data, stride, got = r.Floats(h, lo, min(n, pieceOf(4*blockKeys*r.x.Dim(3), blockKeys)))
		return data, stride, got, data, 0
	}
	x, h, lo, n := r.piece(h, lo, n)
	data, got, next, far = withHints(r.tier, x, h, lo, n, x.F32())
	return data, x.Stride(2), got, next, far
}

// Halves returns rows of 16 bits as they lie in memory, and their distance. Of rows of 8 bits it
// returns no more than a few, as HalfType has them, always in the same memory. They may lie on
// several pages if a row has enough columns for a kernel.
func (r *Reader) Halves(h lanes.Head, lo, n int) (rows []uint16, stride, got int, next []uint16, far int) {
	if r.x.DType().Size() == 1 {
		d, rows := r.x.Dim(3), r.narrow
		n = min(n, narrowRows)
		for got == 0 || got < n && d >= ukernel.HalvesColumns {
			run := r.Run(h, lo+got, n-got)
			next = view.As[uint16](r.copyHalves(rows[got*d:], h, lo+got, run))
			got += run
		}
		if len(next) == 0 {
			next = rows
		}
		return rows[:got*d], d, got, next, 0
	}
	x, h, lo, n := r.piece(h, lo, n)
	rows, got, next, far = withHints(r.tier, x, h, lo, n, x.U16())
	return rows, x.Stride(2), got, next, far
}

// HalvesAnywhere returns n rows of bfloat16 by their offsets, as Offsets does.
func (r *Reader) HalvesAnywhere(h lanes.Head, lo, n int) (data []uint16, off, next []int) {
	bytes, off, next := r.Offsets(h, lo, n)
	return view.As[uint16](bytes), off, next
}

// AnyHalves is HalvesAnywhere of rows of bfloat16 with WholeColumns. Numbers after the end of a row
// are any: they lie in rows of keys that are seen, as seen ≥ n keys from lo on are. There may be
// fewer rows than n, or none.
func (r *Reader) AnyHalves(h lanes.Head, lo, n, seen int) (data []uint16, off, next []int) {
	columns := WholeColumns(r.x)
	if columns > r.x.Dim(3) {
		n = r.Run(h, lo, n)
		if r.inPlace(h, lo, n) < n {
			return nil, nil, nil
		}
	}
	data, off, next = r.HalvesAnywhere(h, lo, n)
	if columns > r.x.Dim(3) {
		got := continued(r.x.Stride(2), len(off), columns, r.readable(h, lo, seen))
		off, next = off[:got], next[:got]
	}
	return data, off, next
}

// continued returns how many of n rows of so many columns lie in the first readable numbers.
func continued(stride, n, columns, readable int) int {
	for n > 0 && (n-1)*stride+columns > readable {
		n--
	}
	return n
}

// readable returns how many numbers may be read from key lo on if so many keys are seen: another
// goroutine may write other keys meanwhile.
func (r *Reader) readable(h lanes.Head, lo, seen int) int {
	x, d, stride := r.x, r.x.Dim(3), r.x.Stride(2)
	switch last := (r.Run(h, lo, seen) - 1) * stride; {
	case r.inPlace(h, lo, 1) == 0: // copies
		return r.list.copied.Len() - (lo-r.list.keys.Lo)*d
	case x.Stride(1) == d && h.Head+1 < x.Dim(1): // the row of the next head follows, of the same key
		return last + 2*d
	case 0 < x.Stride(0) && x.Stride(0) < stride: // a row of the next batch row, or page, may follow
		return d
	default:
		return last + d
	}
}

// WholeHalves copies n rows, or fewer but a segment at least, with zeros after the end of each row.
// What products take as zeros may be zeros there. Fit has memory for it only if 16 does not divide
// the columns.
func (r *Reader) WholeHalves(h lanes.Head, lo, n int) (data []uint16, off []int) {
	d, columns := r.x.Dim(3), WholeColumns(r.x)
	n = min(n, wholeRows(columns))
	data = r.narrow[:n*columns]
	clear(data) // in less time than ends of rows
	for at, run := 0, 0; at < n; at += run {
		run = r.Run(h, lo+at, n-at)
		x, of, row := r.locate(h, lo+at, run)
		from := x.Index(of.Batch, of.Head, row)
		src := x.U16()[from : from+(run-1)*x.Stride(2)+d]
		if rows.HasFactors(r.tier) {
			r.tier.Unit().Factors(data[at*columns:], columns, src, x.Stride(2), run, d)
		} else {
			rows.Copy(data[at*columns:], columns, src, x.Stride(2), run, d)
		}
	}
	return data, r.evenly(2 * columns)[:n]
}

// WholeColumns returns the number of columns of rows of x as kernels for products in bfloat16 and
// few rows take them: others follow the last ones up to whole groups.
func WholeColumns(x *view.Tensor) int { return ints.RoundUp(x.Dim(3), ukernel.SkinnyGroup) }

// narrowRows is the number of rows of 8 bits that become 16 bits before they are used as such.
const narrowRows = max(32, contract.ValueSegment, contract.BF16Segment)

// wholeRows is the number of rows of so many columns that WholeHalves copies.
func wholeRows(columns int) int {
	return max(narrowRows, min(blockKeys, pieceBytes/(2*columns)&^(narrowRows-1)))
}

// HalfType returns the type of 16 bits as which Halves returns rows of x. It is another one if
// Halves does not take x.
func HalfType(t *tier.Tier, x *view.Tensor) view.DType {
	d, kernels := x.Dim(3), t.Skinny()
	takes := d >= ukernel.HalvesColumns || d >= ukernel.SkinnyGroup && x.Stride(2) == d
	switch e := x.DType(); {
	case e == ukernel.Float8E4M3 && kernels.HalvesE4M3 != nil && takes:
		return view.BFloat16
	case e == ukernel.Float8E5M2 && kernels.HalvesE5M2 != nil && takes:
		return view.Float16
	default:
		return e
	}
}

// following returns the memory from row lo+n of x on if rows are as many bytes apart as they have:
// what is needed soon while copies of n rows from row lo on are used, or of several runs of which
// these are the last. It holds n rows or more, perhaps of the next page, or it is empty.
func following(x *view.Tensor, h lanes.Head, lo, n int) []byte {
	all, bytes := x.Bytes(), x.DType().Bytes
	at := x.Index(h.Batch, h.Head, lo) + n*x.Stride(2)
	if x.IsPaged() {
		at = placeOf(x, h, lo+n, n)
	}
	if x.Stride(2) != x.Dim(3) || at < 0 || bytes(at+n*x.Dim(3)) > len(all) {
		return nil
	}
	return all[bytes(at):]
}

// placeOf returns where n rows of x, which is paged, lie from row lo on. It is negative if they are
// not all there, on one page.
func placeOf(x *view.Tensor, h lanes.Head, lo, n int) int {
	if lo+n > x.Length(h.Batch) || x.Run(lo, n) < n {
		return -1
	}
	return x.Index(h.Batch, h.Head, lo)
}

// copyHalves writes n rows of 8 bits from row lo on to dst as 16 bits. They are a Run. It returns
// what follows them.
func (r *Reader) copyHalves(dst []uint16, h lanes.Head, lo, n int) []byte {
	x, h, lo := r.locate(h, lo, n)
	d, kernels := x.Dim(3), r.tier.Skinny()
	convert := kernels.HalvesE5M2
	if x.DType() == ukernel.Float8E4M3 {
		convert = kernels.HalvesE4M3
	}
	at := x.Index(h.Batch, h.Head, lo)
	end := at + (n-1)*x.Stride(2) + d // no change of page tables or starts during a call leads assembly beyond
	src, lds, rows := x.Bytes()[at:end], x.Stride(2), n
	if lds == d {
		rows, d, lds = 1, n*d, aheadOf(x, h, lo, n, at)
	}
	if d < ukernel.HalvesColumns { // too few: a copy of them is long enough
		more := view.BytesOf(r.narrow[len(r.narrow)-ukernel.HalvesColumns:])
		copy(more, src)
		src, d = more, ukernel.HalvesColumns
	}
	convert(dst, d, src, lds, rows, d)
	return following(x, h, lo, n)
}

// aheadOf returns a distance of rows of x, which have no gaps. With it kernels for rows of 8 bits
// prefetch n rows from row lo+ukernel.HalvesAhead on. at is the place of row lo. The distance is 0
// if the n rows are on several pages, or lie beyond the memory of x.
func aheadOf(x *view.Tensor, h lanes.Head, lo, n, at int) int {
	if !x.IsPaged() {
		d := x.Stride(2)
		if at+(ukernel.HalvesAhead+n)*d > len(x.Bytes()) {
			return 0
		}
		return d
	}
	if next := placeOf(x, h, lo+ukernel.HalvesAhead, n); next >= 0 {
		return (next - at) / ukernel.HalvesAhead
	}
	return 0
}

// units returns how many units of memory so many elements of x are: bytes of integers of 4 bits.
func units(x *view.Tensor, n int) int {
	if x.DType() == view.Int4 {
		return n >> 1
	}
	return n
}

// withHints returns the rows of KV head h of x from row lo on, n of them or fewer where a page
// ends, with prefetch hints, which begin within the memory of x. all is the memory of x in units.
// (The results are no struct: the compiler keeps one of this size in memory, which took a tenth of
// a small call.)
func withHints[E any](t *tier.Tier, x *view.Tensor, h lanes.Head, lo, n int, all []E) (rows []E, got int, next []E, far int) {
	if x.IsPaged() {
		return pagesWithHints(t, x, h, lo, n, all)
	}
	at, stride := units(x, x.Index(h.Batch, h.Head, lo)), units(x, x.Stride(2))
	rows = all[at : at+(n-1)*stride+units(x, x.Dim(3))]
	ahead, left := rowsAhead(t, x), (len(all)-at)/max(1, stride)
	if n < ukernel.SkinnyKeys || ahead >= left { // too short to hide the time of a prefetch, or nothing follows
		return rows, n, rows, 0
	}
	if far = farRows(t, ahead); ahead+far >= left {
		far = 0
	}
	return rows, n, all[at+ahead*stride:], far * stride
}

// farRows returns how far the rows lie from those needed soon, ahead rows ahead, that are
// prefetched as well.
func farRows(t *tier.Tier, ahead int) int {
	if t.FarPrefetch < 0 {
		return -ahead / 2
	}
	return t.FarPrefetch * ahead
}

// rowsAhead returns how many rows ahead x is prefetched, a multiple of SkinnyKeys.
func rowsAhead(t *tier.Tier, x *view.Tensor) int {
	return max(ukernel.SkinnyKeys, t.PrefetchBytes/x.DType().Bytes(x.Dim(3))&^(ukernel.SkinnyKeys-1))
}

// pagesWithHints is withHints for a tensor in pages, the next of which may lie anywhere.
// The rows at next and at next+far must lie at equal distances, too. So the rows end
// where the first of these pages ends, two or three, unless that leaves fewer than
// SkinnyKeys rows, here or after them: kernels take as many at a time.
func pagesWithHints[E any](t *tier.Tier, x *view.Tensor, h lanes.Head, lo, n int, all []E) (rows []E, got int, next []E, far int) {
	ahead := rowsAhead(t, x)
	pages, size := x.Pages(h.Batch)
	page, row := lo/size, lo%size
	run := min(n, size-row)
	left := x.Length(h.Batch) - lo
	var at [3]int // of the rows, of those needed soon, of those after them
	for i := range 2 + max(0, t.FarPrefetch) {
		if i > 0 && left > ahead {
			left -= ahead
			if row += ahead; row >= size {
				page, row = page+row/size, row%size
			}
			if end := size - row; end >= ukernel.SkinnyKeys && run-end >= ukernel.SkinnyKeys {
				run = end
			}
		}
		at[i] = units(x, x.At(int(pages[page]), h.Head, row))
	}
	stride := units(x, x.Stride(2))
	rows = all[at[0] : at[0]+(run-1)*stride+units(x, x.Dim(3))]
	switch {
	case t.FarPrefetch > 0:
		far = at[2] - at[1]
	case row+farRows(t, ahead) >= 0:
		far = farRows(t, ahead) * stride
	}
	return rows, run, all[at[1]:], far
}
