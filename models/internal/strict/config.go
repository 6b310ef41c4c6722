package strict

// Config is the table of config.json: keys that no model of the transformers library computes with,
// and keys of what no model here has, with the values that switch it off. Keys of one family alone
// are in a table of that family.
var Config = Table{}.
	Add(Any,
		// What the model is, and who wrote the file.
		"architectures", "auto_map", "model_type", "custom_pipelines", "finetuning_task", "problem_type", "task_specific_params", "prefix",
		"_name_or_path", "_commit_hash", "_attn_implementation", "_attn_implementation_autoset", "_attn_implementation_internal", "_experts_implementation", "_flash_attn_2_enabled",
		"_num_labels", "_output_attentions", "_pre_quantization_dtype", "attn_implementation", "use_flash_attn", "use_flash_attention", "transformers_version", "transformers.js_config",
		"unsloth_version", "unsloth_fixed", "unsloth_optimized", "model_name", "base_model_name_or_path", "language", "license", "sentence_transformers", "sbert_ce_default_activation_function",
		// Types of numbers: the tensors' count.
		"torch_dtype", "dtype", "use_bfloat16", "fp16", "bf16",
		// Tokens and labels, which the tokenizer, generation_config.json and the weights have.
		"tokenizer_class", "vocab_size", "bos_token", "eos_token", "pad_token", "unk_token", "bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id", "sep_token_id", "cls_token_id", "mask_token_id",
		"decoder_start_token_id", "num_labels", "id2label", "label2id", "keys_to_ignore_at_inference",
		// Training.
		"initializer_range", "initializer_factor", "initializer_cutoff_factor", "attention_dropout", "attention_probs_dropout_prob", "hidden_dropout", "hidden_dropout_prob", "embedding_dropout", "mlp_dropout",
		"embd_pdrop", "resid_pdrop", "attn_pdrop", "dropout", "qa_dropout", "seq_classif_dropout", "classifier_dropout", "summary_first_dropout", "gradient_checkpointing", "use_reentrant", "neftune_noise_alpha",
		"router_aux_loss_coef", "output_router_logits", "router_jitter_noise", "pretraining_tp", "ep_size", "use_cache", "cache_implementation", "tie_word_embeddings", "tie_weights_", "tie_encoder_decoder",
		// How results come out, and how they are computed.
		"output_hidden_states", "output_attentions", "output_past", "return_dict", "torchscript", "tf_legacy_loss", "chunk_size_feed_forward", "deterministic_flash_attn", "reference_compile",
		"repad_logits_with_grad", "unpad_inputs", "use_memory_efficient_attention", "fused_bias_fc", "fused_dropout_add_ln", "use_xentropy", "pad_vocab_size_multiple", "sparse_prediction", "sparse_pred_ignore_index",
		// Heads of other tasks, whose tensors are used or named.
		"pooler_type", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head", "classifier_pooling", "classifier_activation", "classifier_bias", "decoder_bias",
		"summary_activation", "summary_proj_to_labels", "summary_type", "summary_use_proj", "dense_seq_output",
		// What transformers reads nowhere, such as notes of converters and of distillation.
		"adapters", "xla_device", "emb_size", "fit_size", "cell", "pre_trained", "structure", "training", "max_sequence_length", "max_seq_length", "model_max_length", "seq_length", "loss_type", "num_logits_to_keep").
	Add(Only("false"),
		"is_encoder_decoder", "add_cross_attention", "is_decoder", "use_mrope", "use_dynamic_ntk", "use_logn_attn", "rope_interleaved", "lm_head_bias", "qk_layernorm", "use_qk_norm", "scale_embedding",
		"parallel_block", "use_parallel_residual", "use_bidirectional_attention", "logn_attention_clip1", "embedding_layernorm",
		"attention_bias", "mlp_bias", "use_sliding_window").
	Add(Only("true"), "is_llama_config").
	Add(Only("0"), "num_nextn_predict_layers", "first_k_dense_replace", "n_shared_experts").
	Add(Only("1"), "full_attn_mod", "interpolate_factor", "residual_multiplier", "embedding_multiplier", "logits_scaling", "partial_rotary_factor").
	Add(Only("{}"), "pruned_heads").
	Add(Only(`"bidi"`), "directionality").
	Add(Only(`"absolute"`), "position_embedding_type").
	Add(Any, drawing...). // which generation_config.json has now
	Add(unset, bound...)

