package settings

import (
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/internal/activations"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/powers"
	"github.com/attn-go/attn/models/internal/strict"
)

func vocabulary(r *reader) { r.model.Vocab = r.Size("vocab_size", 0) }

// types reads how many there are of tokens.
func types(r *reader) { r.model.Embed.Types = r.Size("type_vocab_size", 0) }

// typesOrNone is types for models that may have none.
func typesOrNone(r *reader) { r.model.Embed.Types = r.Integer("type_vocab_size", 0, 0, r.most) }

// embeddingSize reads the width of embeddings. If the width of states differs, ELECTRA projects
// them to it.
func embeddingSize(r *reader) {
	if embeddingLayer(r); r.model.Embed.Width == r.model.Width {
		r.model.Embed.Width = 0
	}
}

// embeddingLayer reads the width of embeddings, of which ALBERT makes states whatever it is.
func embeddingLayer(r *reader) { r.model.Embed.Width = r.Size("embedding_size", 0) }

// oneGroup refuses layers of ALBERT with weights of their own.
func oneGroup(r *reader) {
	r.json.Only("num_hidden_groups", 1)
	r.json.Only("inner_group_num", 1)
}

// headSize reads the size of a head of T5.
func headSize(r *reader) {
	if r.attention.Size = r.Size("head_dim", 0); r.beyond(r.attention.Heads, r.attention.Size) {
		r.Fail("head_dim", fmt.Sprint(r.attention.Size), fmt.Sprintf("at most %d for all heads together", r.most))
	}
}

// feedOfT5 reads the activation of T5 and whether there is a gate. With a gate gelu is the
// approximation by tanh. Published files repeat both under keys of their own, which win.
func feedOfT5(r *reader) {
	const key, actKey, gateKey = "feed_forward_proj", "dense_act_fn", "is_gated_act"
	name := r.Text(key)
	act, gated := strings.CutPrefix(name, "gated-")
	if name == "gated-gelu" {
		act = "gelu_new"
	}
	var ok bool
	if r.dense.Activation, ok = activations.Hidden(act); !ok {
		r.Fail(key, quoted(name), activations.HiddenNames()+", or one of them after gated-")
	}
	if r.Has(actKey) {
		activation(actKey)(r)
	}
	if r.Has(gateKey) {
		gated = r.json.Yes(gateKey)
	}
	if r.dense.Gated = gated; !gated {
		own := *r.model.Family
		own.Names = named(own.Names, arch.Names{"blk.%d.ffn_up": "encoder.block.%d.layer.1.DenseReluDense.wi"})
		r.model.Family = &own
	}
}

// nearBuckets refuses buckets up to another distance.
func nearBuckets(r *reader) { r.json.Only("relative_attention_max_distance", 128) }

// lateHead reads the classifier of EuroBERT.
func lateHead(r *reader) {
	h := &arch.Head{Dense: "dense", Out: "classifier", Bias: true, Activation: activations.GELU}
	switch pooling := r.Text("classifier_pooling"); pooling {
	case "bos":
		h.Pooling = embedding.PoolFirst
	case "mean", "late":
		h.Pooling, h.Late = embedding.PoolMean, pooling == "late"
	default:
		r.Fail("classifier_pooling", quoted(pooling), `"bos", "mean" or "late"`)
	}
	r.model.Head = h
}

// twoPositions demands as many tokens as stand around a text.
func twoPositions(r *reader) {
	if r.model.Context < 2 {
		r.Fail("max_position_embeddings", "1", "2 or more, for the tokens around a text")
	}
}

// table says that positions are rows of an embedding.
func table(r *reader) { r.model.Embed.Table = r.model.Context }

// padding makes positions begin after the id of padding.
func padding(r *reader) {
	id := -1
	r.json.Read("pad_token_id", "an integer", &id)
	r.pad("pad_token_id", id)
}

// paddingOfMPNet makes positions begin after 1, whatever pad_token_id says.
func paddingOfMPNet(r *reader) { r.pad("max_position_embeddings", 1) }

func (r *reader) pad(key string, id int) {
	if last := r.model.Context - 3; id < 0 || id > last {
		r.Fail(key, fmt.Sprintf("%d positions after the id of padding, %d", r.model.Context-id-1, id), fmt.Sprintf("2 or more, with an id of 0 to %d", last))
	}
	r.model.Embed.Padding = id
}

