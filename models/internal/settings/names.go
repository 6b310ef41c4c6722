package settings

import (
	"maps"

	"github.com/attn-go/attn/models/internal/arch"
)

// bertNames are the names of BERT and RoBERTa.
var bertNames = named(bertLayer, arch.Names{
	"token_types":   "embeddings.token_type_embeddings",
	"blk.%d.attn_q": "encoder.layer.%d.attention.self.query", "blk.%d.attn_k": "encoder.layer.%d.attention.self.key", "blk.%d.attn_v": "encoder.layer.%d.attention.self.value",
	"blk.%d.attn_output": "encoder.layer.%d.attention.output.dense", "blk.%d.attn_output_norm": "encoder.layer.%d.attention.output.LayerNorm",
})

// jinaBERTNames are the tensor names of JinaBERT.
var jinaBERTNames = named(bertNames, arch.Names{
	"blk.%d.ffn_gate_up": "encoder.layer.%d.mlp.gated_layers", "blk.%d.ffn_down": "encoder.layer.%d.mlp.wo", "blk.%d.layer_output_norm": "encoder.layer.%d.mlp.layernorm",
})

// bertLayer are those that other families share with BERT.
var bertLayer = arch.Names{
	"token_embd": "embeddings.word_embeddings", "position_embd": "embeddings.position_embeddings", "token_embd_norm": "embeddings.LayerNorm",
	"blk.%d.ffn_up": "encoder.layer.%d.intermediate.dense", "blk.%d.ffn_down": "encoder.layer.%d.output.dense", "blk.%d.layer_output_norm": "encoder.layer.%d.output.LayerNorm",
}

var mpnetNames = named(bertLayer, arch.Names{
	"blk.%d.attn_q": "encoder.layer.%d.attention.attn.q", "blk.%d.attn_k": "encoder.layer.%d.attention.attn.k", "blk.%d.attn_v": "encoder.layer.%d.attention.attn.v",
	"blk.%d.attn_output": "encoder.layer.%d.attention.attn.o", "blk.%d.attn_output_norm": "encoder.layer.%d.attention.LayerNorm",
	"attn_rel_b": "encoder.relative_attention_bias",
})

var distilNames = named(bertLayer, arch.Names{
	"blk.%d.attn_q": "transformer.layer.%d.attention.q_lin", "blk.%d.attn_k": "transformer.layer.%d.attention.k_lin", "blk.%d.attn_v": "transformer.layer.%d.attention.v_lin",
	"blk.%d.attn_output": "transformer.layer.%d.attention.out_lin", "blk.%d.attn_output_norm": "transformer.layer.%d.sa_layer_norm",
	"blk.%d.ffn_up": "transformer.layer.%d.ffn.lin1", "blk.%d.ffn_down": "transformer.layer.%d.ffn.lin2", "blk.%d.layer_output_norm": "transformer.layer.%d.output_layer_norm",
})

var electraNames = named(bertNames, arch.Names{"token_embd_proj": "embeddings_project"})

// albertNames are the tensor names of ALBERT, whose one layer stands for all.
var albertNames = named(bertNames, arch.Names{
	"token_embd_proj":          "encoder.embedding_hidden_mapping_in",
	"blk.%d.attn_q":            oneLayer + "attention.query",
	"blk.%d.attn_k":            oneLayer + "attention.key",
	"blk.%d.attn_v":            oneLayer + "attention.value",
	"blk.%d.attn_output":       oneLayer + "attention.dense",
	"blk.%d.attn_output_norm":  oneLayer + "attention.LayerNorm",
	"blk.%d.ffn_up":            oneLayer + "ffn",
	"blk.%d.ffn_down":          oneLayer + "ffn_output",
	"blk.%d.layer_output_norm": oneLayer + "full_layer_layer_norm",
})

const oneLayer = "encoder.albert_layer_groups.0.albert_layers.0."

