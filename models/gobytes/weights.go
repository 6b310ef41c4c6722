package gobytes

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/rope"
)

// A weightSet has the weights of a model as numbers, or their gradients.
type weightSet struct {
	Embed, Norm []float32
	Blocks      []blockWeights
}

// blockWeights are the weights of a Block. Matrices are [outputs, inputs].
type blockWeights struct {
	AttnNorm, FFNNorm []float32
	Q, K, V, O        []float32
	Gate, Up, Down    []float32
}

// A tensor is a part of the weights, as a model's file has it.
type tensor struct {
	Name    string
	Shape   []int
	Numbers *[]float32
}

// tensors returns the parts of the weights of a model with these sizes. It makes the blocks if
// there are none.
func (w *weightSet) tensors(c *Config) []tensor {
	if w.Blocks == nil {
		w.Blocks = make([]blockWeights, c.Layers)
	}
	queries, keys := c.Heads*c.HeadSize, c.KVHeads*c.HeadSize
	list := []tensor{{"embed.weight", []int{c.Vocab, c.Width}, &w.Embed}, {"norm.weight", []int{c.Width}, &w.Norm}}
	for i := range w.Blocks {
		b := &w.Blocks[i]
		for _, t := range []tensor{
			{"attn_norm", []int{c.Width}, &b.AttnNorm}, {"ffn_norm", []int{c.Width}, &b.FFNNorm},
			{"wq", []int{queries, c.Width}, &b.Q}, {"wk", []int{keys, c.Width}, &b.K}, {"wv", []int{keys, c.Width}, &b.V}, {"wo", []int{c.Width, queries}, &b.O},
			{"w1", []int{c.FFN, c.Width}, &b.Gate}, {"w3", []int{c.FFN, c.Width}, &b.Up}, {"w2", []int{c.Width, c.FFN}, &b.Down},
		} {
			t.Name = fmt.Sprintf("blocks.%d.%s.weight", i, t.Name)
			list = append(list, t)
		}
	}
	return list
}

// newModel returns a model of weights, whose matrices it packs, while it refers to the others. It
// returns an error if their number or sizes do not fit the configuration, or no model can have it.
func newModel(c Config, w *weightSet) (*Model, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if w.Blocks != nil && len(w.Blocks) != c.Layers {
		return nil, fmt.Errorf("weights of %d layers, want %d", len(w.Blocks), c.Layers)
	}
	packed := map[*[]float32]*linear.Linear{}
	for _, t := range w.tensors(&c) {
		n := t.Shape[0]
		if len(t.Shape) == 1 {
			if len(*t.Numbers) != n {
				return nil, fmt.Errorf("tensor %q has %d numbers, want %d", t.Name, len(*t.Numbers), n)
			}
			continue
		}
		l, err := linear.New(linear.DenseMatrix(*t.Numbers, n, t.Shape[1]), nil, kernel.Exec{})
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		packed[t.Numbers] = l
	}
	r, err := rope.New(rope.Config{Dims: c.HeadSize, Base: c.Theta, Positions: c.Context})
	if err != nil {
		return nil, err
	}
	m := &Model{Config: c, Embed: w.Embed, Norm: w.Norm, Head: packed[&w.Embed], Rope: r}
	for i := range w.Blocks {
		b := &w.Blocks[i]
		m.Blocks = append(m.Blocks, Block{
			AttnNorm: b.AttnNorm, FFNNorm: b.FFNNorm, Q: packed[&b.Q], K: packed[&b.K], V: packed[&b.V], O: packed[&b.O],
			Gate: packed[&b.Gate], Up: packed[&b.Up], Down: packed[&b.Down],
		})
	}
	return m, nil
}