func buckets(r *reader) {
	r.attention.Relative = arch.Buckets
	r.json.Only("relative_attention_num_buckets", arch.Buckets)
	r.apart(r.model.Context - r.model.Embed.Padding - 1)
}

// plainRope reads an object whose rotations are not scaled. Their base may be a key of the model.
func (r *reader) plainRope(p *strict.JSON, key string, missing float64) *arch.Rope {
	p.Only("rope_type", "default")
	x := &arch.Rope{Dims: r.pairs(r.attention.Size), Base: r.base(p, key, missing), Divide: 1, Scaling: unscaled}
	p.Unknown(strict.Parameters)
	return x
}

func rotaryOfNomic(r *reader) {
	r.rope = r.plainRope(r.json.Under("rope_parameters"), "rope_theta", 0)
	r.same("head_dim", r.attention.Size)
}

// localAttention reads the window of layers, both sides of a token together. Every n-th layer,
// counted from 0, sees all tokens.
func localAttention(r *reader) {
	r.window = r.Integer("local_attention", 0, 2, r.most)/2 + 1
	n := r.Integer("global_attn_every_n_layers", 0, 1, r.most)
	r.whole = func(layer int) bool { return layer%n == 0 }
}

// rotariesOfModernBERT reads the rotations of layers with all tokens and of layers with a window. A
// null base of the latter means the base of the former.
func rotariesOfModernBERT(r *reader) {
	p := r.json.Under("rope_parameters")
	r.rope = r.plainRope(p.Under(fullLayer), "global_rope_theta", 0)
	r.local = r.plainRope(p.Under(slidingLayer), "local_rope_theta", r.Optional("global_rope_theta", 1, mostBase))
	p.Unknown(strict.Parameters)
}

func normBias(r *reader) { r.norm.Bias = r.json.Yes("norm_bias") }

// modernHead reads the classifier.
func modernHead(r *reader) {
	h := &arch.Head{Dense: "head.dense", Norm: "head.norm", Out: "classifier", Bias: r.json.Yes("classifier_bias")}
	var ok bool
	if h.Pooling, ok = map[string]embedding.Pooling{"cls": embedding.PoolFirst, "mean": embedding.PoolMean}[r.Text("classifier_pooling")]; !ok {
		r.Fail("classifier_pooling", quoted(r.Text("classifier_pooling")), `"cls" or "mean"`)
	}
	r.activate(h, "classifier_activation")
	r.model.Head = h
}

// activate sets the activation of a head, which a key names.
func (r *reader) activate(h *arch.Head, key string) {
	name := r.Text(key)
	if name == "tanh" { // which no other layer has
		h.Activation = activations.Tanh
		return
	}
	var ok bool
	if h.Activation, ok = activations.Hidden(name); !ok {
		r.Fail(key, quoted(name), activations.HiddenNames()+", tanh")
	}
}

// tableOrALiBi reads the positions of BERT, and of JinaBERT, which has its model_type: scores fall
// with the distance of tokens, and layers have gates. Its code is modeling_bert.py of
// jinaai/jina-bert-implementation.
func tableOrALiBi(r *reader) {
	const positions, feed = "position_embedding_type", "feed_forward_type"
	switch kind := r.Text(positions); kind {
	case "absolute":
		table(r)
		return
	case "alibi":
	default:
		r.Fail(positions, quoted(kind), `"absolute" or "alibi"`)
	}
	fileALiBi(r)
	r.dense.Fused = true
	switch kind := r.Text(feed); kind { // hidden_act belongs to other layers
	case "geglu":
		r.dense.Activation = activations.GELU
	case "reglu":
		r.dense.Activation = activations.ReLU
	default:
		r.Fail(feed, quoted(kind), `"geglu" or "reglu"`)
	}
	r.Text("attn_implementation") // how it is computed
	if pooler := r.Text("emb_pooler"); pooler != "" && pooler != "mean" {
		r.Fail("emb_pooler", quoted(pooler), `"mean"`)
	}
	own := *r.model.Family
	own.Names = jinaBERTNames
	r.model.Family = &own
}

