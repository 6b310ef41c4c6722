package network

import (
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/norm"
)

// A Latent is attention over latents, of which a token has one for all heads. The cache keeps it,
// normalised, with the key that rotates after it, as one head of keys whose values are its first
// elements. Queries are brought to the latents, not latents to the keys of heads, in prompts as in
// single tokens: so their bits are the same.
type Latent struct {
	Attention                  // over the latents; InKeys is their size
	Query       tensors.Linear // of all heads: plain elements and then those that rotate
	QueryRank   tensors.Linear // is before Query, with a norm between them, or has no parts
	QueryNorm   *Norm
	KeyValue    tensors.Linear // a latent, and the key that rotates
	LatentNorm  *Norm
	Keys        []tensors.Linear // of each head: from plain elements of a query to a latent
	HeadValues  []tensors.Linear // of each head: from a latent to a value
	Plain, Head int              // elements of a query, and of a value
}

func (a *Latent) layers() []tensors.Linear {
	all := []tensors.Linear{a.QueryRank, a.Query, a.KeyValue, a.Out}
	return append(append(all, a.Keys...), a.HeadValues...)
}

func (a *Latent) mix(p *Pass, layer int, y, h []float32) error {
	defer p.release(p.mark())
	rows, width := len(p.Tokens), a.width()
	w := len(h) / rows
	qkv, queries, latents := p.floats.take(rows*width), p.floats.take(rows*a.Query.N), p.floats.take(rows*a.Size)
	if err := a.queries(p, queries, h, rows, w); err != nil {
		return err
	}
	if err := p.apply(&a.KeyValue, latents, h, rows, w, 0); err != nil {
		return err
	}
	view := inRows(latents, rows, 1, a.InKeys, a.Size)
	if err := a.LatentNorm.of(view, view, norm.Options{Exec: p.Exec}); err != nil {
		return err
	}
	for row := range rows {
		copy(qkv[row*width+a.keys():][:a.Size], latents[row*a.Size:])
	}
	if err := spread(p, a.Heads, rows*a.Plain*a.InKeys, absorbed{a, qkv, queries, rows}, absorb); err != nil {
		return err
	}
	if err := spread(p, rows, width, rotated{&a.Attention, qkv}, rotate); err != nil {
		return err
	}
	p.see("layer.qkv", layer, qkv)
	out, rows, err := a.wanted(p, layer, qkv)
	if err != nil || rows == 0 {
		return err
	}
	values := p.floats.take(rows * a.Heads * a.Head)
	if err := spread(p, a.Heads, rows*a.Head*a.InKeys, absorbed{a, values, out, rows}, expand); err != nil {
		return err
	}
	return p.apply(&a.Out, y, values, rows, a.Heads*a.Head, 0)
}

// queries computes the queries of all heads.
func (a *Latent) queries(p *Pass, out, h []float32, rows, w int) error {
	if a.QueryNorm == nil {
		return p.apply(&a.Query, out, h, rows, w, 0)
	}
	n := a.QueryRank.N
	low := p.floats.take(rows * n)
	if err := p.apply(&a.QueryRank, low, h, rows, w, 0); err != nil {
		return err
	}
	if err := a.QueryNorm.apply(p.Exec, low, low, nil, false); err != nil {
		return err
	}
	return p.apply(&a.Query, out, low, rows, n, 0)
}

// An absorbed is rows of all heads, and what they are made of.
type absorbed struct {
	*Latent
	out, in []float32
	rows    int
}

// absorb brings the queries of some heads to the latents.
func absorb(p *Pass, a absorbed, lo, hi int) error {
	size, width := a.Query.N/a.Heads, a.width()
	for h := lo; h < hi; h++ {
		if err := p.head(&a.Keys[h], a.out[h*a.Size:], width, a.in[h*size:], a.Query.N, a.rows); err != nil {
			return err
		}
		for row := range a.rows {
			copy(a.out[row*width+h*a.Size+a.InKeys:][:a.Size-a.InKeys], a.in[row*a.Query.N+h*size+a.Plain:])
		}
	}
	return nil
}

// expand makes values of the latents that attention has returned of some heads.
func expand(p *Pass, a absorbed, lo, hi int) error {
	for h := lo; h < hi; h++ {
		if err := p.head(&a.HeadValues[h], a.out[h*a.Head:], a.Heads*a.Head, a.in[h*a.InKeys:], a.Heads*a.InKeys, a.rows); err != nil {
			return err
		}
	}
	return nil
}

// head applies the layer of a head to rows that are strides apart.
func (p *Pass) head(l *tensors.Linear, out []float32, outStride int, x []float32, stride, rows int) error {
	part := l.One()
	n, k := part.Shape()
	o := linear.Options{Exec: p.oneThread(), DynamicInt8: p.Int8 && part.Format() != 0}
	return part.Apply(linear.StridedMatrix(out, rows, n, outStride, 1), linear.StridedMatrix(x, rows, k, stride, 1), o)
}

// latent reads attention over latents.
func (b *builder) latent(i int, t *arch.Latent) *Latent {
	w, queries := b.model.Width, t.Heads*(t.Plain+t.Turned())
	a := &Latent{
		Attention: Attention{
			Heads: t.Heads, KVHeads: 1, Size: t.Size, InKeys: t.Rank, Still: t.Rank, Rope: b.rope(t.Rope), Scale: t.Scale,
			Window: t.Window, BothWays: b.model.BothWays, Out: b.Linear(tensors.Writes, part(i, "attn_output", t.OutBias, w, t.Heads*t.Values)),
		},
		KeyValue: b.Linear(tensors.Reads, part(i, "attn_kv_a_mqa", t.Bias, t.Size, w)), LatentNorm: ReadNorm(t.Norm, b.Reader, at(i, "attn_kv_a_norm"), t.Rank),
		Plain: t.Plain, Head: t.Values,
	}
	if n := t.QueryRank; n > 0 {
		a.QueryRank, a.QueryNorm = b.Linear(tensors.Reads, part(i, "attn_q_a", t.Bias, n, w)), ReadNorm(t.Norm, b.Reader, at(i, "attn_q_a_norm"), n)
		a.Query = b.Linear(tensors.Inner, part(i, "attn_q_b", arch.Absent, queries, n))
	} else {
		a.Query = b.Linear(tensors.Reads, part(i, "attn_q", arch.Absent, queries, w))
	}
	for h := 0; h < t.Heads && b.Err() == nil; h++ {
		a.Keys = append(a.Keys, b.Linear(tensors.Inner, head(i, "attn_k_b", t.Heads, h, t.Rank, t.Plain)))
		a.HeadValues = append(a.HeadValues, b.Linear(tensors.Inner, head(i, "attn_v_b", t.Heads, h, t.Values, t.Rank)))
	}
	return a
}

// head returns the matrix of a head, of a tensor with the matrices of all heads.
func head(i int, name string, heads, head, n, k int) tensors.Part {
	p := part(i, name, arch.Absent, n, k)
	p.Shape, p.First, p.Rows = []int{heads, n, k}, head*n, n
	return p
}
