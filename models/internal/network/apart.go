package network

import (
	"math"
	"sync/atomic"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/powers"
	"github.com/attn-go/attn/models/internal/tensors"
)

// A Distances says how DeBERTa's scores depend on positions. With d(i, j) the bucket of
// the distance i-j, and keys K' and queries Q' that a layer makes of an embedding of each
// bucket,
//
//	score(i, j) = (q_i·k_j + q_i·K'[d(i, j)] + k_j·Q'[d(i, j)])/√(head size · number of terms)
//
// The last two are called content to position (c2p) and position to content (p2c); a model may lack
// either.
type Distances struct {
	Span, Buckets, Most int // embeddings are of the buckets -Span to Span-1; Buckets 0 means a bucket for each distance

	kept atomic.Pointer[[]int]
}

// Apart are the keys and queries of a layer that stand for buckets: of each head a linear
// layer [2·Span, head size], or nil.
type Apart struct {
	*Distances
	Keys, Queries []*linear.Linear
}

// scale is the scale of all scores.
func (a *Apart) scale(headSize int) float32 {
	terms := 1
	for _, of := range [...][]*linear.Linear{a.Keys, a.Queries} {
		if of != nil {
			terms++
		}
	}
	return float32(1 / math.Sqrt(float64(headSize*terms)))
}

// of returns the rows of the distances -(n-1) to n-1. The rows of the longest text so far are kept.
func (d *Distances) of(n int) []int {
	rows := d.kept.Load()
	if rows == nil || len(*rows) < 2*n-1 {
		made := d.rows(n)
		rows = &made
		d.kept.Store(rows)
	}
	longest := (len(*rows) + 1) / 2
	return (*rows)[longest-n:][:2*n-1]
}

// rows returns the row of the embedding for the distances -(n-1) to n-1. middle is half
// of the buckets. A distance up to middle has a bucket of its own. The bucket of a larger
// distance x is middle + ceil(log(x/middle)/log((most-1)/middle)·(middle-1)). So the
// bucket middle + k ends at middle·r^k, where r^(middle-1) = (most-1)/middle. Roots have
// the same bits everywhere, logarithms do not.
func (d *Distances) rows(n int) []int {
	bucket := make([]int, n) // of the distances 0 to n-1
	if d.Buckets == 0 {
		for x := range bucket {
			bucket[x] = x
		}
	} else {
		d.logarithmic(bucket)
	}
	rows := make([]int, 2*n-1)
	for x, b := range bucket {
		rows[n-1+x] = min(d.Span+b, 2*d.Span-1)
		rows[n-1-x] = max(d.Span-b, 0)
	}
	return rows
}

func (d *Distances) logarithmic(bucket []int) {
	middle := d.Buckets / 2
	root := powers.Root(float64(d.Most-1)/float64(middle), middle-1)
	end, k := powers.Number(float64(middle)), 0
	for x := range bucket {
		switch {
		case x <= middle:
			bucket[x] = x
			continue
		case x >= d.Most:
			bucket[x] = d.Span // and all larger ones
			continue
		}
		for k < middle-1 && end.Cmp(powers.Number(float64(x))) < 0 {
			end.Mul(end, root)
			k++
		}
		bucket[x] = middle + k
	}
}

// mostBias is the most numbers of a bias that are kept at once, if a head has fewer.
const mostBias = 1 << 24

// attendApart computes attention with scores of positions, which are a bias of as many
// heads as are computed together, one text after the other.
func (a *Attention) attendApart(p *Pass, out, qkv []float32, most int) error {
	defer p.release(p.mark())
	squares, wide := 0, 2*a.Apart.Span
	for i := range p.texts() {
		squares += p.count(i) * p.count(i)
	}
	together := min(a.Heads, max(1, most/max(1, squares)))
	all := p.floats.take(together * squares)
	c2p, p2c := p.floats.take(len(p.Tokens)*wide), p.floats.take(len(p.Tokens)*wide)
	scale := a.Apart.scale(a.Size)
	a.Apart.of(p.longest()) // once for all texts
	for first := 0; first < a.Heads; first += together {
		group := min(together, a.Heads-first)
		for h := range group {
			if err := a.positions(p, qkv, first+h, c2p, p2c); err != nil {
				return err
			}
			bias := all
			for i := range p.texts() {
				at, n := p.Starts[i], p.count(i)
				addApart(bias[h*n*n:][:n*n], c2p[at*wide:], p2c[at*wide:], a.Apart.of(n), n, wide, scale)
				bias = bias[group*n*n:]
			}
		}
		bias := all
		for i := range p.texts() {
			n := p.count(i)
			heads := func(x []float32, column, stride int) kernel.Tensor {
				return inRows(x[p.Starts[i]*stride+column+first*a.Size:], n, group, a.Size, stride)
			}
			o := kernel.Options{Exec: p.Exec, Scoring: kernel.Scoring{Scale: scale, Bias: kernel.BHLD(bias, 1, group, n, n)}}
			q, k, v := heads(qkv, 0, a.width()), heads(qkv, a.keys(), a.width()), heads(qkv, a.values(), a.width())
			if err := kernel.Attention(heads(out, 0, a.keys()), q, k, v, &o); err != nil {
				return err
			}
			bias = bias[group*n*n:]
		}
	}
	return nil
}

// positions computes the products of a head's queries and keys with the places of
// buckets, [tokens, 2·Span] each.
func (a *Attention) positions(p *Pass, qkv []float32, head int, c2p, p2c []float32) error {
	rows := len(p.Tokens)
	for _, x := range [...]struct {
		of     []*linear.Linear
		column int // of queries or keys
		to     []float32
	}{{a.Apart.Keys, 0, c2p}, {a.Apart.Queries, a.keys(), p2c}} {
		if x.of == nil {
			clear(x.to)
			continue
		}
		in := linear.StridedMatrix(qkv[x.column+head*a.Size:], rows, a.Size, a.width(), 1)
		if err := x.of[head].Apply(linear.DenseMatrix(x.to, rows, 2*a.Apart.Span), in, linear.Options{Exec: p.Exec}); err != nil {
			return err
		}
	}
	return nil
}

// addApart writes the scores of positions of a head, [n, n]: (c2p[i][d] +
// p2c[j][d])·scale, with d the row of the distance i-j. It goes over the keys in parts
// whose rows of p2c stay in the cache.
func addApart(bias, c2p, p2c []float32, distances []int, n, wide int, scale float32) {
	const part = 32
	for from := 0; from < n; from += part {
		to := min(from+part, n)
		for i := range n {
			ofQuery := c2p[i*wide:][:wide]
			row, rows := bias[i*n+from:i*n+to], distances[i-(to-1)+n-1:][:to-from] // of the distances from i-(to-1) to i-from
			for j := range row {
				d := rows[len(rows)-1-j]
				row[j] = float32(ofQuery[d]+p2c[(from+j)*wide+d]) * scale
			}
		}
	}
}

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
