#!/usr/bin/env python3
"""Prints configs.json: for each model_type that is computed, config.json as transformers writes it for a model with the defaults of
its class, with all keys, and with those that versions 4 of transformers wrote for every model.

usage: configs.py > configs.json        needs: pip install transformers
"""
import json
import transformers as tf

FORMER = {
    "return_dict": True, "output_hidden_states": False, "output_attentions": False, "torchscript": False, "torch_dtype": "float32", "use_bfloat16": False, "tf_legacy_loss": False,
    "pruned_heads": {}, "chunk_size_feed_forward": 0, "is_encoder_decoder": False, "is_decoder": False, "cross_attention_hidden_size": None, "add_cross_attention": False,
    "tie_encoder_decoder": False, "max_length": 20, "min_length": 0, "do_sample": False, "early_stopping": False, "num_beams": 1, "num_beam_groups": 1, "diversity_penalty": 0.0,
    "temperature": 1.0, "top_k": 50, "top_p": 1.0, "typical_p": 1.0, "repetition_penalty": 1.0, "length_penalty": 1.0, "no_repeat_ngram_size": 0, "encoder_no_repeat_ngram_size": 0,
    "bad_words_ids": None, "num_return_sequences": 1, "output_scores": False, "return_dict_in_generate": False, "forced_bos_token_id": None, "forced_eos_token_id": None,
    "remove_invalid_values": False, "exponential_decay_length_penalty": None, "suppress_tokens": None, "begin_suppress_tokens": None, "finetuning_task": None,
    "tokenizer_class": "AutoTokenizer", "prefix": None, "sep_token_id": 3, "decoder_start_token_id": None, "task_specific_params": {"translation": {"prefix": "a"}},
    "problem_type": "regression", "_name_or_path": "a/b", "_attn_implementation_autoset": True, "gradient_checkpointing": False,
}
CLASSES = [
    tf.LlamaConfig, tf.MistralConfig, tf.Qwen2Config, tf.Qwen3Config, tf.Qwen3MoeConfig, tf.Phi3Config, tf.Gemma2Config, tf.Gemma3TextConfig, tf.MinistralConfig, tf.SeedOssConfig, tf.Ernie4_5Config,
    tf.Lfm2Config, tf.Qwen3_5TextConfig, tf.Qwen3NextConfig,
    tf.GraniteConfig, tf.SmolLM3Config, tf.Olmo2Config, tf.Olmo3Config, tf.Ministral3Config, tf.Glm4Config, tf.Exaone4Config, tf.Cohere2Config, tf.PhiConfig, tf.GemmaConfig, tf.Starcoder2Config,
    tf.StableLmConfig, tf.ArceeConfig, tf.NemotronConfig, tf.CONFIG_MAPPING["hunyuan_v1_dense"], tf.CONFIG_MAPPING["gemma4_text"], tf.CONFIG_MAPPING["gemma3n_text"],
    tf.MixtralConfig, tf.Qwen2MoeConfig, tf.Glm4MoeConfig, tf.GptOssConfig, tf.OlmoeConfig, tf.MiniMaxM2Config, tf.DeepseekV3Config, tf.Glm4MoeLiteConfig, tf.GraniteMoeConfig, tf.Lfm2MoeConfig,
    tf.GraniteMoeHybridConfig, tf.NemotronHConfig, tf.CONFIG_MAPPING["qwen3_5_moe_text"], tf.FalconH1Config,
    tf.BertConfig, tf.DistilBertConfig, tf.RobertaConfig, tf.XLMRobertaConfig, tf.MPNetConfig, tf.NomicBertConfig, tf.ModernBertConfig, tf.DebertaV2Config,
    tf.ElectraConfig, tf.AlbertConfig, tf.CamembertConfig, tf.T5Config, tf.EuroBertConfig, *(tf.CONFIG_MAPPING[x] for x in ("gte", "jina_embeddings_v3", "embedding_gemma2_text")),
]
AROUND = [tf.Gemma3Config, tf.CONFIG_MAPPING["gemma3n"], tf.CONFIG_MAPPING["gemma4"], tf.LlavaConfig, tf.Mistral3Config, tf.Qwen3_5Config, tf.CONFIG_MAPPING["qwen3_5_moe"], tf.CONFIG_MAPPING["embedding_gemma2"]]  # with a model of texts in text_config
OTHERS = {tf.CONFIG_MAPPING["gemma3n_text"]: {"num_hidden_layers": 20}, tf.GraniteMoeHybridConfig: {"layer_types": ["linear_attention", "full_attention"], "position_embedding_type": "rope"}, tf.Qwen3_5TextConfig: {"num_hidden_layers": 4}, tf.CONFIG_MAPPING["qwen3_5_moe_text"]: {"num_hidden_layers": 4}, tf.Qwen3NextConfig: {"num_hidden_layers": 4}, tf.DebertaV2Config: {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}, tf.Glm4MoeConfig: {"head_dim": 128}}  # which all published models have
if __name__ == "__main__":
    configs = {}
    for c in CLASSES + AROUND:
        layers = {} if c in AROUND else {"num_hidden_layers": 2}
        x = json.loads(c(**layers | OTHERS.get(c, {})).to_json_string(use_diff=False))
        configs[x["model_type"]] = FORMER | x
    print("{" + ",\n".join(f"{json.dumps(k)}: {json.dumps(x)}" for k, x in configs.items()) + "}")
