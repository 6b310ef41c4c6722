package encoder

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/internal/powers"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/norm"
)

// A disentangled says how DeBERTa's scores depend on positions. With d(i, j) the bucket of the distance i-j, and keys K' and queries
// Q' that a layer makes of an embedding of each bucket,
//
//	score(i, j) = (q_i·k_j + q_i·K'[d(i, j)] + k_j·Q'[d(i, j)])/√(head size · number of terms)
//
// The last two are called content to position (c2p) and position to content (p2c); a model may lack one of them.
type disentangled struct {
	span, buckets, most   int // embeddings are of the buckets -span to span-1; buckets 0 means a bucket for each distance
	ofContent, ofPosition bool
	shared                bool   // K' and Q' are made by the layers of keys and queries
	norm                  string // of the embeddings, or ""
	keys, queries         string // the layers that make K' and Q' if they are not shared
}

// scale is that of all scores.
func (d *disentangled) scale(headSize int) float32 {
	terms := 1
	for _, is := range [...]bool{d.ofContent, d.ofPosition} {
		if is {
			terms++
		}
	}
	return float32(1 / math.Sqrt(float64(headSize*terms)))
}

// rows returns the row of the embedding for the distances -(n-1) to n-1. middle is half of the buckets. A distance up to middle
// has a bucket of its own. The bucket of a larger distance x is middle + ceil(log(x/middle)/log((most-1)/middle)·(middle-1)). So the
// bucket middle + k ends at middle·r^k, where r^(middle-1) = (most-1)/middle. Roots have the same bits everywhere, logarithms do not.
func (d *disentangled) rows(n int) []int {
	bucket := make([]int, n) // of the distances 0 to n-1
	if d.buckets == 0 {
		for x := range bucket {
			bucket[x] = x
		}
	} else {
		d.logarithmic(bucket)
	}
	rows := make([]int, 2*n-1)
	for x, b := range bucket {
		rows[n-1+x] = min(d.span+b, 2*d.span-1)
		rows[n-1-x] = max(d.span-b, 0)
	}
	return rows
}

func (d *disentangled) logarithmic(bucket []int) {
	middle := d.buckets / 2
	root := powers.Root(float64(d.most-1)/float64(middle), middle-1)
	end, k := powers.Number(float64(middle)), 0
	for x := range bucket {
		switch {
		case x <= middle:
			bucket[x] = x
			continue
		case x >= d.most:
			bucket[x] = d.span // and all larger ones
			continue
		}
		for k < middle-1 && end.Cmp(powers.Number(float64(x))) < 0 {
			end.Mul(end, root)
			k++
		}
		bucket[x] = middle + k
	}
}

// places are the keys and queries of a layer that stand for buckets: of each head a linear layer [2·span, head size], or nil.
type places struct{ keys, queries []*linear.Linear }

// readPlaces computes them of the embeddings of buckets, [2·span, Width], once for all calls.
func (r *reader) readPlaces(s *spec, l *layer, i int, buckets []float32) (p places) {
	d, w, n := s.apart, s.Width, 2*s.apart.span
	if d.shared {
		all := r.applied(l.qkv, buckets, n, w, 3*w)
		if d.ofContent {
			p.keys = r.perHead(s, all, w, 3*w)
		}
		if d.ofPosition {
			p.queries = r.perHead(s, all, 0, 3*w)
		}
		return p
	}
	place := func(name string) *linear.Linear {
		return r.Linear(tensors.Reads, tensors.Part{Name: at(name, i), Shape: []int{w, w}, Bias: tensors.Biased}).One()
	}
	if d.ofContent {
		p.keys = r.perHead(s, r.applied(place(d.keys), buckets, n, w, w), 0, w)
	}
	if d.ofPosition {
		p.queries = r.perHead(s, r.applied(place(d.queries), buckets, n, w, w), 0, w)
	}
	return p
}

// checkPlaces reports keys and queries of positions that take much more memory than the file has weights: few weights can
// stand for many buckets in many layers.
func (r *reader) checkPlaces(s *spec) {
	each := 4 * int64(2*s.apart.span) * int64(s.Width) // bytes of those of a layer
	if most := max(2*r.Bytes(), 1<<24); 2*each > most/int64(s.Layers) {
		r.Fail(&kernel.Error{Where: r.path + ": position_buckets, max_relative_positions", Got: fmt.Sprintf("%d, whose keys and queries take %d bytes in each of %d layers", s.apart.span, 2*each, s.Layers), Want: fmt.Sprintf("at most %d bytes together, twice those of the weights", most)})
	}
}

// readBuckets reads the embeddings of buckets.
func (r *reader) readBuckets(s *spec) []float32 {
	d := s.apart
	r.checkPlaces(s)
	x := r.Floats(s.names.relative+".weight", 2*d.span, s.Width)
	tensors.PermuteColumns(x, r.Pack.Order)
	if d.norm == "" {
		return x
	}
	a := r.affine(d.norm, s)
	if r.Err() == nil && r.Dry == nil {
		rows := kernel.BLHD(x, 1, 2*d.span, 1, s.Width)
		r.Fail(norm.LayerNorm(rows, rows, a.weight, a.bias, float32(s.epsilon), norm.Options{}))
	}
	return x
}

