package decoder

import (
	"fmt"

	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/tensors"
)

// A block is the weights of a layer of the decoder. What the architecture does not have is nil.
type block struct {
	attnNorm, ffnNorm  []float32
	queryNorm, keyNorm []float32      // of every head
	postAttn, postFFN  []float32      // norms of the outputs
	qkv, output        tensors.Linear // queries, keys and values side by side
	gated                             // if there are no experts
	router             tensors.Linear
	experts            []gated
}

// A gated is the weights of a gated feed-forward network.
type gated struct {
	gateUp, down tensors.Linear // gate and up side by side
}

// block loads layer i.
func (l *loader) block(a *architecture, c *Config, i int) block {
	at := func(name string) string { return fmt.Sprintf("blk.%d.%s", i, name) }
	b := block{
		attnNorm: l.norm(at("attn_norm"), c.Width),
		ffnNorm:  l.norm(at("ffn_norm"), c.Width),
		qkv:      l.qkv(a, c, at),
		output:   l.projection(c.Heads*c.HeadSize, source{at("attn_output"), c.Width, a.attention.OutBias}),
	}
	if a.attention.HeadNorm != nil {
		b.queryNorm, b.keyNorm = l.norm(at("attn_q_norm"), c.HeadSize), l.norm(at("attn_k_norm"), c.HeadSize)
	}
	if a.Order == arch.Sandwich {
		b.postAttn, b.postFFN = l.norm(at("post_attention_norm"), c.Width), l.norm(at("post_ffw_norm"), c.Width)
	}
	if a.experts == nil {
		b.gated = l.gated(a.dense, c, at)
		return b
	}
	b.router = l.projection(c.Width, source{at("ffn_gate_inp"), c.Experts, arch.Absent})
	l.experts(c, at, &b)
	return b
}

// qkv loads queries, keys and values, which some models have in one matrix.
func (l *loader) qkv(a *architecture, c *Config, at func(string) string) tensors.Linear {
	queries, keys, bias := c.Heads*c.HeadSize, c.KVHeads*c.HeadSize, a.attention.Bias
	if l.Has(at("attn_qkv.weight")) {
		return l.projection(c.Width, source{at("attn_qkv"), queries + 2*keys, bias})
	}
	return l.projection(c.Width, source{at("attn_q"), queries, bias}, source{at("attn_k"), keys, bias}, source{at("attn_v"), keys, bias})
}

// gated loads a feed-forward network. Some models have gate and up in one matrix, which GGUF
// files call ffn_up.
func (l *loader) gated(d *arch.Dense, c *Config, at func(string) string) (n gated) {
	switch {
	case l.Has(at("ffn_gate_up.weight")):
		n.gateUp = l.projection(c.Width, source{at("ffn_gate_up"), 2 * c.FFN, d.Bias})
	case l.Has(at("ffn_gate.weight")) || !l.Has(at("ffn_up.weight")):
		n.gateUp = l.projection(c.Width, source{at("ffn_gate"), c.FFN, d.Bias}, source{at("ffn_up"), c.FFN, d.Bias})
	default:
		n.gateUp = l.projection(c.Width, source{at("ffn_up"), 2 * c.FFN, d.Bias})
	}
	n.down = l.projection(c.FFN, source{at("ffn_down"), c.Width, d.DownBias})
	return n
}

// experts loads the experts of a layer: a tensor each, or all in one tensor.
func (l *loader) experts(c *Config, at func(string) string, b *block) {
	part := func(name string, e, n, k int) tensors.Part {
		return tensors.Part{Name: at(fmt.Sprintf("%s.%d", name, e)), Shape: []int{n, k}}
	}
	if l.Has(at("ffn_gate_exps.weight")) {
		part = func(name string, e, n, k int) tensors.Part {
			return tensors.Part{Name: at(name + "_exps"), Shape: []int{c.Experts, n, k}, First: e * n, Rows: n}
		}
	}
	for e := 0; e < c.Experts && l.Err() == nil; e++ {
		b.experts = append(b.experts, gated{
			l.Linear(tensors.Inner, part("ffn_gate", e, c.FFN, c.Width), part("ffn_up", e, c.FFN, c.Width)),
			l.Linear(tensors.Inner, part("ffn_down", e, c.Width, c.FFN)),
		})
	}
}
