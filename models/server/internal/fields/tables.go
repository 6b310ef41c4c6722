package fields

// What becomes of the fields of requests: the fields of OpenAI's API, and fields that clients of
// llama.cpp's server, vLLM, SGLang, Ollama, Text Embeddings Inference, LiteLLM, OpenRouter, Cohere,
// Jina and Voyage send. A field that changes the answer is used, or is an error unless it asks for
// nothing. What no table has is ignored, and the log names it.

// generation has the fields of /v1/chat/completions and /v1/completions.
var generation = []Row{
	{Use: Used, Names: `model stream stream_options n seed stop stop_token_ids ignore_eos max_tokens max_completion_tokens n_predict
		temperature top_p frequency_penalty presence_penalty top_k min_p repetition_penalty repeat_penalty repeat_last_n logprobs
		response_format grammar json_schema guided_json guided_grammar guided_choice structured_outputs receipt logit_bias`},

	// Who asks, what it costs, and how it is kept, scheduled and reported.
	{Use: Harmless, Names: `user metadata store service_tier safety_identifier prompt_cache_key prompt_cache_retention session_id request_id rid
		priority cache_prompt cache_salt cache_control id_slot n_keep n_discard n_cache_reuse keep_alive ttl timings_per_token return_progress
		sse_ping_interval stream_interval verbose kv_transfer_params ec_transfer_params backend_sampling routed_experts_prompt_start
		models route provider transforms usage tags timeout request_timeout num_retries fallbacks drop_params litellm_metadata litellm_call_id
		litellm_session_id litellm_trace_id extra_headers api_key api_base base_url api_version custom_llm_provider`},
	// Guesses that only save time, and how what is not there is done, such as images. Thoughts are
	// always apart from the text.
	{Use: Harmless, Names: `prediction speculative draft_model parse_tool_calls mm_processor_kwargs media_io_kwargs
		return_mm_kwargs image_config guided_decoding_backend
		spaces_between_special_tokens debug`},
	// A hint that only models of OpenAI know.
	{Use: Harmless, Names: "verbosity"},
	// Settings of samplers that are refused below unless they are off.
	{Use: Harmless, Names: `mirostat_tau mirostat_eta dynatemp_exponent dynatemp_low dynatemp_high xtc_threshold dry_base dry_allowed_length
		dry_penalty_last_n dry_sequence_breakers adaptive_decay smoothing_curve early_stopping guidance_scale_decay truncation_side grammar_triggers
		preserved_tokens`},

	{Use: Refused, Nothing: "false", Names: `use_beam_search include_stop_str_in_output continue_final_message return_tokens_as_token_ids
		return_token_ids return_tokens return_hidden_states return_prompt_text return_token_offsets post_sampling_probs watermarking
		grammar_lazy no_stop_trim safe_prompt raw think thinking_forced_open`},
	{Use: Refused, Nothing: "true", Names: "add_generation_prompt skip_special_tokens"},
	{Use: Refused, Nothing: "0 false", Names: `min_tokens mirostat dynatemp_range xtc_probability dry_multiplier n_probs no_repeat_ngram_size
		top_a epsilon_cutoff eta_cutoff penalty_alpha smoothing_factor n_indent`},
	{Use: Refused, Nothing: "0 1", Names: "min_keep"},
	{Use: Refused, Nothing: "1", Names: "typical_p typ_p tfs tfs_z num_beams length_penalty n_cmpl encoder_repetition_penalty guidance_scale"},
	{Use: Refused, Nothing: "0 -1", Names: "top_n_sigma t_max_predict_ms t_max_prompt_ms"},
	{Use: Refused, Nothing: "-1", Names: "thinking_token_budget reasoning_budget thinking_budget adaptive_target truncate_prompt_tokens"},
	{Use: Refused, Nothing: "true", Names: "separate_reasoning stream_reasoning include_reasoning return_reasoning", Want: "true, as thinking is always a field of its own"},
	{Use: Refused, Nothing: `{} [] ""`, Names: `bad_words bad_words_ids allowed_token_ids logits_processors logit_processors
		image_data images lora lora_adapters samplers sampler_seq sampler_priority logprob_token_ids custom_params custom_logit_processor vllm_xargs
		response_fields plugins negative_prompt prompt_logprobs prompt_embeds guided_regex regex ebnf structural_tag stop_regex chat_template
		guided_whitespace_pattern lora_path repetition_detection`},
	{Use: Refused, Nothing: "[]", Names: "functions", Want: "tools, which are in their place"},
	{Use: Refused, Nothing: `"none" "auto"`, Names: "function_call", Want: "tool_choice, which is in its place"},
	{Use: Refused, Nothing: `["text"] []`, Names: "modalities", Want: `["text"], as models write no others`},
	{Use: Refused, Names: "audio web_search_options search_parameters"},
	{Use: Refused, Nothing: `"auto" "deepseek"`, Names: "reasoning_format"},
	{Use: Refused, Nothing: `{"type":"disabled"} {"type":"auto"}`, Names: "thinking", Want: "none, as a text has no template"},

	// Other names of what is there, and what is in the wrong place.
	{Use: Refused, Names: "max_new_tokens max_output_tokens max_length", Want: "max_tokens, the name of it here"},
	{Use: Refused, Names: "random_seed", Want: "seed, the name of it here"},
	{Use: Refused, Nothing: `{}`, Names: "options extra_body", Want: "its fields beside the others of the request"},
	{Use: Refused, Nothing: `"" []`, Names: "system template format context", Want: "messages or response_format in its place"},
}