var t5Names = arch.Names{
	"token_embd":         "shared",
	"attn_rel_b":         "encoder.block.0.layer.0.SelfAttention.relative_attention_bias",
	"blk.%d.attn_norm":   "encoder.block.%d.layer.0.layer_norm",
	"blk.%d.attn_q":      "encoder.block.%d.layer.0.SelfAttention.q",
	"blk.%d.attn_k":      "encoder.block.%d.layer.0.SelfAttention.k",
	"blk.%d.attn_v":      "encoder.block.%d.layer.0.SelfAttention.v",
	"blk.%d.attn_output": "encoder.block.%d.layer.0.SelfAttention.o",
	"blk.%d.ffn_norm":    "encoder.block.%d.layer.1.layer_norm",
	"blk.%d.ffn_down":    "encoder.block.%d.layer.1.DenseReluDense.wo",
	"blk.%d.ffn_gate":    "encoder.block.%d.layer.1.DenseReluDense.wi_0",
	"blk.%d.ffn_up":      "encoder.block.%d.layer.1.DenseReluDense.wi_1",
	"output_norm":        "encoder.final_layer_norm",
}

// jinaNames are the tensor names of jina-embeddings-v3.
var jinaNames = named(nomicNames, arch.Names{
	"blk.%d.attn_qkv":    "encoder.layers.%d.mixer.Wqkv",
	"blk.%d.attn_output": "encoder.layers.%d.mixer.out_proj",
	"blk.%d.ffn_up":      "encoder.layers.%d.mlp.fc1",
})

// In nomic's feed-forward network fc12 is the gate.
var nomicNames = arch.Names{
	"token_embd": "embeddings.word_embeddings", "token_types": "embeddings.token_type_embeddings", "token_embd_norm": "emb_ln",
	"blk.%d.attn_qkv": "encoder.layers.%d.attn.Wqkv", "blk.%d.attn_output": "encoder.layers.%d.attn.out_proj", "blk.%d.attn_output_norm": "encoder.layers.%d.norm1",
	"blk.%d.ffn_gate": "encoder.layers.%d.mlp.fc12", "blk.%d.ffn_up": "encoder.layers.%d.mlp.fc11", "blk.%d.ffn_down": "encoder.layers.%d.mlp.fc2", "blk.%d.layer_output_norm": "encoder.layers.%d.norm2",
}

// nomicExpertNames are the tensor names of nomic with experts, see SeparateRows of package tensors.
var nomicExpertNames = named(nomicNames, arch.Names{
	"blk.%d.ffn_up":        "encoder.layers.%d.mlp.fc1",
	"blk.%d.ffn_gate_inp":  "encoder.layers.%d.mlp.router.layer",
	"blk.%d.ffn_up_exps":   "encoder.layers.%d.mlp.experts.mlp.w1",
	"blk.%d.ffn_down_exps": "encoder.layers.%d.mlp.experts.mlp.w2",
	"blk.%d.ffn_exps.bias": "encoder.layers.%d.mlp.experts.bias",
})

var newNames = named(bertLayer, arch.Names{
	"token_types":     "embeddings.token_type_embeddings",
	"blk.%d.attn_qkv": "encoder.layer.%d.attention.qkv_proj",
	"blk.%d.ffn_gate": "encoder.layer.%d.mlp.gate_proj", "blk.%d.ffn_up": "encoder.layer.%d.mlp.up_proj", // of gte
	"blk.%d.attn_q": "encoder.layer.%d.attention.q_proj", "blk.%d.attn_k": "encoder.layer.%d.attention.k_proj", "blk.%d.attn_v": "encoder.layer.%d.attention.v_proj",
	"blk.%d.attn_output": "encoder.layer.%d.attention.o_proj", "blk.%d.attn_output_norm": "encoder.layer.%d.attn_ln",
	"blk.%d.ffn_gate_up": "encoder.layer.%d.mlp.up_gate_proj", "blk.%d.ffn_down": "encoder.layer.%d.mlp.down_proj", "blk.%d.layer_output_norm": "encoder.layer.%d.mlp_ln",
})

var modernNames = arch.Names{
	"token_embd": "embeddings.tok_embeddings", "token_embd_norm": "embeddings.norm",
	"blk.%d.attn_qkv": "layers.%d.attn.Wqkv", "blk.%d.attn_output": "layers.%d.attn.Wo", "blk.%d.attn_norm": "layers.%d.attn_norm",
	"blk.%d.ffn_gate_up": "layers.%d.mlp.Wi", "blk.%d.ffn_down": "layers.%d.mlp.Wo", "blk.%d.ffn_norm": "layers.%d.mlp_norm", "output_norm": "final_norm",
}

