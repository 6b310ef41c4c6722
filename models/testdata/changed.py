#!/usr/bin/env python3
"""Prints changed.json: config.json of folders of tiny/ with keys that are changed or left out, and some numbers of what transformers
computes in float64 of 40 tokens then: logits of the last token, or its last hidden state. Some stand in a config.json of a
class around them.

usage: changed.py > changed.json        needs: pip install torch transformers
"""
import json
import math
import os
import shutil
import tempfile
import torch
from safetensors.torch import load_file, save_file
import transformers as tf
from transformers.models.gemma3n import modeling_gemma3n

MISSING = "(left out)"
CASES = [
    ("gemma2-2", {"attn_logit_softcapping": MISSING, "final_logit_softcapping": MISSING}),
    ("gemma2-2", {"attn_logit_softcapping": None, "final_logit_softcapping": None}),
    ("gemma2-2", {"query_pre_attn_scalar": MISSING}),
    ("gemma2-2", {"layer_types": MISSING}),
    ("gemma2-2", {"tie_word_embeddings": MISSING}),
    ("gemma3-6", {"rope_parameters": MISSING}),
    ("gemma3-whole-2", {"rope_parameters": MISSING}),
    ("gemma3-whole-2", {"rope_parameters": MISSING, "rope_scaling": {"rope_type": "linear", "factor": 4.0}}),
    ("gemma3-whole-2", {"rope_parameters": MISSING, "rope_theta": 5000.0, "rope_local_base_freq": 300.0}),
    ("gemma3-whole-2", {"rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 8.0}, "sliding_attention": None}}),
    ("gemma3-6", {"layer_types": MISSING, "sliding_window_pattern": 2}),
    ("phi3-2", {"rms_norm_eps": MISSING}),
    ("phi3-long-2", {"original_max_position_embeddings": 128}),
    ("phi3-2", {"rope_parameters": MISSING, "partial_rotary_factor": 0.75}),
    ("mistral-2", {"sliding_window": None}),
    ("mistral-2", {"sliding_window": 7}),
    ("mistral-2", {"rms_norm_eps": MISSING}),
    ("qwen2-2", {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1, "layer_types": MISSING}),
    ("qwen2-2", {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": MISSING, "layer_types": MISSING}),
    ("qwen3_moe-2", {"use_sliding_window": True, "sliding_window": 5}),
    ("qwen3_moe-2", {"norm_topk_prob": MISSING}),
    ("qwen3-2", {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1, "layer_types": MISSING}),
    ("qwen3-2", {"rope_parameters": MISSING}),
    ("llama-2", {"rope_parameters": MISSING, "rope_theta": 500.0}),
    ("llama-2", {"head_dim": None}),
    ("granite-6", {"residual_multiplier": MISSING}),
    ("granite-6", {"embedding_multiplier": MISSING, "logits_scaling": MISSING}),
    ("granite-6", {"attention_multiplier": MISSING}),
    ("smollm3-fourth-67", {"no_rope_layers": [0, 1, 1, 0]}),
    ("smollm3-fourth-67", {"no_rope_layers": MISSING}),
    ("smollm3-fourth-67", {"no_rope_layers": MISSING, "no_rope_layer_interval": 2}),
    ("smollm3-fourth-67", {"use_sliding_window": True, "sliding_window": 5, "layer_types": MISSING}),
    ("smollm3-fourth-67", {"rope_parameters": MISSING}),
    ("olmo2-6", {"rope_parameters": MISSING, "rope_theta": 500.0, "rms_norm_eps": MISSING}),
    ("olmo3-67", {"layer_types": MISSING, "sliding_window": 5}),
    ("olmo3-67", {"rope_parameters": MISSING}),
    ("olmo3-67", {"rope_parameters": MISSING, "rope_scaling": {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 16}}),
    ("ministral3-6", {"rope_parameters": MISSING}),
    ("ministral3-6", {"sliding_window": 5}),
    ("ministral3-6", {"rope_parameters": {"type": "yarn", "rope_theta": 700.0, "factor": 2.0, "original_max_position_embeddings": 8, "mscale": 1.0, "mscale_all_dim": 0.5, "llama_4_scaling_beta": 0.3}}),
    ("glm4-6", {"rope_parameters": MISSING}),
    ("glm4-6", {"rope_parameters": MISSING, "partial_rotary_factor": 0.25}),
    ("glm4-6", {"rope_parameters": {"rope_theta": 100.0, "rope_type": "default", "partial_rotary_factor": 1.0}}),
    ("exaone4-67", {"sliding_window": None, "sliding_window_pattern": None, "layer_types": ["full_attention"] * 4}),
    ("exaone4-67", {"sliding_window": 5, "sliding_window_pattern": 2, "layer_types": MISSING}),
    ("exaone4-67", {"sliding_window_pattern": "LLLG"}),
    ("cohere2-6", {"layer_types": MISSING, "sliding_window": 5, "sliding_window_pattern": 2}),
    ("cohere2-6", {"layer_types": MISSING, "sliding_window": 5}),
    ("cohere2-6", {"logit_scale": MISSING}),
    ("phi-6", {"rope_parameters": MISSING}),
    ("phi-6", {"hidden_act": MISSING, "layer_norm_eps": MISSING}),
    ("gemma-67", {"hidden_act": "gelu", "hidden_activation": "gelu_pytorch_tanh"}),
    ("gemma-67", {"tie_word_embeddings": MISSING, "rope_parameters": MISSING}),
    ("starcoder2-67", {"sliding_window": 5}),
    ("starcoder2-67", {"sliding_window": MISSING, "norm_epsilon": MISSING, "hidden_act": "relu"}),
    ("stablelm-6", {"rope_parameters": MISSING}),
    ("nemotron-6", {"rope_parameters": MISSING, "hidden_act": MISSING}),
    ("nemotron-6", {"norm_eps": MISSING}),
    ("hunyuan-alpha-67", {"rope_parameters": MISSING}),
    ("hunyuan-alpha-67", {"rope_parameters": MISSING, "rope_theta": 10000.0, "rope_scaling": {"type": "dynamic", "alpha": 50.0, "factor": 1.0}}),
    ("gemma3n-67", {"sliding_window": 5}),
    ("gemma3n-67", {"activation_sparsity_pattern": MISSING}),
    ("gemma3n-67", {"activation_sparsity_pattern": [0.5, 0.25, 0.7, 0.0, 0.999, 0.0]}),
    ("gemma3n-67", {"rope_parameters": MISSING}),
    ("gemma3n-67", {"rope_parameters": MISSING, "rope_theta": 5000.0, "rope_local_base_freq": 300.0}),
    ("gemma3n-67", {"altup_coef_clip": 0.01}),
    ("gemma3n-67", {"final_logit_softcapping": MISSING, "tie_word_embeddings": MISSING, "rms_norm_eps": MISSING}),
    ("gemma4-67", {"sliding_window": 5}),
    ("gemma4-67", {"rope_parameters": MISSING}),
    ("gemma4-67", {"per_layer_config": MISSING, "global_head_dim": 32, "use_bidirectional_attention": "vision"}),
    ("gemma4-67", {"final_logit_softcapping": MISSING, "tie_word_embeddings": MISSING}),
    ("gemma4-same-67", {"per_layer_config": MISSING, "global_head_dim": 32, "num_global_key_value_heads": 1, "num_kv_shared_layers": MISSING}),
    ("gemma4-same-67", {"rope_parameters": {"full_attention": {"rope_type": "proportional", "rope_theta": 50.0, "partial_rotary_factor": 0.5, "factor": 2.0}, "sliding_attention": {"rope_type": "default", "rope_theta": 30.0}}}),
    ("embedding_gemma2-4", {"sliding_window": 2, "rms_norm_eps": MISSING}),
    ("embedding_gemma2-4", {"per_layer_config": MISSING, "global_head_dim": 32, "num_global_key_value_heads": MISSING, "layer_types": MISSING, "sliding_window_pattern": 2}),
    ("embedding_gemma2-4", {"rope_parameters": MISSING}),
    ("mpnet-1", {"pad_token_id": 0}),
    ("roberta-1", {"pad_token_id": 2}),
    ("modernbert-1", {"rope_parameters": MISSING}),
    ("modernbert-1", {"local_attention": MISSING}),
    ("modernbert-1", {"layer_types": MISSING}),
    ("modernbert-1", {"layer_types": MISSING, "global_attn_every_n_layers": 2}),
    ("nomic_bert-1", {"rope_parameters": MISSING}),
    ("nomic_bert-1", {"rope_parameters": MISSING, "rope_theta": 77.0}),
    ("bert-1", {"layer_norm_eps": MISSING, "hidden_act": MISSING}),
    ("distilbert-1", {"activation": MISSING}),
    ("t5-4", {"dense_act_fn": "gelu_new"}),
    ("t5-19", {"dense_act_fn": "relu", "is_gated_act": True}),
    ("mixtral-36", {"sliding_window": 7}),
    ("mixtral-36", {"rope_parameters": MISSING, "rms_norm_eps": MISSING}),
    ("qwen2_moe-55", {"norm_topk_prob": True}),
    ("qwen2_moe-55", {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 2, "layer_types": MISSING}),
    ("olmoe-55", {"norm_topk_prob": True}),
    ("gpt_oss-32", {"swiglu_limit": 1.0, "swiglu_alpha": 1.0}),
    ("gpt_oss-32", {"swiglu_limit": MISSING, "swiglu_alpha": MISSING, "layer_types": MISSING, "sliding_window": 5}),
    ("gpt_oss-32", {"rope_parameters": MISSING}),
    ("gpt_oss-32", {"rope_parameters": MISSING, "rope_theta": 500.0, "rope_scaling": {"rope_type": "yarn", "factor": 8.0, "beta_fast": 32.0, "beta_slow": 1.0, "original_max_position_embeddings": 64}}),
    ("gpt_oss-32", {"rope_parameters": None}),
    ("gpt_oss-32", {"rope_parameters": MISSING, "rope_scaling": {}}),
    ("glm4_moe-32", {"norm_topk_prob": False, "routed_scaling_factor": 3.0}),
    ("glm4_moe-32", {"n_group": 3, "topk_group": 2}),
    ("glm4_moe-25", {"rope_parameters": MISSING, "routed_scaling_factor": MISSING, "n_group": MISSING, "topk_group": MISSING, "norm_topk_prob": MISSING, "first_k_dense_replace": MISSING}),
    ("minimax_m2-36", {"rope_parameters": MISSING}),
    ("minimax_m2-36", {"rope_parameters": MISSING, "rope_theta": 100.0, "rotary_dim": 4}),
    ("deepseek_v3-31", {"n_group": 1, "topk_group": 1, "routed_scaling_factor": MISSING}),
    ("deepseek_v3-31", {"rope_interleave": False}),
    ("deepseek_v3-31", {"rope_parameters": {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 8.0, "original_max_position_embeddings": 32, "mscale": 0.7, "mscale_all_dim": 0.5}}),
    ("deepseek_v3-31", {"rope_parameters": {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 8.0, "original_max_position_embeddings": 32}}),
    ("glm4_moe_lite-32", {"mlp_layer_types": MISSING, "rms_norm_eps": 0.01, "rope_parameters": MISSING}),
    ("glm4_moe_lite-32", {"mlp_layer_types": MISSING, "first_k_dense_replace": 1}),
    ("granitemoehybrid-41", {"time_step_limit": [0.25, 0.5], "position_embedding_type": MISSING}),
    ("granitemoehybrid-41", {"layer_types": ["mamba", "mamba", "attention", "mamba"], "mamba_d_head": "auto", "rope_parameters": MISSING}),
    ("granitemoehybrid-42", {"residual_multiplier": MISSING, "logits_scaling": MISSING, "time_step_limit": MISSING, "rms_norm_eps": MISSING}),
    ("nemotron_h-41", {"time_step_min": 0.5, "norm_topk_prob": False}),
    ("nemotron_h-41", {"layers_block_type": MISSING, "hybrid_override_pattern": "M-*ME", "routed_scaling_factor": MISSING}),
    ("nemotron_h-41", {"n_group": 3, "topk_group": 2, "mamba_proj_bias": True, "layer_norm_epsilon": MISSING}),
    ("starcoder2-67", {"mlp_type": "default", "norm_type": "layer_norm"}),
    ("hunyuan-alpha-67", {"norm_type": "rms", "use_qk_norm": True, "use_cla": False}),
    ("nemotron-6", {"kv_channels": 8}),
    ("deepseek_v3-31", {"aux_loss_alpha": 0.001, "seq_aux": True}),
    ("stablelm-6", {"rotary_scaling_factor": 1.0}),
    ("minimax_m2-36", {"attn_type_list": [1, 1], "layernorm_full_attention_beta": 1.0, "layernorm_linear_attention_beta": 1.0, "layernorm_mlp_beta": 1.0, "mlp_intermediate_size": 8192, "shared_moe_mode": "sigmoid"}),
]
GEMMA4 = {"model_type": "gemma4", "architectures": ["Gemma4ForConditionalGeneration"], "tie_word_embeddings": True}
EMBEDDING = {"model_type": "embedding_gemma2", "architectures": ["EmbeddingGemma2Model"]}
WRAPPED = [  # with the class around them, and how names of tensors begin there in the place of what they begin with here
    ("gemma4-67", {"pad_token_id": 3}, GEMMA4 | {"image_token_id": 28, "audio_token_id": 7, "video_token_id": None}, "model.", "model.language_model."),
    ("gemma4-same-67", {"pad_token_id": MISSING}, GEMMA4 | {"video_token_id": 28, "audio_token_id": 0}, "model.", "model.language_model."),
    ("embedding_gemma2-4", {"pad_token_id": 3}, EMBEDDING | {"image_token_id": 28, "video_token_id": 7, "audio_token_id": 44}, "", "language_model."),
    ("embedding_gemma2-4", {}, EMBEDDING | {"image_token_id": 28}, "", "language_model."),
]
GEMMA3N = {"model_type": "gemma3n", "architectures": ["Gemma3nForConditionalGeneration"], "vision_config": {"vocab_offset": 40, "vocab_size": 8, "hidden_size": 10, "rms_norm_eps": 0.01}, "audio_config": {"vocab_offset": 48, "vocab_size": 14, "hidden_size": 6, "rms_norm_eps": 0.02}}
SOFT = {f"model.embed_{part}.{name}": shape for part, n, w in [("vision", 8, 10), ("audio", 14, 6)] for name, shape in [("embedding.weight", [n, w]), ("hard_embedding_norm.weight", [w]), ("embedding_projection.weight", [24, w])]}
WRAPPED.append(("gemma3n-67", {}, GEMMA3N, "model.", "model.language_model.", SOFT))
from_config = tf.AutoModel.from_config  # without towers, which texts do not reach
tf.AutoModel.from_config = lambda c, **more: torch.nn.Identity() if c.model_type in ("gemma3n_vision", "gemma3n_audio") else from_config(c, **more)
KEPT = 12  # numbers of a result
tiny = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tiny")
ids = torch.tensor([[(i * 37 + 5) % 60 + 2 for i in range(40)]])
results = []
def numbers(shape):
    return (((torch.arange(math.prod(shape)) * 37 + 11) % 101 - 50) / 40).reshape(shape)
for name, change, around, begin, within, *more in [(*c, None, "", "") for c in CASES] + WRAPPED:
    extra = more[0] if more else {}  # tensors of other parts, and their shapes
    with tempfile.TemporaryDirectory() as d:
        shutil.copytree(os.path.join(tiny, name), d, dirs_exist_ok=True)
        path = os.path.join(d, "config.json")
        config = {k: v for k, v in (json.load(open(path)) | change).items() if v != MISSING}
        decoder = any(c.endswith("CausalLM") for c in config["architectures"])
        if around:
            config = around | {"text_config": config}
            weights = os.path.join(d, "model.safetensors")
            save_file({within + k.removeprefix(begin): x for k, x in load_file(weights).items()} | {k: numbers(shape) for k, shape in extra.items()}, weights, metadata={"format": "pt"})
        json.dump(config, open(path, "w"))
        more = {"experts_implementation": "eager"} if "num_experts_per_tok" in config else {}
        model = (modeling_gemma3n.Gemma3nForConditionalGeneration if extra else tf.AutoModelForCausalLM if decoder else tf.T5EncoderModel if config["model_type"] == "t5" else tf.AutoModel).from_pretrained(d, dtype=torch.float64, attn_implementation="eager", **more).eval()
        with torch.no_grad():
            out = model(ids)
        x = (out.logits if decoder else out.last_hidden_state)[0, -1].double()
        step = max(1, len(x) // KEPT)
        results.append({"folder": name, "config": {k: v for k, v in change.items() if v != MISSING}, "missing": [k for k, v in change.items() if v == MISSING],
                        "decoder": decoder, **({"around": around, "begin": begin, "within": within} | ({"extra": extra} if extra else {}) if around else {}), "step": step, "numbers": [round(v, 9) for v in x[::step][:KEPT].tolist()], "largest": x.abs().max().item()})
print(json.dumps({"ids": ids[0].tolist(), "results": results}).replace('{"folder"', '\n{"folder"'))