// Chat is the table of /v1/chat/completions.
var Chat = NewTable(generation, []Row{
	{Use: Used, Names: `messages top_logprobs chat_template_kwargs reasoning_effort reasoning enable_thinking date tools tool_choice
		parallel_tool_calls documents thinking thinking_token_budget reasoning_budget thinking_budget`},
	{Use: Refused, Nothing: "false", Names: "echo add_special_tokens"},
	{Use: Refused, Nothing: "1", Names: "best_of"},
	{Use: Refused, Nothing: `""`, Names: "prompt input suffix", Want: "messages in its place"},
})

// Completion is the table of /v1/completions.
var Completion = NewTable(generation, []Row{
	{Use: Used, Names: "prompt best_of echo suffix"},
	{Use: Harmless, Names: "chat_template_kwargs reasoning_effort reasoning enable_thinking parallel_tool_calls"}, // a text has no template
	{Use: Refused, Nothing: "[]", Names: "tools documents", Want: "none, as a text has no template"},
	{Use: Refused, Nothing: `"none" "auto"`, Names: "tool_choice", Want: `"none" or "auto", as there are no tools`},
	{Use: Refused, Nothing: "true", Names: "add_special_tokens"},
	{Use: Refused, Nothing: "0", Names: "top_logprobs", Want: "logprobs, which is their number here"},
	{Use: Refused, Nothing: `[] ""`, Names: "messages input", Want: "prompt in its place"},
})

// Message is the table of a message.
var Message = NewTable([]Row{
	{Use: Used, Names: "role content name reasoning_content reasoning thinking tool_calls tool_call_id tool_name"},
	{Use: Harmless, Names: "refusal annotations cache_control weight reasoning_details"},
	{Use: Refused, Nothing: `[] {} ""`, Names: "audio images", Want: "none, as there are no sounds or images"},
	{Use: Refused, Nothing: `[] {} ""`, Names: "function_call", Want: "tool_calls, which are in its place"},
	{Use: Refused, Nothing: "false", Names: "prefix partial"},
})

// Tool is the table of a tool.
var Tool = NewTable([]Row{{Use: Used, Names: "type function"}, {Use: Harmless, Names: "cache_control"}})

// Function is the table of the function of a tool.
var Function = NewTable([]Row{{Use: Used, Names: "name description parameters strict"}})

// Call is the table of a call of a tool.
var Call = NewTable([]Row{{Use: Used, Names: "id type function"}, {Use: Harmless, Names: "index"}})

// Called is the table of the function of a call.
var Called = NewTable([]Row{{Use: Used, Names: "name arguments"}, {Use: Harmless, Names: "index"}})

// ToolChoice is the table of tool_choice.
var ToolChoice = NewTable([]Row{{Use: Used, Names: "type function name allowed_tools mode tools disable_parallel_tool_use"}})

// NamedTool is the table of a tool by its name.
var NamedTool = NewTable([]Row{{Use: Used, Names: "type function name"}})

// Named is the table of a function that is named.
var Named = NewTable([]Row{{Use: Used, Names: "name"}})

// Allowed is the table of tool_choice.allowed_tools.
var Allowed = NewTable([]Row{{Use: Used, Names: "mode tools"}})

// Stream is the table of stream_options.
var Stream = NewTable([]Row{
	{Use: Used, Names: "include_usage continuous_usage_stats"},
	{Use: Harmless, Names: "include_obfuscation chunk_include_usage"},
})

// Format is the table of response_format.
var Format = NewTable([]Row{
	{Use: Used, Names: "type json_schema schema"},
	{Use: Harmless, Names: "strict name description"},
	{Use: Refused, Names: "grammar syntax structures triggers"},
})

// Schema is the table of response_format.json_schema.
var Schema = NewTable([]Row{
	{Use: Used, Names: "schema"},
	{Use: Harmless, Names: "name description strict"}, // a text always satisfies the schema
})

