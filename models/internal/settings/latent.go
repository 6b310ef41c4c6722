package settings

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/models/internal/activations"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/ropescaling"
	"github.com/attn-go/attn/models/internal/strict"
)

// latents are the families with attention over latents.
var latents = []family{
	{
		Family: arch.Family{Types: []string{"deepseek_v3"}, Classes: []string{"DeepseekV3"}, GGUF: "deepseek2", Names: latentNames},
		draft:  gatedBlock(activations.SiLU), folder: decoder(latentKeys, lead, more),
		file:     []group{sizes, inner, rmsEpsilon, fileLatent, fileRouted, fileCausal},
		missing:  latentMissing.with(values{"rms_norm_eps": 1e-6, "kv_lora_rank": 512, "q_lora_rank": 1536, "n_group": 8, "topk_group": 4, "routed_scaling_factor": 2.5, "v_head_dim": 128, "qk_nope_head_dim": 128, "first_k_dense_replace": 3, "num_key_value_heads": 128}),
		renamed:  routedKeys,
		harmless: routedHarmless,
		nested:   values{"hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048, "num_hidden_layers": 61, "num_attention_heads": 128, "max_position_embeddings": 4096, "num_local_experts": 256},
	},
	{
		Family: arch.Family{Types: []string{"glm4_moe_lite"}, Classes: []string{"Glm4MoeLite"}, GGUF: "deepseek2", Names: latentNames},
		draft:  gatedBlock(activations.SiLU), folder: decoder(latentKeys, sparse, more),
		missing:  latentMissing.with(values{"rms_norm_eps": 1e-5, "kv_lora_rank": 512, "q_lora_rank": 768, "routed_scaling_factor": 1.8, "v_head_dim": 256, "qk_nope_head_dim": 192, "num_experts_per_tok": 4, "num_key_value_heads": 20}),
		renamed:  routedKeys,
		harmless: routedHarmless,
		nested:   values{"hidden_size": 2048, "intermediate_size": 10240, "moe_intermediate_size": 1536, "num_hidden_layers": 47, "num_attention_heads": 20, "max_position_embeddings": 202752, "num_local_experts": 64},
	},
}

var (
	latentKeys    = []group{sizes, inner, rmsEpsilon, tied, silu, latent, routed}
	latentMissing = routedMissing.with(values{"qk_rope_head_dim": 64, "rope_interleave": true})
)

// latentEpsilon is the epsilon of the norms of latents; other norms may have another one.
const latentEpsilon = 1e-6

// over says that all layers have attention over latents.
func (r *reader) over(t *arch.Latent) {
	t.Heads, t.KVHeads, t.Size = r.attention.Heads, 1, t.Rank+r.rope.Dims
	t.Norm, t.Rope = &arch.Norm{Kind: arch.RMSNorm, Epsilon: latentEpsilon}, r.rope
	for _, n := range []int{t.Size, t.Plain + r.rope.Dims, t.Values} {
		if r.beyond(t.Heads, n) {
			r.Fail("num_attention_heads", fmt.Sprint(t.Heads), fmt.Sprintf("at most %d elements of all heads together", r.most))
		}
	}
	r.mixer = func(int) arch.Mixer { return t }
}

// latent reads attention over latents. Its scores grow with the square of what YaRN multiplies
// cosines and sines by.
func latent(r *reader) {
	r.same("num_key_value_heads", r.attention.Heads)
	t := &arch.Latent{Rank: r.Size("kv_lora_rank", 0), Plain: r.Size("qk_nope_head_dim", 0), Values: r.Size("v_head_dim", 0)}
	if r.Has("q_lora_rank") {
		t.QueryRank = r.Size("q_lora_rank", 0)
	}
	r.biases("attention_bias", &t.Bias, &t.OutBias)
	r.attention.Size = r.Size("qk_rope_head_dim", 0)
	r.same("head_dim", r.attention.Size)
	r.same("qk_head_dim", t.Plain+r.attention.Size)
	p := r.parameters()
	r.turn(p, r.attention.Size)
	r.scaling(p, p.Size(original, r.model.Context), everyScaling)
	all := p.Number("mscale_all_dim", 0, 0, 1e3)
	p.Unknown(strict.Parameters)
	r.rope.Interleaved = r.json.Yes("rope_interleave")
	t.Scale = latentScale(t.Plain+r.rope.Dims, 1)
	if r.rope.Scaling.YaRN && all != 0 {
		t.Scale = latentScale(t.Plain+r.rope.Dims, ropescaling.YaRNMagnitude(r.rope.Scaling.Factor, all))
	}
	r.over(t)
}

// latentScale returns what scores of heads of a size are multiplied by, with what YaRN multiplies
// both sides by.
func latentScale(size int, by float64) float32 {
	return float32(float64(by*by) / math.Sqrt(float64(size)))
}

// sparse reads which layers of GLM have experts: all after some of the first ones. Published files
// say how many those are by a key that the class does not read.
func sparse(r *reader) {
	r.lead = 1
	r.sparseTypes()
	const key = "first_k_dense_replace"
	if n := r.optional(key, r.lead, mostLayers); n != r.lead {
		r.Fail(key, fmt.Sprint(n), fmt.Sprintf("%d, as mlp_layer_types says, or the class without it", r.lead))
	}
}

func (r *reader) sparseTypes() {
	const key = "mlp_layer_types"
	var kinds []string
	if !r.json.Read(key, "a list of strings", &kinds) {
		return
	}
	if len(kinds) != r.count {
		r.Fail(key, fmt.Sprintf("%d layers", len(kinds)), fmt.Sprint(r.count))
		return
	}
	for r.lead = 0; r.lead < r.count && kinds[r.lead] == "dense"; {
		r.lead++
	}
	for _, kind := range kinds[r.lead:] {
		if kind != "sparse" {
			r.Fail(key, quoted(kind), `"dense" in the first layers and "sparse" in the rest`)
		}
	}
}

// fileLatent reads attention over latents out of a GGUF file, in which it has one head of keys.
// Keys of the file are of what is kept, and of what heads make of it.
func fileLatent(r *reader) {
	const keys, values, ofHeads = "attention.key_length", "attention.value_length", "_mla"
	r.same("num_key_value_heads", 1)
	t := &arch.Latent{Rank: r.Size("attention.kv_lora_rank", 0), Values: r.Size(values+ofHeads, 0)}
	t.Bias, t.OutBias = arch.AsFiles, arch.AsFiles
	if key := "attention.q_lora_rank"; r.Has(key) {
		t.QueryRank = r.Size(key, 0)
	}
	r.attention.Size = r.Size("head_dim", 0)
	fileRope(r)
	r.rope.Interleaved = true
	r.same(keys, t.Rank+r.rope.Dims)
	r.same(values, t.Rank)
	size := r.Size(keys+ofHeads, 0)
	if t.Plain = size - r.rope.Dims; t.Plain < 1 {
		r.Fail(keys+ofHeads, fmt.Sprint(size), fmt.Sprintf("more than the %d elements that rotate", r.rope.Dims))
		return
	}
	if key := "rope.scaling.yarn_attn_factor"; r.Has(key) {
		r.Fail(key, "a number", "none, as yarn_log_multiplier says it")
	}
	t.Scale = latentScale(size, 1)
	if s := &r.rope.Scaling; s.YaRN {
		s.Magnitude = r.Number("rope.scaling.attn_factor", 1, 0x1p-16, 0x1p16) // the rest is in the scale
		t.Scale = latentScale(size, ropescaling.YaRNMagnitude(s.Factor, 10*r.Optional("rope.scaling.yarn_log_multiplier", 0x1p-32, 0x1p10)))
	}
	r.over(t)
}
