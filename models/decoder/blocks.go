package decoder

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/arch"
)

// A block is the weights of a layer of the decoder. What the architecture does not have is nil.
type block struct {
	attnNorm, ffnNorm  []float32
	queryNorm, keyNorm []float32  // of every head
	postAttn, postFFN  []float32  // norms of the outputs
	qkv, output        projection // queries, keys and values side by side
	gated                         // if there are no experts
	router             projection
	experts            []gated
}

// A gated is the weights of a gated feed-forward network.
type gated struct {
	gateUp, down projection // gate and up side by side
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
func (l *loader) qkv(a *architecture, c *Config, at func(string) string) projection {
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
	if !l.Has(at("ffn_gate_exps.weight")) {
		for e := 0; e < c.Experts && l.err == nil; e++ {
			gate, up, down := fmt.Sprintf("ffn_gate.%d", e), fmt.Sprintf("ffn_up.%d", e), fmt.Sprintf("ffn_down.%d", e)
			b.experts = append(b.experts, gated{
				l.projection(c.Width, source{at(gate), c.FFN, arch.Absent}, source{at(up), c.FFN, arch.Absent}),
				l.projection(c.FFN, source{at(down), c.Width, arch.Absent}),
			})
		}
		return
	}
	gate, ok1 := l.expertTensor(c, at("ffn_gate_exps"), c.FFN, c.Width)
	up, ok2 := l.expertTensor(c, at("ffn_up_exps"), c.FFN, c.Width)
	down, ok3 := l.expertTensor(c, at("ffn_down_exps"), c.Width, c.FFN)
	for e := 0; e < c.Experts && ok1 && ok2 && ok3 && l.err == nil; e++ {
		b.experts = append(b.experts, gated{l.join(c.Width, gate(e), up(e)), l.join(c.FFN, down(e))})
	}
}

// expertTensor returns the matrices of all experts, [n, k] each, which are one tensor.
func (l *loader) expertTensor(c *Config, name string, n, k int) (expert func(e int) matrix, ok bool) {
	t, ok := l.tensor(name+".weight", c.Experts, n, k)
	if !ok {
		return nil, false
	}
	scales := l.scales(name, t.Type, c.Experts)
	return func(e int) matrix {
		n := len(t.Data) / c.Experts // 0 if nothing is read
		w := matrix{tensor: gguf.Tensor{Name: t.Name, Type: t.Type, Shape: t.Shape[1:], Data: t.Data[e*n:][:n]}}
		if len(scales) > 0 {
			w.scale = scales[e : e+1 : e+1]
		}
		return w
	}, true
}

// A headSource says where the output matrix of a model is.
type headSource uint8

const (
	headIfThere headSource = iota // a tensor, or the embedding without one, as in GGUF files
	headOwn                       // a tensor: tie_word_embeddings is false
	headTied                      // the embedding: tie_word_embeddings is true
	headUnread                    // nowhere: embedders and classifiers compute no logits
)

// ends loads the embedding, and the output matrix: that of the store, or the embedding
// again. A head that is said to be the embedding but has other numbers counts, as in
// transformers: somebody has trained it, and the key is wrong.
func (l *loader) ends(c *Config, from headSource) (embedding *linear.Linear, head projection) {
	p := l.projection(c.Width, source{strings.TrimSuffix(embeddingName, ".weight"), c.Vocab, arch.Absent})
	head = p
	has := l.Has(headName)
	switch {
	case from == headOwn && !has:
		l.fail(configError("tie_word_embeddings", "false, and no tensor lm_head.weight", "that tensor, or true if it is the embedding"))
	case from == headUnread || from == headTied && (!has || l.dry != nil || l.equal(headName, embeddingName, c.Vocab, c.Width)):
		l.Skip(headName) // not needed, if it is there
	case has:
		head = l.projection(c.Width, source{strings.TrimSuffix(headName, ".weight"), c.Vocab, arch.Absent})
	}
	if l.err != nil || l.dry != nil {
		return nil, head
	}
	return p.parts[0], head
}

// equal reports whether two tensors of a shape have the same bytes.
func (l *loader) equal(a, b string, shape ...int) bool {
	x, err := l.Store.Tensor(a, shape...)
	if err != nil {
		return false // whoever loads it reports that
	}
	y, err := l.Store.Tensor(b, shape...)
	if err != nil {
		return false
	}
	defer l.Forget(x)
	defer l.Forget(y)
	return x.Type == y.Type && bytes.Equal(x.Data, y.Data)
}

const embeddingName, headName = "token_embd.weight", "output.weight"
