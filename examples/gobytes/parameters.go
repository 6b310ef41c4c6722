package gobytes

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/examples/internal/train"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/rope"
)

// parameters are all weights of a model in one slice, for the optimizer, and the parts of that
// slice. Their gradients and the optimizer's means are parameters too.
type parameters struct {
	all         []float32
	embed, norm []float32
	layers      []layerParameters
}

// layerParameters are the weights of a layer.
type layerParameters struct {
	attnNorm, ffnNorm []float32
	q, k, v, o        []float32
	gate, up, down    []float32
}

// newParameters returns zeros for a model.
func newParameters(c *Config) *parameters {
	p := &parameters{layers: make([]layerParameters, c.Layers)}
	p.all = train.Allocate(p.parts(c))
	return p
}

// parts lists the tensors in the order of the slice, with the names of a model's file.
func (p *parameters) parts(c *Config) []train.Part {
	list := []train.Part{
		train.Uniform("embed.weight", &p.embed, 0.02*math.Sqrt(3), c.Vocab, c.Width),
		{Name: "norm.weight", Shape: []int{c.Width}, Numbers: &p.norm, Center: 1},
	}
	queries, keys := c.Heads*c.HeadSize, c.KVHeads*c.HeadSize
	for i := range p.layers {
		l := &p.layers[i]
		name := func(name string) string { return fmt.Sprintf("blocks.%d.%s.weight", i, name) }
		weights := func(short string, numbers *[]float32, outputs, inputs int) {
			list = append(list, train.Uniform(name(short), numbers, 1/math.Sqrt(float64(inputs)), outputs, inputs))
		}
		list = append(list,
			train.Part{Name: name("attn_norm"), Shape: []int{c.Width}, Numbers: &l.attnNorm, Center: 1},
			train.Part{Name: name("ffn_norm"), Shape: []int{c.Width}, Numbers: &l.ffnNorm, Center: 1})
		weights("wq", &l.q, queries, c.Width)
		weights("wk", &l.k, keys, c.Width)
		weights("wv", &l.v, keys, c.Width)
		weights("wo", &l.o, c.Width, queries)
		weights("w1", &l.gate, c.FFN, c.Width)
		weights("w3", &l.up, c.FFN, c.Width)
		weights("w2", &l.down, c.Width, c.FFN)
	}
	return list
}

// model packs the weights.
func (p *parameters) model(c *Config, r *rope.Rope) (*Model, error) {
	m := &Model{Config: *c, embed: p.embed, norm: p.norm, rope: r}
	var err error
	pack := func(w []float32, outputs, inputs int) *linear.Linear {
		l, e := linear.New(linear.DenseMatrix(w, outputs, inputs), nil, kernel.Exec{})
		if err == nil {
			err = e
		}
		return l
	}
	m.head = pack(p.embed, c.Vocab, c.Width)
	queries, keys := c.Heads*c.HeadSize, c.KVHeads*c.HeadSize
	for i := range p.layers {
		l := &p.layers[i]
		m.layers = append(m.layers, layer{
			attnNorm: l.attnNorm, ffnNorm: l.ffnNorm,
			q: pack(l.q, queries, c.Width), k: pack(l.k, keys, c.Width), v: pack(l.v, keys, c.Width), o: pack(l.o, c.Width, queries),
			gate: pack(l.gate, c.FFN, c.Width), up: pack(l.up, c.FFN, c.Width), down: pack(l.down, c.Width, c.FFN),
		})
	}
	return m, err
}
