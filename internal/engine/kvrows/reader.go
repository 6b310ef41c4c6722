// Package kvrows reads rows of keys and values as kernels take them: in place, or
// converted, gathered from pages or paired in memory that all tiles of a KV head share.
//
// Widening to float32 is exact, or with scales one rounded product: it does not matter
// how often and where it is done.
package kvrows

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/engine/lanes"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// blockKeys is the most rows that are kept.
const blockKeys = contract.KeyBlock

// A Reader reads rows of one tensor, one KV head at a time. Keys are counted as rows of the tensor,
// or as entries of the head's list. It is the memory of one goroutine.
type Reader struct {
	tier *tier.Tier
	x    *view.Tensor

	rounds bool // rows are rounded to bfloat16
	small  bool // pages: rows are copied as a list's are
	copies bool // rows are copied to memory as float32; otherwise they are read in place
	widen  func(t *tier.Tier, dst []float32, x *view.Tensor, b, h, l, n int)
	memory []float32
	cached kept // the rows in memory

	codes  []int8   // rows of 4 bits, or from several pages, as int8
	narrow []uint16 // rows of 8 bits as 16 bits, or rows of WholeHalves
	pairs  pairs
	halves halves
	list   list
	even   evenRows

	scaleRows [ukernel.MaxLanes]int // offsets for transpose and gatherScales

	usage, codesUsage, narrowUsage parallel.Usage
}

// A Need says what a call asks its Readers for.
type Need struct {
	Gather     bool // rows in pages as if they lay at equal distances
	SmallPages bool // rows in pages that are copied as a list's are
	Listed     bool // some rows, see Rows
	Path       int  // and of queries of a tree, so many at most
	Pairs      bool // of integers
	Codes      bool // integers without their scales, as float32

	BFloat16    bool // rows rounded as products in bfloat16 take them, as float32
	WholeHalves bool // and as bfloat16 by WholeHalves
	Halves      bool // and as bfloat16 with zeros up to whole segments
	Columns     bool // and those transposed
}

// kept says which rows of a head are in memory, the first one at its start.
type kept struct {
	head lanes.Head
	mask.Span
}

// from makes rows lo to hi of h some of those in memory, and returns from which on they are missing
// there. Those before them stay, unless there are more than a block then.
func (k *kept) from(h lanes.Head, lo, hi int) int {
	if h != k.head || lo < k.Lo || lo > k.Hi || hi-k.Lo > blockKeys {
		k.head, k.Span = h, mask.Span{Lo: lo, Hi: lo}
	}
	missing := k.Hi
	k.Hi = max(k.Hi, hi)
	return missing
}

// forget forgets all rows.
func (k *kept) forget() { k.Span = mask.Span{} }

// Fit makes room for blocks of rows of x. Rows are copied unless they are float32 and lie
// at equal distances.
func (r *Reader) Fit(m *parallel.Memory, x *view.Tensor, need Need) {
	d := x.Dim(3)
	r.small = need.SmallPages
	need.Listed = need.Listed || r.small
	if r.widen = rows.Widen; need.Codes {
		r.widen = rows.WidenCodes
	} else if need.BFloat16 {
		r.widen = rows.WidenBFloat16
	}
	r.rounds = need.BFloat16
	r.copies = r.rounds || x.DType() != view.Float32 || (x.IsPaged() || need.Listed) && need.Gather
	if r.copies {
		parallel.Fit(m, &r.usage, &r.memory, blockKeys*d, rows.Aligned)
	}
	if x.DType() == view.Int4 || need.Pairs {
		parallel.Fit(m, &r.codesUsage, &r.codes, int8Rows*d+ukernel.SkinnyGroup, parallel.Make[int8])
	}
	if columns := WholeColumns(x); need.WholeHalves && columns > d {
		parallel.Fit(m, &r.narrowUsage, &r.narrow, wholeRows(columns)*columns, parallel.Make[uint16])
	} else if x.DType() == ukernel.Float8E4M3 || x.DType() == ukernel.Float8E5M2 {
		parallel.Fit(m, &r.narrowUsage, &r.narrow, narrowRows*columns, parallel.Make[uint16])
	}
	if need.Listed {
		r.list.fit(m, x, need.Path)
	}
	if need.Halves {
		r.halves.fit(m, d, need.Columns)
	}
	if need.Pairs {
		columns, _ := CodeColumns(x)
		parallel.Fit(m, &r.pairs.usage, &r.pairs.memory, blockKeys/2*columns, parallel.Make[int32])
	}
}

// Len returns the size of the memory for rows as float32.
func (r *Reader) Len() int { return len(r.memory) }

// Begin begins a call on rows of x, or on some of them if rows is not nil.
func (r *Reader) Begin(t *tier.Tier, x *view.Tensor, rows *Rows) {
	r.tier, r.x = t, x
	r.cached.forget()
	r.pairs.cached.forget()
	r.halves.cached.forget()
	if rows == nil && r.small {
		rows = &everyRow
	}
	r.list.places.keys, r.list.shared = mask.Span{}, &r.list.places
	if r.list.rows = nil; rows != nil {
		r.list.begin(x, rows)
	}
}

// Floats returns n ≥ 1 rows from row lo on, their distance and their number, which is
// less than n where a page ends and rows are not copied. Rows that are kept are not
// converted again, and only rows that are asked for are read.
func (r *Reader) Floats(h lanes.Head, lo, n int) (data []float32, stride, got int) {
	x := r.x
	if x.DType() == view.Float32 && !r.rounds {
		if run := r.Run(h, lo, n); run == n || !r.copies {
			x, h, lo := r.locate(h, lo, run)
			return x.Rows(h.Batch, h.Head, lo, run), x.Stride(2), run
		}
	}
	d := x.Dim(3)
	end := lo + n
	for from, more := r.cached.from(h, lo, end), 0; from < end; from += more {
		more = end - from
		if in := r.inPlace(h, from, more); in > 0 {
			more = in
		}
		x, h, lo := r.locate(h, from, more)
		r.widen(r.tier, r.memory[(from-r.cached.Lo)*d:], x, h.Batch, h.Head, lo, more)
	}
	at := (lo - r.cached.Lo) * d
	return r.memory[at : at+n*d], d, n
}

// LastColumns returns the last columns of n rows from row lo on, as float32 without gaps.
func (r *Reader) LastColumns(h lanes.Head, lo, n, columns int) []float32 {
	r.cached.forget()
	for at, run := 0, 0; at < n; at += run {
		run = r.Run(h, lo+at, n-at)
		x, h, lo := r.locate(h, lo+at, run)
		rows.WidenLast(r.tier, r.memory[at*columns:], x, h.Batch, h.Head, lo, run, columns)
	}
	return r.memory[:n*columns]
}