// Structured is the table of structured_outputs.
var Structured = NewTable([]Row{
	{Use: Used, Names: "json json_object grammar choice"},
	{Use: Harmless, Names: "disable_fallback disable_any_whitespace disable_additional_properties backend"},
	{Use: Refused, Nothing: `""`, Names: "regex structural_tag whitespace_pattern"},
})

// inputs has the fields of requests for vectors, ranks and tokens.
var inputs = []Row{
	{Use: Harmless, Names: `user metadata store service_tier safety_identifier priority request_id rid session_id keep_alive cache_salt ttl timeout
		litellm_metadata litellm_call_id drop_params tags mm_processor_kwargs media_io_kwargs provider`},
	{Use: Refused, Nothing: `"Right" "right"`, Names: "truncation_direction truncation_side"},
	{Use: Refused, Nothing: `{}`, Names: "options extra_body", Want: "its fields beside the others of the request"},
}

// whole has the fields of requests whose texts are never cut.
var whole = []Row{{Use: Refused, Nothing: "-1", Names: "truncate_prompt_tokens"}}

// Embedding is the table of /v1/embeddings.
var Embedding = NewTable(inputs, []Row{
	{Use: Used, Names: `model input encoding_format dimensions prompt_name input_type truncate truncate_prompt_tokens receipt
		return_multivector return_sparse`},
	{Use: Refused, Nothing: "true", Names: "add_special_tokens"},
	{Use: Refused, Nothing: "false", Names: "late_chunking"},
	{Use: Refused, Nothing: `"float" ["float"] "float32" "native"`, Names: "output_dtype embedding_type embedding_types embed_dtype endianness"},
	{Use: Refused, Names: "normalize normalized embd_normalize pooling_type activation use_activation softmax"},
	{Use: Refused, Nothing: `""`, Names: "task instruction instruct prompt", Want: "prompt_name, with the name of a prompt of the model, or the prompt within the input"},
	{Use: Refused, Names: "output_dimension", Want: "dimensions, the name of it here"},
	{Use: Refused, Names: "truncation", Want: "truncate, the name of it here"},
	{Use: Refused, Names: "inputs content messages texts images", Want: "input in its place"},
})

// Rerank is the table of /v1/rerank and /rerank.
var Rerank = NewTable(inputs, []Row{
	{Use: Used, Names: "model query documents texts top_n return_documents return_text raw_scores truncate truncate_prompt_tokens instruction label receipt"},
	{Use: Refused, Names: "max_tokens_per_doc max_chunks_per_doc overlap_tokens activation use_activation softmax"},
	{Use: Refused, Nothing: `["text"] []`, Names: "rank_fields"},
	{Use: Refused, Nothing: "false", Names: "return_embeddings"},
	{Use: Refused, Nothing: `""`, Names: "instruct prompt_name task chat_template_kwargs"},
	{Use: Refused, Names: "top_k", Want: "top_n, the name of it here"},
	{Use: Refused, Names: "truncation", Want: "truncate, the name of it here"},
	{Use: Refused, Names: "passages text_1 text_2", Want: "query and documents in its place"},
})

// Tokenize is the table of /tokenize.
var Tokenize = NewTable(inputs, whole, []Row{
	{Use: Used, Names: "model content prompt add_special add_special_tokens"},
	{Use: Refused, Nothing: "false", Names: "with_pieces return_token_strs"},
	{Use: Refused, Nothing: "true", Names: "parse_special"},
	{Use: Refused, Names: "messages inputs input text", Want: "content or prompt in its place"},
})

// Detokenize is the table of /detokenize.
var Detokenize = NewTable(inputs, whole, []Row{
	{Use: Used, Names: "model tokens"},
	{Use: Refused, Nothing: "false", Names: "skip_special_tokens"},
	{Use: Refused, Names: "ids token_ids", Want: "tokens, the name of it here"},
})

// Reasoning is the table of reasoning.
var Reasoning = NewTable([]Row{
	{Use: Used, Names: "effort enabled max_tokens"},
	{Use: Harmless, Names: "summary generate_summary"},
	{Use: Refused, Nothing: "false", Names: "exclude"},
})

// Thinking is the table of thinking.
var Thinking = NewTable([]Row{{Use: Used, Names: "type budget_tokens"}, {Use: Harmless, Names: "display"}})

// TEIEmbed is the table of /embed, /embed_all and /embed_sparse.
var TEIEmbed = NewTable(inputs, []Row{
	{Use: Used, Names: "inputs truncate prompt_name dimensions model"},
	{Use: Refused, Names: "normalize", Want: "none, as vectors are what the model makes"},
	{Use: Refused, Nothing: `"" []`, Names: "input", Want: "inputs, the name of it here"},
})
