package engine

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/view"
)

// pairRows holds rows of integers of one tensor and KV head in pairs, see ukernel.Converters.PairColumns and
// PairRows, up to a block of them, piece by piece. All tiles of a KV head share them.
type pairRows struct {
	memory []int32
	usage  parallel.Usage
	head   kvHead
	cached mask.Span // the tile coordinates of the rows in memory
}

func (p *pairRows) fit(m *parallel.Memory, d int) {
	parallel.Fit(m, &p.usage, &p.memory, BlockKeys/2*d, parallel.Make[int32])
}

// forget empties the cache.
func (p *pairRows) forget() { p.cached = mask.Span{} }

// of returns the pairs of w columns, from at on, of rows from lo on.
func (p *pairRows) of(at, w, lo int) []int32 { return p.memory[(at*BlockKeys+(lo-p.cached.Lo)*w)/2:] }

// widen adds to p those rows of x that it lacks, as the pairs that pair makes of them. For pairs of rows keys.Lo is even.
func (t *tile) widen(p *pairRows, x *view.Tensor, keys mask.Span, pair func(dst []int32, src []int8, lds, n, d int)) {
	const seg = contract.ValueSegment
	d, group := x.Dim(3), x.Group()
	if t.head != p.head || keys.Lo < p.cached.Lo || keys.Lo > p.cached.Hi || keys.Hi-p.cached.Lo > BlockKeys {
		p.head, p.cached = t.head, mask.Span{Lo: keys.Lo, Hi: keys.Lo}
	}
	lo := p.cached.Hi
	if lo >= keys.Hi {
		return
	}
	if lo > p.cached.Lo {
		lo &^= 1 // the last row may lack its second
	}
	for n := 0; lo < keys.Hi; lo += n {
		n = min(keys.Hi-lo, seg-lo%seg)
		src, stride, _ := t.segmentRows(x, lo-t.phase, n)
		for at, w := 0, 0; at < d; at += w {
			w = pieceOf(group, at)
			pair(p.of(at, w, lo), src[at:], stride, n, w)
		}
	}
	p.cached.Hi = keys.Hi
}

// segmentRows returns the rows of a segment as int8, their distance and those that are needed soon. Rows on several
// pages are gathered, and 4 bits unpacked.
func (t *tile) segmentRows(x *view.Tensor, lo, n int) (v []int8, stride int, next []int8) {
	if x.DType() == view.Int8 && x.Run(lo, n) == n {
		v, _, next, _ = withHints(t.job.tier, x, t.head, lo, n, x.I8())
		return v, x.Stride(2), next
	}
	d := x.Dim(3)
	v = t.scratch.values.codes[:n*d]
	for at, run := 0, 0; at < n; at += run {
		run = x.Run(lo+at, n-at)
		t.codesOf(v[at*d:], x, lo+at, run)
	}
	return v, d, v
}

// codesOf writes n rows of x, from row lo on, to dst as int8. They lie on one page.
func (t *tile) codesOf(dst []int8, x *view.Tensor, lo, n int) {
	d, bytes := x.Dim(3), x.DType().Bytes
	at := x.Index(t.head.batch, t.head.head, lo)
	if x.DType() == view.Int8 {
		rows.Copy(dst, d, x.I8()[at:], x.Stride(2), n, d)
		return
	}
	end := at + (n-1)*x.Stride(2) + d // no change of page tables or starts during a call leads assembly beyond
	t.job.tier.Convert().UnpackInt4(dst, d, x.Bytes()[bytes(at):bytes(end)], bytes(x.Stride(2)), n, d)
}
