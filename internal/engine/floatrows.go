package engine

import (
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// Keys, values and queries of other types than float32 are widened row by row where
// they are used, and the engine computes with float32 alone, except for skinny
// tiles (skinny_narrow.go). Keys and values of a block go into scratch memory that
// all tiles of a KV head share. Widening is exact, or for int8 one rounded product:
// it does not matter how often and where it is done. Rows in pages are gathered in
// the same way.

// floatRows holds rows of one tensor and KV head as float32, up to a block of them.
type floatRows struct {
	used   bool // otherwise the tensor's own memory is used: float32 at equal distances
	memory []float32
	head   kvHead
	have   mask.Span // the rows that are there, the first one at the start of memory
}

// fit makes room for a block of t and forgets the rows that are there. float32 in
// pages is used as it lies unless gather is true.
func (f *floatRows) fit(t *view.Tensor, gather bool) {
	f.have = mask.Span{}
	f.used = t.DType() != view.Float32 || t.IsPaged() && gather
	if n := BlockKeys * t.Dim(3); f.used && len(f.memory) < n {
		f.memory = rows.Aligned(n)
	}
}

// get returns rows of KV head h of x from row lo on, their distance and their number:
// n ≥ 1, or fewer where a page ends. Rows that are there are not widened again, and
// only rows that are asked for are read.
func (f *floatRows) get(t *ukernel.Tier, x *view.Tensor, h kvHead, lo, n int) (data []float32, stride, got int) {
	if x.DType() == view.Float32 {
		if run := x.Run(lo, n); run == n || !f.used {
			return x.Rows(h.batch, h.head, lo, run), x.Stride(2), run
		}
	}
	d := x.Dim(3)
	if h != f.head || lo < f.have.Lo || lo > f.have.Hi || lo-f.have.Lo+n > BlockKeys {
		f.head, f.have = h, mask.Span{Lo: lo, Hi: lo}
	}
	if end := lo + n; end > f.have.Hi {
		rows.Widen(t, f.memory[f.have.Len()*d:], x, h.batch, h.head, f.have.Hi, end-f.have.Hi)
		f.have.Hi = end
	}
	at := (lo - f.have.Lo) * d
	return f.memory[at : at+n*d], d, n
}
