package settings

import (
	"fmt"

	"github.com/attn-go/attn/models/internal/activations"
	"github.com/attn-go/attn/models/internal/arch"
)

// nomicExpertFamily has the names of nomic with experts, whose model_type is that without.
var nomicExpertFamily = arch.Family{Types: []string{"nomic_bert"}, Names: nomicExpertNames, Ignored: []string{"pooler.", "cls.predictions."}}

const everyLayers = "moe_every_n_layers"

// nomicExperts reads whether every n-th layer has experts, as nomic-embed-text-v2-moe. All layers
// then have biases, but for the experts, and GELU without a gate.
func nomicExperts(r *reader) {
	every := r.optional(everyLayers, 0, mostLayers)
	if every == 0 {
		return
	}
	for _, key := range []string{"qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias"} {
		if !r.json.Yes(key) {
			r.Fail(key, "false", "true with "+everyLayers)
		}
	}
	if act := r.Text("activation_function"); act != "gelu" {
		r.Fail("activation_function", quoted(act), `"gelu" with `+everyLayers)
	}
	r.json.Only("moe_normalize_expert_weights", false)
	r.json.Only("num_shared_experts", 0)
	r.json.Only("ffn_div", 1)
	for _, key := range []string{"moe_impl", "moe_resid_pdrop", "add_pooling_layer"} { // which change nothing
		r.Has(key)
	}
	head := r.model.Head
	r.draft = withDraft(r.draft, bertBlock(activations.GELU, head))
	r.attention.Fused, r.experts.Added, r.model.Family = true, true, &nomicExpertFamily
	r.everyExperts(every, "moe_top_k")
}

// fileExpertsOfNomic reads the experts of a GGUF file. llama.cpp's converter leaves out the vector
// that folders add to the sum.
func fileExpertsOfNomic(r *reader) {
	r.everyExperts(r.Integer(everyLayers, 0, 1, mostLayers), "num_experts_per_tok")
}

// nomicExpertBlock is the block of GGUF files.
func nomicExpertBlock() draft {
	d := bertBlock(activations.GELU, nil)
	d.attention.Fused = true
	return d
}

// withDraft returns a draft with the attention and the network of another one, of the same sizes.
func withDraft(d, of draft) draft {
	heads, inner := d.attention, d.dense.Inner
	d.attention, d.dense = of.attention, of.dense
	d.attention.Heads, d.attention.KVHeads, d.attention.Size, d.dense.Inner = heads.Heads, heads.KVHeads, heads.Size, inner
	return d
}

// everyExperts gives every n-th layer experts, the second one first, of which a token takes as many
// as a key says. Their shares do not add up to 1.
func (r *reader) everyExperts(n int, used string) {
	e := &r.experts
	e.Count = r.Size("num_experts", 0)
	if e.Used = r.Integer(used, 0, 1, e.Count); n < 2 {
		r.Fail(everyLayers, fmt.Sprint(n), "2 or more; others are not supported")
	}
	r.each = func(i int, l *arch.Layer) {
		if i%n != 1 {
			l.Feed = &r.dense
		}
	}
}