// slopes returns the slopes of ALiBi (Press et al. 2022): 2^(-8/n), its square and so on, for n
// heads. If n is no power of two, the heads beyond the next lower one have every other slope of
// twice as many heads.
func slopes(heads int) (all []float32) {
	n := 1 << (bits.Len(uint(heads)) - 1)
	ratio := 0x1p-8
	for m := n; m > 1; m /= 2 {
		ratio = math.Sqrt(ratio) // which is rounded alike everywhere
	}
	for x := ratio; len(all) < n; x *= ratio {
		all = append(all, float32(x))
	}
	for x := math.Sqrt(ratio); len(all) < heads; x *= ratio {
		all = append(all, float32(x))
	}
	return all
}

// rotaryOrTable reads the positions of gte-base-en-v1.5 and gte-multilingual-base, whose code is
// modeling.py of Alibaba-NLP/new-impl.
func rotaryOrTable(r *reader) {
	switch kind := r.Text("position_embedding_type"); kind {
	case "absolute":
		table(r)
		return
	case "rope":
	default:
		r.Fail("position_embedding_type", quoted(kind), `"rope" or "absolute"`)
	}
	r.rope = r.plainRope(r.json.None(), "rope_theta", 0)
	if !r.Has("rope_scaling") {
		return
	}
	x := r.json.Under("rope_scaling")
	x.Only("type", "ntk")
	if x.Has("mixed_b") {
		x.Fail("mixed_b", "a number", "null")
	}
	factor := x.Number("factor", 0, 1, 1<<16)
	if x.Unknown(strict.Parameters); factor < 1 {
		x.Fail("factor", "none", "a number from 1 to 65536")
		return
	}
	// NTK scaling: the frequencies are (base·factor)^(-2i/dims)/factor^(2/dims).
	if r.rope.Base *= factor; r.rope.Base > mostBase {
		r.Fail("rope_theta", fmt.Sprint(r.rope.Base), "at most 2^64, times the factor of rope_scaling")
	}
	r.rope.Divide, _ = powers.Root(factor, r.rope.Dims/2).Float64()
}

// packed reads what else those models may have.
func packed(r *reader) {
	r.attention.Fused = r.json.Yes("pack_qkv")
	r.json.Only("layer_norm_type", "layer_norm")
	r.json.Only("logn_attention_scale", false)
}

// MostApart is the most tokens of a text of DeBERTa and of MPNet, as a bias for each pair of tokens
// takes memory.
const MostApart = 1 << 13

// apart checks how many there are.
func (r *reader) apart(tokens int) {
	if tokens > MostApart {
		r.Fail("max_position_embeddings", fmt.Sprint(r.model.Context), fmt.Sprintf("at most %d, as a bias for each pair of tokens takes memory", r.model.Context-tokens+MostApart))
	}
}

// mostBuckets is the largest number of buckets of distances, or of distances without buckets.
const mostBuckets = 1 << 14

// inputOfDeBERTa reads whether positions are a part of the embedding.
func inputOfDeBERTa(r *reader) {
	if r.json.Yes("position_biased_input") {
		table(r)
	}
	r.apart(r.model.Context)
}

// sameSizes refuses sizes of their own of the embedding, of heads and of the pooler of DeBERTa, and
// a convolution.
func sameSizes(r *reader) {
	r.same("embedding_size", r.model.Width)
	r.same("pooler_hidden_size", r.model.Width)
	r.same("attention_head_size", r.attention.Size)
	if n := r.Integer("conv_kernel_size", -1, 0, r.most); n > 0 {
		r.Fail("conv_kernel_size", strconv.Itoa(n), "0; a convolution after the first layer is not supported")
	}
}

// disentangled reads how DeBERTa v2 and v3 (He et al. 2021) score positions, as the class
// DebertaV2Model of transformers computes it.
func disentangled(r *reader) {
	if !r.json.Yes("relative_attention") {
		r.Fail("relative_attention", "false", "true; a model without it is not supported")
	}
	d := &arch.Apart{Shared: r.json.Yes("share_att_key"), Buckets: max(0, r.Integer("position_buckets", 0, -r.most, r.most)), Most: r.Integer("max_relative_positions", 0, -r.most, r.most)}
	if d.Most < 1 {
		d.Most = r.model.Context
	}
	d.Span = d.Most
	if d.Buckets > 0 {
		d.Span = d.Buckets
		if d.Buckets%2 != 0 || d.Buckets < 4 || d.Most-1 <= d.Buckets/2 {
			r.Fail("position_buckets", strconv.Itoa(d.Buckets), fmt.Sprintf("an even number from 4 on, half of it less than the %d distances of max_relative_positions", d.Most))
		}
	}
	if d.Span > mostBuckets {
		r.Fail("position_buckets, max_relative_positions", strconv.Itoa(d.Span), fmt.Sprintf("at most %d", mostBuckets))
	}
	var raw json.RawMessage
	r.json.Read("pos_att_type", "a list", &raw)
	if d.OfContent, d.OfPosition = slices.Contains(parts(raw), "c2p"), slices.Contains(parts(raw), "p2c"); !d.OfContent && !d.OfPosition {
		r.Fail("pos_att_type", string(raw), "c2p, p2c or both")
	}
	for _, part := range strings.Split(strings.ToLower(r.Text("norm_rel_ebd")), "|") {
		switch strings.TrimSpace(part) {
		case "layer_norm":
			d.Norm = true
		case "none", "":
		default:
			r.Fail("norm_rel_ebd", quoted(r.Text("norm_rel_ebd")), "layer_norm or none")
		}
	}
	r.attention.Apart = d
}

