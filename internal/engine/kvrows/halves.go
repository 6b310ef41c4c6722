package kvrows

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/engine/lanes"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/view"
)

// halves holds up to a block of rows as units for tiles take factors of products in bfloat16: in 16
// bits, with zeros up to whole segments.
type halves struct {
	rows    []uint16 // Depth numbers each
	columns []uint16 // the transpose of rows, a block of keys each
	cached  kept

	rowsUsage, columnsUsage parallel.Usage
}

func (p *halves) fit(m *parallel.Memory, d int, columns bool) {
	parallel.Fit(m, &p.rowsUsage, &p.rows, blockKeys*Depth(d), parallel.Make[uint16])
	if columns {
		parallel.Fit(m, &p.columnsUsage, &p.columns, blockKeys*Depth(d), parallel.Make[uint16])
	}
}

// Depth is the number of factors of whole segments that n of them take.
func Depth(n int) int { return ints.RoundUp(n, contract.BF16Segment) }

// Rounded returns rows from row lo on, n or more, Depth of their columns apart.
func (r *Reader) Rounded(h lanes.Head, lo, n int) []uint16 {
	p, depth := &r.halves, Depth(r.x.Dim(3))
	if from := p.cached.from(h, lo, lo+n); from < lo+n {
		r.round(p.rows[(from-p.cached.Lo)*depth:], h, mask.Span{Lo: from, Hi: lo + n})
	}
	return p.rows[(lo-p.cached.Lo)*depth:]
}

// Transposed returns the columns of some rows, blockKeys numbers apart: row x is number x+phase
// modulo that. Numbers of the segments of those rows that no row has are zeros. The rows are in one
// block.
func (r *Reader) Transposed(h lanes.Head, keys mask.Span, phase int) []uint16 {
	const seg = contract.BF16Segment
	p, depth := &r.halves, Depth(r.x.Dim(3))
	place := func(x int) int { return (x + phase) % blockKeys }
	if keys.Lo+phase-place(keys.Lo) != p.cached.Lo+phase-place(p.cached.Lo) {
		p.cached.forget()
	}
	from := p.cached.from(h, keys.Lo, keys.Hi)
	if from >= keys.Hi {
		return p.columns
	}
	begin, at := place(from), place(from)/seg*seg
	end := place(keys.Hi-1) + 1
	if from == p.cached.Lo {
		clear(p.rows[at*depth : begin*depth])
	}
	clear(p.rows[end*depth : Depth(end)*depth])
	r.round(p.rows[begin*depth:], h, mask.Span{Lo: from, Hi: keys.Hi})
	for ; at < end; at += seg {
		for e, n := 0, 0; e < depth; e += n {
			n = min(depth-e, rows.MaxConvert/seg)
			r.tier.Convert().PackHalves(p.columns[e*blockKeys+at:], blockKeys, p.rows[at*depth+e:], depth, seg, n)
		}
	}
	return p.columns
}

// round writes rows as bfloat16 to dst.
func (r *Reader) round(dst []uint16, h lanes.Head, keys mask.Span) {
	d := r.x.Dim(3)
	depth := Depth(d)
	for n := 0; keys.Lo < keys.Hi; keys.Lo += n {
		if n = keys.Len(); rows.NarrowsFactors(r.x) {
			n = r.Run(h, keys.Lo, n)
			x, h, lo := r.locate(h, keys.Lo, n)
			rows.NarrowFactors(r.tier, dst, depth, x, x.Index(h.Batch, h.Head, lo), x.Stride(2), n)
		} else {
			n = min(n, max(1, rows.MaxConvert/d))
			from, stride, _ := r.Floats(h, keys.Lo, n)
			r.tier.Convert().Narrow[view.BFloat16](view.BytesOf(dst), 2*depth, from, stride, n, d)
			for i := range n {
				clear(dst[i*depth+d : (i+1)*depth])
			}
		}
		dst = dst[n*depth:]
	}
}
