package encoder

import (
	"fmt"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/internal/loading"
	"github.com/attn-go/attn/models/internal/network"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/models/inventory"
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

// A reader reads the tensors of a model. After the first error it returns nothing.
type reader struct {
	source
	path   string               // of the model
	prefix string               // of all names
	int8   bool                 // weights of linear layers are rounded
	sorted bool                 // columns are in the order of columns()
	order  []int                // that order, or nil
	meter  *loading.Meter       // nil if nothing is read
	dry    *inventory.Inventory // if not nil, nothing is read, and this notes what would be
	part   numbers              // of the layer that is read: memory that all of them use
	err    error
}

// readModel reads the tensors of a model.
func readModel(x *origin, o LoadOptions) (*model, *reader) {
	r := &reader{source: x.source, path: x.path, prefix: x.spec.prefixOf(x.source), int8: o.Int8, sorted: o.Int8, meter: loading.New(x.bytes(""), o.Progress)}
	if s := x.spec; o.Int8 && (s.Width%32 != 0 || s.Inner%32 != 0) {
		r.err = fmt.Errorf("%s: %w", x.path, &kernel.Error{Where: "LoadOptions.Int8", Got: fmt.Sprintf("a model of width %d and inner width %d", s.Width, s.Inner), Want: "multiples of 32, the weights of a block"})
	}
	return readModelOf(x, r)
}

func readModelOf(x *origin, r *reader) (*model, *reader) {
	s := x.spec
	n := &s.names
	r.order = r.columns(s)
	m := &model{spec: *s, int8: r.int8, inverse: inverse(r.order), network: network.Network{Width: s.Width}}
	words, embed := &numbers{}, &m.network.Embed
	words.reset(r.dtype(r.prefix + n.words + ".weight"))
	r.read(words, n.words+".weight", s.Vocab, s.Width)
	words.permuteColumns(r.order)
	embed.Words, embed.Padding = words, s.padding
	if n.positions != "" {
		embed.Positions = r.floats(n.positions+".weight", s.Positions, s.Width)
		permuteColumns(embed.Positions, r.order)
	}
	if n.types != "" {
		embed.Types = r.floats(n.types+".weight", s.Types, s.Width)
		permuteColumns(embed.Types, r.order)
	}
	var relative *network.Relative
	if s.relative > 0 {
		relative = &network.Relative{Heads: s.Heads, Table: r.floats(n.relative+".weight", s.relative, s.Heads)}
	}
	var buckets []float32
	var distances *network.Distances
	if s.apart != nil {
		buckets, distances = r.readBuckets(s), &network.Distances{Span: s.apart.span, Buckets: s.apart.buckets, Most: s.apart.most}
	}
	embed.Norm = r.norm(n.norm, s)
	for i := 0; i < s.Layers && r.err == nil; i++ {
		a := r.attention(i, s)
		a.Relative = relative
		if s.apart != nil {
			a.Apart = r.readPlaces(s, a, i, buckets, distances)
		}
		l := network.Layer{Mix: a, Feed: r.feed(i, s)}
		r.norms(&m.network, &l, i, s)
		m.network.Layers = append(m.network.Layers, l)
	}
	r.part = numbers{}
	if r.err == nil {
		r.meter.End()
	}
	for _, base := range s.bases {
		if r.err != nil || r.dry != nil { // only then the file has tensors as large as a table of rotations
			break
		}
		p, err := rope.New(rope.Config{Dims: s.Width / s.Heads, Base: base, Scaling: s.scaling, Positions: min(s.Positions, 8192)})
		if err != nil {
			r.err = fmt.Errorf("encoder: %s: %w", x.path, err)
		}
		m.ropes = append(m.ropes, network.Rotation{Rope: p})
	}
	for _, name := range x.Names() {
		for _, begin := range n.unused {
			if strings.HasPrefix(name, begin) || strings.HasPrefix(name, r.prefix+begin) {
				x.Use(name)
			}
		}
	}
	return m, r
}

func (r *reader) attention(i int, s *spec) *network.Attention {
	n, w := &s.names, s.Width
	each := w
	if len(n.qkv) == 1 {
		each = 3 * w
	}
	a := &network.Attention{
		Heads: s.Heads, KVHeads: s.Heads, Size: w / s.Heads, Rope: -1, Window: s.windows[s.kinds[i]] + 1, BothWays: true,
		QKV: beside(3*w, r.linear(readsStates, each, w, s.attnBias, i, n.qkv...)),
		Out: beside(w, r.linear(writesStates, w, w, s.attnBias, i, n.out)),
	}
	if s.bases != nil {
		a.Rope = s.kinds[i]
	}
	return a
}

func (r *reader) feed(i int, s *spec) network.Feed {
	n, w := &s.names, s.Width
	var gate, up *linear.Linear
	switch {
	case !s.gated:
		up = r.linear(readsStates, s.Inner, w, s.mlpBias, i, n.up...)
	case len(n.up) == 2:
		gate, up = r.linear(readsStates, s.Inner, w, s.mlpBias, i, n.up[0]), r.linear(readsStates, s.Inner, w, s.mlpBias, i, n.up[1])
	default:
		gate, up = r.halves(s.Inner, w, s.mlpBias, at(n.up[0], i))
		if s.upFirst {
			gate, up = up, gate
		}
	}
	down := beside(w, r.linear(writesStates, w, s.Inner, s.mlpBias || s.downBias, i, n.down))
	if s.gated {
		return &network.Gated{GateUp: beside(2*s.Inner, gate, up), Down: down, Activation: s.activation.Gated()}
	}
	return &network.Dense{Up: beside(s.Inner, up), Down: down, Activation: s.activation}
}

// beside returns layers of n outputs together as one.
func beside(n int, parts ...*linear.Linear) tensors.Linear { return tensors.Linear{Parts: parts, N: n} }

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
	a := &network.Norm{Weight: r.floats(name+".weight", s.Width), Epsilon: float32(s.epsilon), Centred: true}
	if s.normBias {
		a.Bias = r.floats(name+".bias", s.Width)
	}
	permuteColumns(a.Weight, r.order)
	permuteColumns(a.Bias, r.order)
	return a
}