// debertaNames are the tensor names of DeBERTa v2 and v3.
var debertaNames = named(bertNames, arch.Names{
	"blk.%d.attn_q": "encoder.layer.%d.attention.self.query_proj", "blk.%d.attn_k": "encoder.layer.%d.attention.self.key_proj", "blk.%d.attn_v": "encoder.layer.%d.attention.self.value_proj",
	"rel_embd": "encoder.rel_embeddings", "rel_embd_norm": "encoder.LayerNorm",
	"blk.%d.attn_rel_k": "encoder.layer.%d.attention.self.pos_key_proj", "blk.%d.attn_rel_q": "encoder.layer.%d.attention.self.pos_query_proj",
})

// llamaNames are the tensor names of most decoders.
var llamaNames = arch.Names{
	"token_embd":         "model.embed_tokens",
	"output_norm":        "model.norm",
	"output":             "lm_head",
	"cls.output":         "score",
	"blk.%d.attn_norm":   "model.layers.%d.input_layernorm",
	"blk.%d.attn_q":      "model.layers.%d.self_attn.q_proj",
	"blk.%d.attn_k":      "model.layers.%d.self_attn.k_proj",
	"blk.%d.attn_v":      "model.layers.%d.self_attn.v_proj",
	"blk.%d.attn_output": "model.layers.%d.self_attn.o_proj",
	"blk.%d.attn_q_norm": "model.layers.%d.self_attn.q_norm",
	"blk.%d.attn_k_norm": "model.layers.%d.self_attn.k_norm",
	"blk.%d.ffn_norm":    "model.layers.%d.post_attention_layernorm",
	"blk.%d.ffn_gate":    "model.layers.%d.mlp.gate_proj",
	"blk.%d.ffn_up":      "model.layers.%d.mlp.up_proj",
	"blk.%d.ffn_down":    "model.layers.%d.mlp.down_proj",

	"blk.%d.ffn_gate_inp": "model.layers.%d.mlp.gate",
	"blk.%d.ffn_gate.%e":  "model.layers.%d.mlp.experts.%e.gate_proj",
	"blk.%d.ffn_up.%e":    "model.layers.%d.mlp.experts.%e.up_proj",
	"blk.%d.ffn_down.%e":  "model.layers.%d.mlp.experts.%e.down_proj",
}

// fusedNames are the tensor names of models with one matrix for queries, keys and values, and one
// for gate and up.
var fusedNames = named(llamaNames, arch.Names{
	"blk.%d.attn_qkv":    "model.layers.%d.self_attn.qkv_proj",
	"blk.%d.ffn_gate_up": "model.layers.%d.mlp.gate_up_proj",
})

// gemmaNames are the tensor names of models that normalise outputs, too.
var gemmaNames = named(llamaNames, arch.Names{
	"blk.%d.post_attention_norm": "model.layers.%d.post_attention_layernorm",
	"blk.%d.ffn_norm":            "model.layers.%d.pre_feedforward_layernorm",
	"blk.%d.post_ffw_norm":       "model.layers.%d.post_feedforward_layernorm",
})

// gemma4Names are the tensor names of Gemma 4, whose layers have inputs of their own.
var gemma4Names = named(gemmaNames, arch.Names{
	"per_layer_token_embd":             "model.embed_tokens_per_layer",
	"per_layer_model_proj":             "model.per_layer_model_projection",
	"per_layer_proj_norm":              "model.per_layer_projection_norm",
	"blk.%d.inp_gate":                  "model.layers.%d.per_layer_input_gate",
	"blk.%d.proj":                      "model.layers.%d.per_layer_projection",
	"blk.%d.post_norm":                 "model.layers.%d.post_per_layer_input_norm",
	"blk.%d.layer_output_scale.weight": "model.layers.%d.layer_scalar",
	"blk.%d.ffn_gate_inp":              "model.layers.%d.router.proj",
	"blk.%d.ffn_gate_inp.scale":        "model.layers.%d.router.scale",
	"blk.%d.ffn_down_exps.scale":       "model.layers.%d.router.per_expert_scale",
	"blk.%d.ffn_gate_up_exps.weight":   "model.layers.%d.experts.gate_up_proj",
	"blk.%d.ffn_down_exps.weight":      "model.layers.%d.experts.down_proj",
	"blk.%d.post_ffw_norm_1":           "model.layers.%d.post_feedforward_layernorm_1",
	"blk.%d.pre_ffw_norm_2":            "model.layers.%d.pre_feedforward_layernorm_2",
	"blk.%d.post_ffw_norm_2":           "model.layers.%d.post_feedforward_layernorm_2",
})

