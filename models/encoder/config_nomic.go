package encoder

import "github.com/attn-go/attn/models/internal/strict"

// A publishedNomic is the keys of config.json as nomic-ai publishes it for nomic-embed-text-v1 and v1.5 with their
// own code, where transformers 5 has hidden_size and the like.
type publishedNomic struct {
	NEmbd       int     `json:"n_embd"`
	NHead       int     `json:"n_head"`
	NInner      int     `json:"n_inner"`
	NLayer      int     `json:"n_layer"`
	NPositions  int     `json:"n_positions"`
	NormEpsilon float64 `json:"layer_norm_epsilon"`
	Base        float64 `json:"rotary_emb_base"`
}

// nomicOnly are keys of which these values are computed: those of the published models.
var nomicOnly = strict.Table{"activation_function": strict.Only(`"swiglu"`), "rotary_emb_fraction": strict.Only("1"), "scale_attn_weights": strict.Only("true")}.
	Add(strict.Only("false"),
		"rotary_emb_interleaved", "rotary_emb_scale_base", "rotary_scaling_factor", "prenorm", "parallel_block", "causal", "use_rms_norm", "qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias",
		"scale_attn_by_inverse_layer_idx", "expert_choice_router").
	Add(strict.Only("0"), "num_experts", "moe_every_n_layers").
	Add(strict.Any,
		"parallel_block_tied_norm", // of parallel_block
		"reorder_and_upcast_attn",  // how it is computed
		"moe_top_k")                // of num_experts

// into sets what the keys of transformers 5 say otherwise.
func (p *publishedNomic) into(c *common, r *rotary) {
	c.Width, c.Heads, c.Inner, c.Layers, c.Posns = p.NEmbd, p.NHead, p.NInner, p.NLayer, p.NPositions
	if p.NormEpsilon != 0 {
		c.Epsilon = p.NormEpsilon
	}
	if p.Base != 0 {
		r.Base = p.Base
	}
}