// A side of a linear layer: are the states of tokens its inputs or its outputs?
type side int

const (
	readsStates side = iota
	writesStates
)

// linear reads layers of n outputs and k inputs and makes one layer of them, whose outputs
// follow one another.
func (r *reader) linear(states side, n, k int, biased bool, i int, names ...string) *linear.Linear {
	r.begin(i, names...)
	var bias []float32
	if len(names) > 1 && r.dry == nil && r.err == nil && r.check(r.prefix+at(names[0], i)+".weight", n, k) == nil {
		r.part.grow(len(names) * n * k)
	}
	for _, name := range names {
		r.read(&r.part, at(name, i)+".weight", n, k)
		if biased {
			bias = append(bias, r.floats(at(name, i)+".bias", n)...)
		}
	}
	if states == writesStates {
		r.part.permuteRows(k, r.order)
		permuteColumns(bias, r.order)
	} else {
		r.part.permuteColumns(r.order)
	}
	return r.pack(at(names[0], i), 0, len(names)*n, k, bias)
}

// begin prepares for the numbers of a layer.
func (r *reader) begin(i int, names ...string) {
	var types []kernel.DType
	for _, name := range names {
		types = append(types, r.dtype(r.prefix+at(name, i)+".weight"))
	}
	r.part.reset(commonType(types...))
}

// halves reads one layer of 2·n outputs as two.
func (r *reader) halves(n, k int, biased bool, name string) (first, second *linear.Linear) {
	r.begin(0, name)
	r.read(&r.part, name+".weight", 2*n, k)
	r.part.permuteColumns(r.order)
	bias := make([][]float32, 2)
	if biased {
		b := r.floats(name+".bias", 2*n)
		if r.err == nil && r.dry == nil {
			bias = [][]float32{b[:n], b[n:]}
		}
	}
	return r.pack(name, 0, n, k, bias[0]), r.pack(name, n, n, k, bias[1])
}

// pack makes a layer of n outputs of the numbers that have been read, from a row on.
func (r *reader) pack(name string, from, n, k int, bias []float32) *linear.Linear {
	if r.err != nil || r.dry != nil {
		return nil
	}
	pack := linear.New
	if r.int8 {
		pack = linear.QuantizeInt8
	}
	l, err := pack(r.part.matrix(from, n, k), bias, kernel.Exec{})
	if err != nil {
		r.err = fmt.Errorf("encoder: %s: %s%s: %w", r.path, r.prefix, name, err)
	}
	return l
}

// floats returns the numbers of a tensor as float32.
func (r *reader) floats(name string, shape ...int) []float32 {
	x := numbers{dtype: kernel.Float32}
	r.read(&x, name, shape...)
	return x.f32
}

// read appends the numbers of a tensor.
func (r *reader) read(into *numbers, name string, shape ...int) {
	if r.err != nil {
		return
	}
	name = r.prefix + name
	if r.dry != nil {
		r.checked(name, into.dtype, shape)
		return
	}
	if r.err = r.source.read(into, name, shape...); r.err == nil {
		r.forget(name)
		r.meter.Add(r.bytes(name))
	}
}
