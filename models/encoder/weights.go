package encoder

import (
	"fmt"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/loading"
	"github.com/attn-go/attn/models/internal/network"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/rope"
)

// model are the weights, which never change.
type model struct {
	spec
	network network.Network
	int8    bool  // see LoadOptions
	inverse []int // of reader.order
	ropes   []network.Rotation
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
	m := &model{spec: *s, int8: r.Pack.Int8, inverse: inverse(order), network: network.Network{Width: s.Width}}
	words, embed := r.Numbers(n.words+".weight", s.Vocab, s.Width), &m.network.Embed
	words.PermuteColumns(order)
	embed.Words, embed.Padding = words, s.padding
	if n.positions != "" {
		embed.Positions = r.Floats(n.positions+".weight", s.Positions, s.Width)
		tensors.PermuteColumns(embed.Positions, order)
	}
	if n.types != "" {
		embed.Types = r.Floats(n.types+".weight", s.Types, s.Width)
		tensors.PermuteColumns(embed.Types, order)
	}
	var relative *network.Relative
	if s.relative > 0 {
		relative = &network.Relative{Heads: s.Heads, Table: r.Floats(n.relative+".weight", s.relative, s.Heads)}
	}
	var buckets []float32
	var distances *network.Distances
	if s.apart != nil {
		buckets, distances = r.readBuckets(s), &network.Distances{Span: s.apart.span, Buckets: s.apart.buckets, Most: s.apart.most}
	}
	embed.Norm = r.norm(n.norm, s)
	for i := 0; i < s.Layers && r.Err() == nil; i++ {
		a := r.attention(i, s)
		a.Relative = relative
		if s.apart != nil {
			a.Apart = r.readPlaces(s, a, i, buckets, distances)
		}
		l := network.Layer{Mix: a, Feed: r.feed(i, s)}
		r.norms(&m.network, &l, i, s)
		m.network.Layers = append(m.network.Layers, l)
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
		m.ropes = append(m.ropes, network.Rotation{Rope: p})
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

func (r *reader) attention(i int, s *spec) *network.Attention {
	n, w := &s.names, s.Width
	var qkv []tensors.Part
	for _, name := range n.qkv {
		qkv = append(qkv, part(at(name, i), s.attnBias, 3*w/len(n.qkv), w))
	}
	a := &network.Attention{
		Heads: s.Heads, KVHeads: s.Heads, Size: w / s.Heads, Rope: -1, Window: s.windows[s.kinds[i]] + 1, BothWays: true,
		QKV: r.Linear(tensors.Reads, qkv...),
		Out: r.Linear(tensors.Writes, part(at(n.out, i), s.attnBias, w, w)),
	}
	if s.bases != nil {
		a.Rope = s.kinds[i]
	}
	return a
}

func (r *reader) feed(i int, s *spec) network.Feed {
	n, w := &s.names, s.Width
	reads := func(p tensors.Part) tensors.Linear { return r.Linear(tensors.Reads, p) }
	down := part(at(n.down, i), s.mlpBias || s.downBias, w, s.Inner)
	if !s.gated {
		up := reads(part(at(n.up[0], i), s.mlpBias, s.Inner, w))
		return &network.Dense{Up: up, Down: r.Linear(tensors.Writes, down), Activation: s.activation}
	}
	gate := part(at(n.up[0], i), s.mlpBias, s.Inner, w)
	up := gate
	if len(n.up) == 2 {
		up.Name = at(n.up[1], i)
	} else { // both are one tensor
		gate.Shape, gate.Rows = []int{2 * s.Inner, w}, s.Inner
		up = gate
		if up.First = s.Inner; s.upFirst {
			gate, up = up, gate
		}
	}
	both := reads(gate).Beside(reads(up))
	return &network.Gated{GateUp: both, Down: r.Linear(tensors.Writes, down), Activation: s.activation.Gated()}
}

// part returns a matrix of a layer with n outputs and k inputs.
func part(name string, biased bool, n, k int) tensors.Part {
	p := tensors.Part{Name: name, Shape: []int{n, k}, Bias: arch.Absent}
	if biased {
		p.Bias = arch.Present
	}
	return p
}

// norms reads the norms of a layer, and with that of the last layer the one after it.
func (r *reader) norms(to *network.Network, l *network.Layer, i int, s *spec) {
	n := &s.names
	if !s.preNorm {
		l.Mixed = network.Norms{After: r.norm(at(n.attentionNorm, i), s), Post: true}
		l.Fed = network.Norms{After: r.norm(at(n.mlpNorm, i), s), Post: true}
		return
	}
	if i > 0 { // ModernBERT has no norm before its first layer
		l.Mixed.Before = r.norm(at(n.attentionNorm, i), s)
	}
	l.Fed.Before = r.norm(at(n.mlpNorm, i), s)
	if i+1 == s.Layers {
		to.Final = r.norm(n.last, s)
	}
}

func (r *reader) norm(name string, s *spec) *network.Norm {
	a := &network.Norm{Weight: r.Floats(name+".weight", s.Width), Epsilon: float32(s.epsilon), Centred: true}
	if s.normBias {
		a.Bias = r.Floats(name+".bias", s.Width)
	}
	tensors.PermuteColumns(a.Weight, r.Pack.Order)
	tensors.PermuteColumns(a.Bias, r.Pack.Order)
	return a
}
