package encoder

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/network"
	"github.com/attn-go/attn/models/internal/tensors"
)

// buckets are those of MPNet.
const buckets = network.Buckets

// A disentangled says how DeBERTa's scores depend on positions, see [network.Distances].
type disentangled struct {
	span, buckets, most   int
	ofContent, ofPosition bool
	shared                bool   // K' and Q' are made by the layers of keys and queries
	norm                  string // of the embeddings, or ""
	keys, queries         string // the layers that make K' and Q' if they are not shared
}

// readPlaces computes them of the embeddings of buckets, [2·span, Width], once for all calls.
func (r *reader) readPlaces(s *spec, a *network.Attention, i int, buckets []float32, of *network.Distances) *network.Apart {
	d, w, n := s.apart, s.Width, 2*s.apart.span
	p := &network.Apart{Distances: of}
	if d.shared {
		all := r.applied(a.QKV.One(), buckets, n, w, 3*w)
		if d.ofContent {
			p.Keys = r.perHead(s, all, w, 3*w)
		}
		if d.ofPosition {
			p.Queries = r.perHead(s, all, 0, 3*w)
		}
		return p
	}
	place := func(name string) *linear.Linear {
		return r.Linear(tensors.Reads, tensors.Part{Name: at(name, i), Shape: []int{w, w}, Bias: arch.Present}).One()
	}
	if d.ofContent {
		p.Keys = r.perHead(s, r.applied(place(d.keys), buckets, n, w, w), 0, w)
	}
	if d.ofPosition {
		p.Queries = r.perHead(s, r.applied(place(d.queries), buckets, n, w, w), 0, w)
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
	a := r.norm(d.norm, s)
	if r.Err() == nil && r.Dry == nil {
		r.Fail(a.Apply(x))
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