// drawing are the settings of how transformers generates texts, in all of its versions up to 5.24.
// Whoever asks for a text here says how tokens are drawn, and how many.
var drawing = []string{
	"max_length", "max_new_tokens", "min_length", "min_new_tokens", "max_time", "do_sample", "early_stopping", "num_beams", "num_beam_groups", "diversity_penalty", "num_return_sequences",
	"temperature", "top_k", "top_p", "min_p", "top_h", "typical_p", "epsilon_cutoff", "eta_cutoff", "repetition_penalty", "encoder_repetition_penalty", "length_penalty", "penalty_alpha", "dola_layers",
	"no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "exponential_decay_length_penalty", "renormalize_logits", "remove_invalid_values", "output_scores", "output_logits", "return_dict_in_generate",
}

// bound are settings of which tokens a text must have or must not have, whoever asks for it.
var bound = []string{
	"bad_words_ids", "forced_bos_token_id", "forced_eos_token_id", "forced_decoder_ids", "force_words_ids", "constraints", "suppress_tokens", "begin_suppress_tokens", "sequence_bias", "stop_strings",
	"watermarking_config",
}

// unset are the values of settings for which 0 is a token.
var unset = Only("null", "[]", "{}")

// Generation is the table of generation_config.json.
var Generation = Table{
	"guidance_scale": Only("null", "1"), "token_healing": Only("null", "false"), "generation_kwargs": None,
}.
	Add(Any, drawing...).
	Add(unset, bound...).
	Add(Any,
		// Who wrote the file, and tokens, which the tokenizer has.
		"_from_model_config", "_commit_hash", "_name_or_path", "transformers_version", "trust_remote_code", "chat_format", "max_window_size",
		"bos_token_id", "pad_token_id", "decoder_start_token_id", "unk_token_id", "sep_token_id", "cls_token_id", "mask_token_id", "user_token_id", "assistant_token_id",
		// How results come out, and how they are computed: drafts are checked.
		"output_attentions", "output_hidden_states", "return_dict", "use_cache", "cache_implementation", "cache_config", "max_cache_len", "return_legacy_cache", "low_memory", "prefill_chunk_size",
		"compile_config", "disable_compile", "continuous_batching_config", "use_mtp", "is_assistant", "num_assistant_tokens", "num_assistant_tokens_schedule", "assistant_confidence_threshold",
		"assistant_early_exit", "assistant_lookbehind", "target_lookbehind", "assistant_ensemble_weight", "prompt_lookup_num_tokens", "max_matching_ngram_size", "speculation_type")

// Parameters is the table of objects in config.json, such as rope_parameters.
var Parameters = Table{"finetuned": Any, "partial_rotary_factor": Only("1")}

// SentenceTransformers is the table of config_sentence_transformers.json. All modules compute in
// float32; a score is the classifier's before the activation, which the caller applies or not.
var SentenceTransformers = Table{
	"similarity_fn_name": Only("null", `"cosine"`, `"dot"`, `"euclidean"`, `"manhattan"`),
	"activation_fn":      Only("null", `"torch.nn.modules.activation.Sigmoid"`, `"torch.nn.modules.linear.Identity"`),
}.Add(Any, "__version__", "requirements", "model_type", "prompts", "default_prompt_name", "truncate_dim", "keep_in_fp32_modules")

// Metadata is the table of GGUF files, whose keys stand here without the architecture.
var Metadata = Table{}.
	Add(Any,
		"vocab_size",         // compared with the embedding
		"pooling_type",       // read with the pooling
		"tensor_data_layout", // of tensors that are stored as others
		"rope.scaling.finetuned",
		"dense_2_feat_in", "dense_2_feat_out", "dense_3_feat_in", "dense_3_feat_out", // the tensors say it
		"classifier.output_labels").
	Add(Only("false"), "use_parallel_residual").
	Add(Only("0"),
		"expert_count", "expert_used_count", "expert_shared_count", "expert_shared_feed_forward_length", "expert_group_count", "expert_group_used_count", "expert_chunk_feed_forward_length", "leading_dense_block_count",
		"nextn_predict_layers", "n_deepstack_layers", "attention.max_alibi_bias", "attention.clamp_kqv", "attention.sliding_window", "attention.temperature_scale", "attention.temperature_length",
		"attn_logit_softcapping", "final_logit_softcapping", "router_logit_softcapping", "moe_every_n_layers", "full_attention_interval").
	Add(Only("0", "1"), "logit_scale", "residual_scale", "embedding_scale", "interleave_moe_layer_step")
