package network

import (
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/tensors"
)

// shared reads what all layers have of distances.
func (b *builder) shared() {
	t := b.model.Layers[0].Attention()
	if t == nil {
		return
	}
	if t.Relative > 0 {
		b.relative = &Relative{Heads: t.Heads, Table: b.Floats("attn_rel_b.weight", t.Relative, t.Heads)}
	}
	d := t.Apart
	if d == nil {
		return
	}
	b.places = &Distances{Span: d.Span, Buckets: d.Buckets, Most: d.Most}
	b.buckets = b.rows("rel_embd.weight", 2*d.Span, b.model.Width)
	if !d.Norm {
		return
	}
	a := b.norm(b.model.Layers[0].Norm, "rel_embd_norm")
	if b.Err() == nil && b.Dry == nil {
		b.Fail(a.apply(kernel.Exec{}, b.buckets, b.buckets, nil, false))
	}
}

// apart computes the keys and queries of a layer that stand for buckets, once for all
// calls: by the layers of keys and queries, or by layers of their own.
func (b *builder) apart(i int, d *arch.Apart, a *Attention) *Apart {
	w, out := b.model.Width, &Apart{Distances: b.places}
	var y []float32
	for _, x := range []struct {
		is   bool
		to   *[]*linear.Linear
		name string
		from int // column of QKV
	}{{d.OfContent, &out.Keys, "attn_rel_k", a.keys()}, {d.OfPosition, &out.Queries, "attn_rel_q", 0}} {
		l := a.QKV
		if x.is && !d.Shared {
			l, x.from, y = b.Linear(tensors.Reads, part(i, x.name, arch.Present, w, w)), 0, nil
		}
		if x.is && y == nil {
			y = b.ofBuckets(l)
		}
		if x.is {
			*x.to = b.perHead(a, y, l.N, x.from)
		}
	}
	return out
}

// ofBuckets returns what a layer makes of the buckets.
func (b *builder) ofBuckets(l tensors.Linear) []float32 {
	if b.Err() != nil || b.Dry != nil {
		return nil
	}
	n := 2 * b.places.Span
	y := make([]float32, n*l.N)
	p := &Pass{Settings: Settings{Int8: b.Pack.Int8()}}
	b.Fail(p.apply(&l, y, b.buckets, n, b.model.Width, 0))
	return y
}

// perHead returns layers whose weights are the columns of each head, of rows of stride
// numbers, from a column on.
func (b *builder) perHead(a *Attention, rows []float32, stride, from int) (all []*linear.Linear) {
	n := 2 * b.places.Span
	if b.Dry != nil {
		b.Dry.Floats(n, b.model.Width)
		return nil
	}
	for h := 0; h < a.Heads && b.Err() == nil; h++ {
		l, err := linear.New(linear.StridedMatrix(rows[from+h*a.Size:], n, a.Size, stride, 1), nil, kernel.Exec{})
		b.Fail(err)
		all = append(all, l)
	}
	return all
}
