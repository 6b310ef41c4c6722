package engine

import (
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
)

// Keys, values and queries of other types than float32 are widened row by row where
// they are used, and the engine computes with float32 alone, except for skinny
// tiles (skinny.go). Keys and values of a block go into scratch memory that
// all tiles of a KV head share. Widening is exact, or with scales one rounded product:
// it does not matter how often and where it is done. Rows in pages are gathered in
// the same way.

// floatRows holds rows of one tensor and KV head as float32, up to a block of them.
type floatRows struct {
	copies bool // rows are copied to memory as float32; otherwise get returns the tensor's own
	memory []float32
	usage  parallel.Usage
	head   kvHead
	cached mask.Span // the rows in memory, the first one at its start

	asCodes bool // memory has integers without their scales, see quantized.go

	codes      []int8 // rows of 4 bits for skinny tiles, see int4.go; rows that are gathered, see quantized_rows.go
	codesUsage parallel.Usage
}

// forget empties the cache.
func (f *floatRows) forget() { f.cached = mask.Span{} }

// fit makes room for a block of rows of t. Rows are copied unless they are float32 and lie
// at equal distances; those in pages are copied if gather is true.
func (f *floatRows) fit(m *parallel.Memory, t *view.Tensor, gather bool) {
	f.copies = t.DType() != view.Float32 || t.IsPaged() && gather
	if f.copies {
		parallel.Fit(m, &f.usage, &f.memory, BlockKeys*t.Dim(3), rows.Aligned)
	}
	if t.DType() == view.Int4 {
		parallel.Fit(m, &f.codesUsage, &f.codes, int4Piece*t.Dim(3), parallel.Make[int8])
	}
}

// get returns n ≥ 1 rows of KV head h of x from row lo on, their distance and their
// number, which is less than n where a page ends and rows are not copied. Cached rows are
// not converted again, and only rows that are asked for are read.
func (f *floatRows) get(t *tier.Tier, x *view.Tensor, h kvHead, lo, n int) (data []float32, stride, got int) {
	if x.DType() == view.Float32 {
		if run := x.Run(lo, n); run == n || !f.copies {
			return x.Rows(h.batch, h.head, lo, run), x.Stride(2), run
		}
	}
	d := x.Dim(3)
	if h != f.head || lo < f.cached.Lo || lo > f.cached.Hi || lo-f.cached.Lo+n > BlockKeys {
		f.head, f.cached = h, mask.Span{Lo: lo, Hi: lo}
	}
	if end := lo + n; end > f.cached.Hi {
		widen := rows.Widen
		if f.asCodes {
			widen = rows.WidenCodes
		}
		widen(t, f.memory[f.cached.Len()*d:], x, h.batch, h.head, f.cached.Hi, end-f.cached.Hi)
		f.cached.Hi = end
	}
	at := (lo - f.cached.Lo) * d
	return f.memory[at : at+n*d], d, n
}