// projectedNames are the tensor names of EmbeddingGemma 2.
var projectedNames = named(gemma4Names, arch.Names{
	"output_proj":          "model.embedding_projection",
	"per_layer_model_proj": "model.ple.per_layer_model_projection",
	"per_layer_proj_norm":  "model.ple.per_layer_projection_norm",
	"blk.%d.inp_gate":      "model.layers.%d.ple_block.per_layer_input_gate",
	"blk.%d.proj":          "model.layers.%d.ple_block.per_layer_projection",
	"blk.%d.post_norm":     "model.layers.%d.ple_block.post_per_layer_input_norm",
})

// mixtralNames are the tensor names of Mixtral: w1 of an expert is the gate, w2 the layer down.
var mixtralNames = named(llamaNames, arch.Names{
	"blk.%d.ffn_gate_inp": "model.layers.%d.block_sparse_moe.gate",
	"blk.%d.ffn_gate.%e":  "model.layers.%d.block_sparse_moe.experts.%e.w1",
	"blk.%d.ffn_up.%e":    "model.layers.%d.block_sparse_moe.experts.%e.w3",
	"blk.%d.ffn_down.%e":  "model.layers.%d.block_sparse_moe.experts.%e.w2",
})

// graniteNames are the tensor names of Granite with experts, whose gate and up are one tensor.
var graniteNames = named(llamaNames, arch.Names{
	"blk.%d.ffn_gate_inp":     "model.layers.%d.block_sparse_moe.router.layer",
	"blk.%d.ffn_gate_up_exps": "model.layers.%d.block_sparse_moe.input_linear",
	"blk.%d.ffn_down_exps":    "model.layers.%d.block_sparse_moe.output_linear",
})

// lfmExpertNames are the tensor names of LFM2 with experts.
var lfmExpertNames = named(lfmNames, arch.Names{
	"blk.%d.ffn_gate_inp":     "model.layers.%d.feed_forward.gate",
	"blk.%d.ffn_gate.%e":      "model.layers.%d.feed_forward.experts.%e.w1",
	"blk.%d.ffn_up.%e":        "model.layers.%d.feed_forward.experts.%e.w3",
	"blk.%d.ffn_down.%e":      "model.layers.%d.feed_forward.experts.%e.w2",
	"blk.%d.exp_probs_b.bias": "model.layers.%d.feed_forward.expert_bias",
})

var minimaxNames = named(mixtralNames, arch.Names{"blk.%d.exp_probs_b.bias": "model.layers.%d.block_sparse_moe.e_score_correction_bias"})

// sharedNames adds the tensor names of a network that all tokens take beside their experts.
func sharedNames(shared string) arch.Names {
	return named(llamaNames, arch.Names{
		"blk.%d.ffn_gate_shexp": "model.layers.%d.mlp." + shared + ".gate_proj",
		"blk.%d.ffn_up_shexp":   "model.layers.%d.mlp." + shared + ".up_proj",
		"blk.%d.ffn_down_shexp": "model.layers.%d.mlp." + shared + ".down_proj",
	})
}

var qwenSharedNames = named(sharedNames("shared_expert"), arch.Names{"blk.%d.ffn_gate_inp_shexp": "model.layers.%d.mlp.shared_expert_gate"})

// aheadNames are the tensor names of a layer that guesses further tokens, beside those that other
// layers have, behind what names of layers begin with.
func aheadNames(at string) arch.Names {
	return arch.Names{
		"blk.%d.nextn.eh_proj":          at + "eh_proj",
		"blk.%d.nextn.enorm":            at + "enorm",
		"blk.%d.nextn.hnorm":            at + "hnorm",
		"blk.%d.nextn.shared_head_norm": at + "shared_head.norm",
		"blk.%d.nextn.shared_head_head": at + "shared_head.head",
		"blk.%d.nextn.embed_tokens":     at + "embed_tokens",
	}
}

