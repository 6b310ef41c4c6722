// Package decoder runs language models, decoders, from GGUF files and from folders: it reads the
// weights, keeps keys and values of many texts in one paged cache, and generates text.
//
//	m, err := decoder.Load("SmolLM2-135M-Instruct", decoder.Options{})
//	messages := []chattemplate.Message{{Role: "user", Content: "Why is the sky blue?"}}
//	prompt, err := m.EncodeChat(ctx, messages)
//	for token, err := range m.Generate(ctx, prompt, decoder.GenerateOptions{MaxTokens: 100}) {
//		if err != nil { ... }
//		fmt.Print(token.Text)
//	}
//
// [Model.Generate] and [Model.GenerateBatch] make a cache for one call. A program that keeps
// texts, forks them or reads logits makes a [Session] and calls [Session.Forward].
//
// # Bits
//
// All arithmetic follows the numeric contract of attn, package contract. The logits after a token
// have the same bits on every CPU, tier and number of threads, whether the text was read at once,
// in chunks or token by token, alone or beside others, with or without forks. That holds for every
// type of cache, as a prompt, too, reads its keys and values as they are stored. So a seed gives
// one text everywhere.
//
// # Models
//
// A model comes as a GGUF file, or as a folder as Hugging Face has it: config.json, tokenizer.json,
// model.safetensors or its shards.
//
//	general.architecture   model_type       models
//	llama                  llama, mistral   Llama 1 to 3, SmolLM, Mistral, TinyLlama and others
//	smollm3                smollm3          SmolLM 3
//	qwen2                  qwen2            Qwen 2 and 2.5
//	qwen3                  qwen3            Qwen 3, also as embedder
//	qwen3moe               qwen3_moe        Qwen 3 with experts
//	llama                  mixtral          Mixtral
//	qwen2moe               qwen2_moe        Qwen 1.5 and 2 with experts and a shared expert
//	glm4                   glm4             GLM 4
//	glm4moe                glm4_moe         GLM 4.5 to 4.7, see Options.MTP
//	gpt-oss                gpt_oss          gpt-oss, with experts of numbers or MXFP4
//	deepseek2              deepseek_v3      DeepSeek V3 and R1, Kimi K2, Moonlight, likewise
//	deepseek2              glm4_moe_lite    GLM 4.7 Flash, likewise
//	olmo2                  olmo2, olmo3     OLMo 2 and 3
//	olmoe                  olmoe            OLMoE
//	granite                granite          Granite 3
//	granitemoe             granitemoe       Granite 3 with experts
//	granitehybrid          granitemoehybrid Granite 4, mostly Mamba-2 layers
//	lfm2                   lfm2             LFM2 and LFM2.5, mostly short convolutions
//	lfm2moe                lfm2_moe         LFM2 with experts
//	minimax-m2             minimax_m2       MiniMax M2 to M2.5
//	phi2                   phi              Phi 1, 1.5 and 2
//	phi3                   phi3             Phi 3, Phi 3.5 and Phi 4 mini
//	gemma                  gemma            Gemma 1
//	gemma2                 gemma2           Gemma 2
//	gemma3                 gemma3_text      Gemma 3, texts only
//	gemma3n                gemma3n_text     Gemma 3n, texts only
//	gemma4                 gemma4_text      Gemma 4, texts only
//	gemma-embedding                         EmbeddingGemma, an embedder
//	arcee                  arcee            Arcee's AFM
//	nemotron               nemotron         Nemotron
//	nemotron_h             nemotron_h       Nemotron H and Nano 2, mostly Mamba-2 and feed-forward
//	nemotron_h_moe         nemotron_h       Nemotron 3 Nano and Super, likewise, with experts
//	falcon-h1              falcon_h1        Falcon H1, attention and Mamba-2 side by side
//	qwen35                 qwen3_5_text     Qwen3.5, texts only, mostly gated delta nets
//	qwen35moe              qwen3_5_moe_text Qwen3.5 with experts, likewise
//	qwen3next              qwen3_next       Qwen3-Next
//	                       ministral        Ministral 8B, whose layers may have a window or none
//	mistral3               ministral3       Ministral 3
//	cohere2                cohere2          Command R7B
//	exaone4                exaone4          EXAONE 4
//	seed_oss               seed_oss         Seed-OSS
//	ernie4_5               ernie4_5         ERNIE 4.5 without experts
//	starcoder2             starcoder2       StarCoder 2
//	stablelm               stablelm         StableLM
//	hunyuan-dense          hunyuan_v1_dense Hunyuan without experts
//
// Folders of the model_types gemma3, gemma3n, gemma4, llava, mistral3, qwen3_5 and qwen3_5_moe wrap
// such a model, with its settings in text_config: this package computes texts alone, and does not
// read the towers for images and sounds. In Gemma 4, tokens of images and sounds have the embedding
// of padding, as in transformers.
//
// A model may have grouped-query attention, biases, layers with a window, an output matrix of its
// own or the embedding's, and scaled rotations: linear, YaRN, LongRoPE, and Llama 3.1's. LongRoPE
// has factors for long texts and for short ones. A text takes the long ones, whatever its length,
// if Options.Context is more than the model was first trained with: factors cannot change within a
// text. Dynamic rotations work up to the length that the model was trained for, where they are
// unscaled; a larger Options.Context is an error.
//
// Layers with a window keep the tokens that later ones see, and a few more. So a long text takes
// less memory, see [Model.Pages]. If it is forked or truncated before the kept tokens, they are
// read again, see [Text.Checkpoint]. Layers that read another layer's keys and values keep nothing.
// If the layers of a model differ in their heads, as in Gemma 4, all of them keep all tokens.
//
// Experts are feed-forward networks; a router chooses some for each token. A token reads only its
// experts' weights, and the tokens of a prompt go through an expert together. The outputs of a
// token's experts are added in the order of the experts, whatever other tokens choose.
//
// With latent attention (DeepSeek V3, GLM 4.7 Flash) the cache keeps one latent and one rotated key
// for each token, for all heads together: Config.HeadSize numbers. The first Config.InKeys of them
// are also the values. Prompts and single tokens both transform queries to the latents, so that
// they have the same bits. Files with keys and values in one tensor, attn_kv_b, from older versions
// of llama.cpp, are refused.
//
// GGUF files of gpt-oss lack the limit and the factor of its activation, 7 and 1.702, and do not
// say that YaRN's bounds between frequencies are not rounded to whole pairs. This package takes
// config.json's values for both, so files and folders have the same bits.
//
// Layers without attention carry a state from token to token. A text keeps some of its states,
// see [Text.Checkpoint]. It can be forked and truncated anywhere; tokens after the last kept state
// before that place are read again.
//
// Anything else in a file or folder is an error that names it: a tensor, a key of the architecture
// or of config.json, a kind of rotation. Keys that no computation reads are listed, and so are keys
// that must have a value that changes nothing. generation_config.json says which tokens end a text.
// [GenerateOptions], not the file, say how tokens are drawn, and how many. If the file forbids or
// demands tokens or strings in every text, as by suppress_tokens or stop_strings, that is an error.
// Queries and keys in GGUF files of the architecture llama have the order of llama.cpp's converter:
// rotary positions on neighbours. Constants that files lack are llama.cpp's.
//
// Weights of F32, F16, BF16, Q8_0, Q4_0 and Q4_1 take the same memory as in the file. Q4_K takes
// 4.75 bits a weight, Q5_K 5.75, Q6_K 6.625, and other quantized types 4.5 to 10, see
// [linear.FromBlocks]. A tensor of NVFP4 may have a scale of float32 beside it, see
// [linear.FromNVFP4]. In a folder with a quantization_config, [linear.FromAffine]
// packs integers of GPTQ, AWQ and compressed-tensors if it can, and FP8 becomes float32. A
// packed weight gives the bits of the same weight in float32. The file is not needed after loading.
package decoder
