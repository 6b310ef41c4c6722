package encoder

import (
	"fmt"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/internal/loading"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/rope"
)

// model are the weights, which never change.
type model struct {
	spec
	int8    bool  // see LoadOptions
	inverse []int // of the order of columns

	words            tensors.Numbers // [Vocab, Width]
	positions, types []float32       // [Positions, Width], [Types, Width], or nil
	norm             affine          // after the embeddings; with preNorm also before the first layer, if it has one
	layers           []layer
	ropes            []*rope.Rope // by the kind of a layer
	relative         []float32    // [buckets, Heads]
}

// affine are the weights of a norm. Its bias may be nil.
type affine struct{ weight, bias []float32 }

// A layer is one block of the encoder: attention and a feed-forward network. With preNorm the norms
// that follow are those of the next part.
type layer struct {
	kind        int
	qkv, out    *linear.Linear // [3·Width, Width]: queries, keys, values; [Width, Width]
	attention   affine
	gate        *linear.Linear // [Inner, Width], or nil
	up, down    *linear.Linear // [Inner, Width], [Width, Inner]
	feedforward affine
	places      places // with apart
}

// A reader reads the tensors of a model.
type reader struct {
	*tensors.Reader
	path   string // of the model
	sorted bool   // columns are in the order of columns()
}

// reader returns a reader of tensors whose names have a prefix in the files.
func (x *origin) reader(prefix string) *reader {
	rename := func(name string) string { return prefix + name }
	return &reader{Reader: &tensors.Reader{Store: x.Store, Rename: rename, Pack: tensors.Pack{Widen: true}}, path: x.path}
}

// readModel reads the tensors of a model.
func readModel(x *origin, o LoadOptions) (*model, *reader) {
	r := x.reader(x.spec.prefixOf(x.Store))
	r.sorted, r.Pack.Int8, r.Meter = o.Int8, o.Int8, loading.New(x.Bytes(), o.Progress)
	if s := x.spec; o.Int8 && (s.Width%32 != 0 || s.Inner%32 != 0) {
		r.Fail(fmt.Errorf("%s: %w", x.path, &kernel.Error{Where: "LoadOptions.Int8", Got: fmt.Sprintf("a model of width %d and inner width %d", s.Width, s.Inner), Want: "multiples of 32, the weights of a block"}))
	}
	return readModelOf(x, r)
}

func readModelOf(x *origin, r *reader) (*model, *reader) {
	s := x.spec
	n := &s.names
	order := r.columns(s)
	r.Pack.Order = order
	m := &model{spec: *s, int8: r.Pack.Int8, inverse: inverse(order)}
	m.words = r.Numbers(n.words+".weight", s.Vocab, s.Width)
	m.words.PermuteColumns(order)
	if n.positions != "" {
		m.positions = r.Floats(n.positions+".weight", s.Positions, s.Width)
		tensors.PermuteColumns(m.positions, order)
	}
	if n.types != "" {
		m.types = r.Floats(n.types+".weight", s.Types, s.Width)
		tensors.PermuteColumns(m.types, order)
	}
	if s.relative > 0 {
		m.relative = r.Floats(n.relative+".weight", s.relative, s.Heads)
	}
	var buckets []float32
	if s.apart != nil {
		buckets = r.readBuckets(s)
	}
	m.norm = r.affine(n.norm, s)
	for i := 0; i < s.Layers && r.Err() == nil; i++ {
		l := r.layer(i, s)
		if s.apart != nil {
			l.places = r.readPlaces(s, &l, i, buckets)
		}
		m.layers = append(m.layers, l)
	}
	r.End()
	for _, base := range s.bases {
		if r.Err() != nil || r.Dry != nil { // only then the file has tensors as large as a table of rotations
			break
		}
		p, err := rope.New(rope.Config{Dims: s.Width / s.Heads, Base: base, Scaling: s.scaling, Positions: min(s.Positions, 8192)})
		if err != nil {
			r.Fail(fmt.Errorf("encoder: %s: %w", x.path, err))
		}
		m.ropes = append(m.ropes, p)
	}
	for _, name := range x.Names() {
		for _, begin := range n.unused {
			if strings.HasPrefix(name, begin) || strings.HasPrefix(name, r.Rename(begin)) {
				x.Use(name)
			}
		}
	}
	return m, r
}

func (r *reader) layer(i int, s *spec) layer {
	n, w := &s.names, s.Width
	l := layer{kind: s.kinds[i]}
	attention, mlp, down := biasOf(s.attnBias), biasOf(s.mlpBias), biasOf(s.mlpBias || s.downBias)
	part := func(name string, bias tensors.Bias, n, k int) tensors.Part {
		return tensors.Part{Name: at(name, i), Shape: []int{n, k}, Bias: bias}
	}
	var qkv []tensors.Part
	for _, name := range n.qkv {
		qkv = append(qkv, part(name, attention, 3*w/len(n.qkv), w))
	}
	l.qkv = r.Linear(tensors.Reads, qkv...).One()
	l.out = r.Linear(tensors.Writes, part(n.out, attention, w, w)).One()
	switch {
	case !s.gated:
		l.up = r.Linear(tensors.Reads, part(n.up[0], mlp, s.Inner, w)).One()
	case len(n.up) == 2:
		l.gate = r.Linear(tensors.Reads, part(n.up[0], mlp, s.Inner, w)).One()
		l.up = r.Linear(tensors.Reads, part(n.up[1], mlp, s.Inner, w)).One()
	default: // both are one tensor
		half := part(n.up[0], mlp, 2*s.Inner, w)
		half.Rows = s.Inner
		l.gate = r.Linear(tensors.Reads, half).One()
		half.First = s.Inner
		l.up = r.Linear(tensors.Reads, half).One()
		if s.upFirst {
			l.gate, l.up = l.up, l.gate
		}
	}
	l.down = r.Linear(tensors.Writes, part(n.down, down, w, s.Inner)).One()
	if !s.preNorm {
		l.attention, l.feedforward = r.affine(at(n.attentionNorm, i), s), r.affine(at(n.mlpNorm, i), s)
		return l
	}
	l.attention = r.affine(at(n.mlpNorm, i), s)
	if i+1 < s.Layers {
		l.feedforward = r.affine(at(n.attentionNorm, i+1), s)
	} else {
		l.feedforward = r.affine(n.last, s)
	}
	return l
}

func (r *reader) affine(name string, s *spec) (a affine) {
	a.weight = r.Floats(name+".weight", s.Width)
	if s.normBias {
		a.bias = r.Floats(name+".bias", s.Width)
	}
	tensors.PermuteColumns(a.weight, r.Pack.Order)
	tensors.PermuteColumns(a.bias, r.Pack.Order)
	return a
}

func biasOf(has bool) tensors.Bias {
	if has {
		return tensors.Biased
	}
	return tensors.NoBias
}