// fusedExperts are the names of experts in one tensor, which in folders lack a kind.
func fusedExperts(at string) arch.Names {
	return arch.Names{"blk.%d.ffn_gate_up_exps.weight": at + ".gate_up_proj", "blk.%d.ffn_down_exps.weight": at + ".down_proj"}
}

// routedNames are the tensor names of DeepSeek's experts.
var routedNames = named(named(sharedNames("shared_experts"), aheadNames("model.layers.%d.")), arch.Names{"blk.%d.exp_probs_b.bias": "model.layers.%d.mlp.gate.e_score_correction_bias"})

// latentNames are the tensor names of attention over latents, once the matrices of its heads are
// separate, see SeparateLatents of package tensors.
var latentNames = named(routedNames, arch.Names{
	"blk.%d.attn_q_a":       "model.layers.%d.self_attn.q_a_proj",
	"blk.%d.attn_q_a_norm":  "model.layers.%d.self_attn.q_a_layernorm",
	"blk.%d.attn_q_b":       "model.layers.%d.self_attn.q_b_proj",
	"blk.%d.attn_kv_a_mqa":  "model.layers.%d.self_attn.kv_a_proj_with_mqa",
	"blk.%d.attn_kv_a_norm": "model.layers.%d.self_attn.kv_a_layernorm",
	"blk.%d.attn_k_b":       "model.layers.%d.self_attn.k_b_proj",
	"blk.%d.attn_v_b":       "model.layers.%d.self_attn.v_b_proj",
})

// ossNames are the tensor names of gpt-oss once its experts are separate, see SeparateExperts of
// package tensors.
var ossNames = named(llamaNames, arch.Names{
	"blk.%d.attn_sinks.weight": "model.layers.%d.self_attn.sinks",
	"blk.%d.ffn_gate_inp":      "model.layers.%d.mlp.router",
	"blk.%d.ffn_gate_exps":     "model.layers.%d.mlp.experts.gate_proj",
	"blk.%d.ffn_up_exps":       "model.layers.%d.mlp.experts.up_proj",
	"blk.%d.ffn_down_exps":     "model.layers.%d.mlp.experts.down_proj",
})

var glmNames = named(fusedNames, arch.Names{
	"blk.%d.post_attention_norm": "model.layers.%d.post_self_attn_layernorm",
	"blk.%d.post_ffw_norm":       "model.layers.%d.post_mlp_layernorm",
})

var phiNames = named(llamaNames, arch.Names{
	"output_norm":        "model.final_layernorm",
	"blk.%d.attn_output": "model.layers.%d.self_attn.dense",
	"blk.%d.attn_q_norm": "model.layers.%d.self_attn.q_layernorm",
	"blk.%d.attn_k_norm": "model.layers.%d.self_attn.k_layernorm",
	"blk.%d.ffn_up":      "model.layers.%d.mlp.fc1",
	"blk.%d.ffn_down":    "model.layers.%d.mlp.fc2",
})

var starcoderNames = named(llamaNames, arch.Names{
	"blk.%d.ffn_up":   "model.layers.%d.mlp.c_fc",
	"blk.%d.ffn_down": "model.layers.%d.mlp.c_proj",
})

// stablelmNames have a norm for each head.
var stablelmNames = named(llamaNames, arch.Names{
	"blk.%d.attn_q_norm.%e": "model.layers.%d.self_attn.q_layernorm.norms.%e",
	"blk.%d.attn_k_norm.%e": "model.layers.%d.self_attn.k_layernorm.norms.%e",
})

var hunyuanNames = named(llamaNames, arch.Names{
	"blk.%d.attn_q_norm": "model.layers.%d.self_attn.query_layernorm",
	"blk.%d.attn_k_norm": "model.layers.%d.self_attn.key_layernorm",
})

// named returns names with others in their place.
func named(names, others arch.Names) arch.Names {
	all := maps.Clone(names)
	maps.Copy(all, others)
	return all
}