// applied returns the outputs of a layer for n rows.
func (r *reader) applied(l *linear.Linear, x []float32, n, k, outputs int) []float32 {
	if r.Err() != nil || r.Dry != nil {
		return nil
	}
	y := make([]float32, n*outputs)
	r.Fail(l.Apply(linear.DenseMatrix(y, n, outputs), linear.DenseMatrix(x, n, k), linear.Options{DynamicInt8: r.Pack.Int8}))
	return y
}

// perHead returns the layers whose weights are the columns of each head, of rows of stride numbers, from a column on.
func (r *reader) perHead(s *spec, rows []float32, from, stride int) (all []*linear.Linear) {
	size := s.Width / s.Heads
	for h := 0; h < s.Heads && r.Err() == nil && r.Dry == nil; h++ {
		l, err := linear.New(linear.StridedMatrix(rows[from+h*size:], 2*s.apart.span, size, stride, 1), nil, kernel.Exec{})
		r.Fail(err)
		all = append(all, l)
	}
	if r.Dry != nil {
		r.Dry.Floats(2*s.apart.span, s.Width)
	}
	return all
}

// mostBias is the most numbers of a bias that are kept at once, if that is more than those of a head.
const mostBias = 1 << 24

// layApart makes room for the scores of positions of a batch, of as many heads as are computed together.
func (s *scratch) layApart(m *model, longest int) {
	if longest > s.longest {
		s.distances, s.longest = m.apart.rows(longest), longest
	}
	squares := 0
	for i := range len(s.starts) - 1 {
		n := s.starts[i+1] - s.starts[i]
		squares += n * n
	}
	s.group = min(m.Heads, max(1, mostBias/max(1, squares)))
	s.bias = grown(s.bias, s.group*squares)
	rows := s.starts[len(s.starts)-1]
	s.c2p, s.p2c = grown(s.c2p, rows*2*m.apart.span), grown(s.p2c, rows*2*m.apart.span)
}

// attendApart computes attention with scores of positions, which are a bias, one text after the other.
func (e *runner) attendApart(l *layer, s *scratch, rows int) error {
	w, size := e.model.Width, e.model.Width/e.Heads
	qkv, scale := s.wide[:rows*3*w], e.apart.scale(size)
	for first := 0; first < e.Heads; first += s.group {
		group := min(s.group, e.Heads-first)
		if err := e.biasApart(l, s, qkv, first, group); err != nil {
			return err
		}
		bias := s.bias
		for i := range len(s.starts) - 1 {
			at, n := s.starts[i], s.starts[i+1]-s.starts[i]
			heads := func(x []float32, column, stride int) kernel.Tensor {
				return kernel.Strided(x[at*stride+column+first*size:], [4]int{1, group, n, size}, [3]int{n * stride, size, stride})
			}
			a := kernel.Options{Exec: e.exec, Scoring: kernel.Scoring{Scale: scale, Bias: kernel.BHLD(bias, 1, group, n, n)}}
			if err := kernel.Attention(heads(s.narrow, 0, w), heads(qkv, 0, 3*w), heads(qkv, w, 3*w), heads(qkv, 2*w, 3*w), &a); err != nil {
				return err
			}
			bias = bias[group*n*n:]
		}
	}
	return nil
}

// biasApart writes the scores of positions of all texts to s.bias, for a group of heads: [group, n, n] for each text of n tokens.
func (e *runner) biasApart(l *layer, s *scratch, qkv []float32, first, group int) error {
	w, size, wide := e.model.Width, e.model.Width/e.Heads, 2*e.apart.span
	rows, scale := len(qkv)/(3*w), e.apart.scale(size)
	for h := range group {
		for _, x := range [...]struct {
			of     []*linear.Linear
			column int // of queries or keys
			to     []float32
		}{{l.places.keys, 0, s.c2p}, {l.places.queries, w, s.p2c}} {
			if x.of == nil {
				clear(x.to)
				continue
			}
			in := linear.StridedMatrix(qkv[x.column+(first+h)*size:], rows, size, 3*w, 1)
			if err := x.of[first+h].Apply(linear.DenseMatrix(x.to, rows, wide), in, linear.Options{Exec: e.exec}); err != nil {
				return err
			}
		}
		bias := s.bias
		for i := range len(s.starts) - 1 {
			at, n := s.starts[i], s.starts[i+1]-s.starts[i]
			distances := s.distances[s.longest-n : s.longest+n-1]
			addApart(bias[h*n*n:][:n*n], s.c2p[at*wide:], s.p2c[at*wide:], distances, n, wide, scale)
			bias = bias[group*n*n:]
		}
	}
	return nil
}

// addApart writes the scores of positions of a head, [n, n]: (c2p[i][d] + p2c[j][d])·scale, with d the row of the distance i-j.
// It goes over the keys in parts whose rows of p2c stay in the cache.
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