// parts reads pos_att_type: a list, or a text with | between its parts. It returns nil if there is
// another one than c2p and p2c.
func parts(raw []byte) (list []string) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		list = strings.Split(strings.ToLower(text), "|")
	} else if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	for i, part := range list {
		if list[i] = strings.TrimSpace(part); list[i] != "c2p" && list[i] != "p2c" {
			return nil
		}
	}
	return list
}

// poolerOfDeBERTa reads the activation of the classifier.
func poolerOfDeBERTa(r *reader) {
	h := *r.model.Head
	r.activate(&h, "pooler_hidden_act")
	r.model.Head = &h
}

// fileEpsilon reads the epsilon of norms; a GGUF file that does not say it has BERT's.
func fileEpsilon(r *reader) { r.norm.Epsilon = r.Number("layer_norm_eps", 1e-12, 0, math.MaxFloat32) }

func fileVocabulary(r *reader) { r.model.Vocab = r.rows("token_embd.weight") }

// fileTable reads how many positions there are.
func fileTable(r *reader) {
	if r.model.Embed.Table = r.rows("position_embd.weight"); r.model.Embed.Table < 2 {
		r.gguf.Record(r.fault("position_embd.weight", fmt.Sprintf("%d rows", r.model.Embed.Table), "2 or more, for the tokens around a text"))
	}
}

// fileALiBi says that scores fall with the distance, and that layers have gates.
func fileALiBi(r *reader) {
	twoPositions(r)
	r.attention.ALiBi = slopes(r.attention.Heads)
	r.dense.Gated, r.dense.Bias = true, arch.Absent
}

// fileTypes reads how many types of tokens there are, if any.
func fileTypes(r *reader) {
	if _, ok := r.tensors.Tensor("token_types.weight"); ok {
		r.model.Embed.Types = r.rows("token_types.weight")
	}
}

func fileRotary(r *reader) {
	twoPositions(r)
	r.rope = &arch.Rope{Dims: r.pairs(r.attention.Size), Base: r.Number("rope_theta", 10000, 1, mostBase), Divide: 1, Scaling: unscaled}
}

// rows returns the rows of a matrix.
func (r *reader) rows(name string) int {
	t, ok := r.tensors.Tensor(name)
	if ok && len(t.Shape) == 2 && t.Shape[0] >= 1 && t.Shape[0] <= r.most {
		return t.Shape[0]
	}
	got := "nothing"
	if ok {
		got = fmt.Sprintf("shape %v", t.Shape)
	}
	r.gguf.Record(r.fault(name, got, fmt.Sprintf("a matrix of 1 to %d rows", r.most)))
	return 1
}

// fileParts finds out which tensors the layers have, by the tensors of the first one.
func fileParts(r *reader) {
	has := func(name string) arch.Bias {
		if _, ok := r.tensors.Tensor("blk.0." + name); ok {
			return arch.Present
		}
		return arch.Absent
	}
	r.attention.Fused = has("attn_qkv.weight") == arch.Present
	r.attention.Bias, r.dense.Bias = has("attn_output.bias"), has("ffn_down.bias")
	r.attention.OutBias, r.dense.DownBias = r.attention.Bias, r.dense.Bias
}

// fileAlike checks keys that say what encoders have anyway.
func fileAlike(r *reader) {
	r.same("num_key_value_heads", r.attention.Heads)
	for _, key := range []string{"head_dim", "attention.value_length", "rope.dimension_count"} {
		r.same(key, r.attention.Size)
	}
}
