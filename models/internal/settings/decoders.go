package settings

import (
	"slices"

	"github.com/attn-go/attn/models/internal/activations"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/strict"
)

// Decoders are the families of package decoder. What class of the transformers library reads which
// key was taken from its version 5.24.
var Decoders = &Families{
	most: strict.Most,
	also: strict.Table{"is_decoder": strict.Any},
	file: strict.Table{
		"attention.layer_norm_epsilon":     strict.Any,            // of norms that are no RMS norms
		"attention.layer_norm_rms_epsilon": strict.Any,            // and of those that are
		"expert_feed_forward_length":       strict.Any,            // read if there are experts
		"expert_gating_func":               strict.Only("0", "1"), // softmax, which is meant if there is none
		"expert_weights_scale":             strict.Only("0", "1"),
		"expert_weights_norm":              strict.Only("true"),
	},
	want:     func(names []string) string { return "one of " + list(names) },
	wrappers: wrappers, quantized: true,
	rows: append([]family{
		{
			Family: arch.Family{Types: []string{"llama"}, Classes: []string{"Llama", "LLaMA"}, GGUF: "llama", Interleaved: true, Names: llamaNames},
			draft:  gatedBlock(activations.SiLU), folder: decoder(decoderKeys, silu, rotary, noWindow, attentionBias, mlpBias), file: ofFile(fileInnerKeys, fileMixtral),
			missing: values{"rms_norm_eps": 1e-6, "rope_theta": 10000},
			nested:  values{"hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32, "max_position_embeddings": 2048},
		},
		{
			Family: arch.Family{Types: []string{"mistral"}, Classes: []string{"Mistral"}, GGUF: "llama", Interleaved: true, Names: llamaNames},
			draft:  gatedBlock(activations.SiLU), folder: decoder(decoderKeys, silu, rotary, window), file: ofFile(fileKeys),
			missing: values{"rms_norm_eps": 1e-6, "rope_theta": 10000, "num_key_value_heads": 8, "sliding_window": 4096},
			nested:  values{"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "max_position_embeddings": 131072},
		},
		{
			Family: arch.Family{Types: []string{"ministral"}, Classes: []string{"Ministral"}, GGUF: "llama", Interleaved: true, Names: llamaNames},
			draft:  gatedBlock(activations.SiLU), folder: decoder(decoderKeys, silu, rotary, window, layerTypes),
			missing: values{"rms_norm_eps": 1e-6, "rope_theta": 10000, "num_key_value_heads": 8, "sliding_window": 4096},
			nested:  values{"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "max_position_embeddings": 131072},
		},
		{
			Family: arch.Family{Types: []string{"seed_oss"}, Classes: []string{"SeedOss"}, GGUF: "seed_oss", Names: llamaNames},
			draft:  gatedBlock(activations.SiLU), folder: decoder(decoderKeys, silu, rotary, inputBias, outputBias, mlpBias), file: ofFile(fileKeys),
			missing:  values{"rms_norm_eps": 1e-6, "rope_theta": 10000, "num_key_value_heads": 8, "head_dim": 128, "attention_bias": true},
			nested:   values{"hidden_size": 4096, "intermediate_size": 27648, "num_hidden_layers": 64, "num_attention_heads": 80, "max_position_embeddings": 524288},
			harmless: strict.Table{"residual_dropout": strict.Any},
		},
		{
			Family: arch.Family{Types: []string{"ernie4_5"}, Classes: []string{"Ernie4_5"}, GGUF: "ernie4_5", Interleaved: true, Names: llamaNames},
			draft:  gatedBlock(activations.SiLU), folder: decoder(decoderKeys, silu, rotary, neighbours, allBiases), file: ofFile(fileKeys),
			missing: values{"rms_norm_eps": 1e-5, "rope_theta": 500000, "num_key_value_heads": 2, "head_dim": 128, "tie_word_embeddings": true},
			nested:  values{"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 18, "num_attention_heads": 16, "max_position_embeddings": 131072},
		},
		{
			Family: arch.Family{Types: []string{"qwen2"}, Classes: []string{"Qwen2"}, GGUF: "qwen2", Names: llamaNames},
			draft:  biased(gatedBlock(activations.SiLU)), folder: decoder(decoderKeys, silu, rotary, windowIfSaid, late, layerTypes), file: ofFile(fileKeys),
			missing:  qwenMissing.with(values{"num_key_value_heads": 32}),
			nested:   values{"hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32, "num_attention_heads": 32, "max_position_embeddings": 32768},
			harmless: strict.Table{"attention_bias": strict.Any}, // queries, keys and values have one, whatever it says
		},
		{
			Family: arch.Family{Types: []string{"qwen3"}, Classes: []string{"Qwen3"}, GGUF: "qwen3", Names: llamaNames},
			draft:  headNorms(gatedBlock(activations.SiLU)), folder: decoder(decoderKeys, silu, rotary, windowIfSaid, late, layerTypes, attentionBias), file: ofFile(fileKeys),
			missing: qwenMissing.with(values{"num_key_value_heads": 32, "head_dim": 128}),
			nested:  values{"hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32, "num_attention_heads": 32, "max_position_embeddings": 32768},
		},
		{
			Family: arch.Family{Types: []string{"qwen3_moe"}, Classes: []string{"Qwen3Moe"}, GGUF: "qwen3moe", Names: llamaNames},
			draft:  headNorms(gatedBlock(activations.SiLU)), folder: decoder(expertKeys, silu, rotary, windowIfSaid, attentionBias), file: ofFile(fileExpertKeys),
			missing:  qwenMissing.with(values{"num_key_value_heads": 4, "num_experts_per_tok": 8}),
			renamed:  &renaming{"num_local_experts", map[string]string{"num_experts": "num_local_experts"}}, // of transformers 5
			nested:   values{"hidden_size": 2048, "moe_intermediate_size": 768, "num_hidden_layers": 24, "num_attention_heads": 32, "max_position_embeddings": 32768, "num_experts": 128},
			harmless: strict.Table{"max_window_layers": strict.Any}, // with use_sliding_window all layers have a window
		},
		{
			Family: arch.Family{Types: []string{"phi3"}, Classes: []string{"Phi3"}, GGUF: "phi3", Names: fusedNames},
			draft:  gatedBlock(activations.SiLU), folder: decoder(decoderKeys, silu, rotaryOfPhi, window), file: ofFile(fileKeys),
			missing: values{"rms_norm_eps": 1e-5, "rope_theta": 10000, original: 4096},
			nested:  values{"hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 32, "num_attention_heads": 32, "max_position_embeddings": 4096},
		},
		{
			Family: arch.Family{Types: []string{"gemma2"}, Classes: []string{"Gemma2"}, GGUF: "gemma2", Period: 2, Names: gemmaNames},
			draft:  windowed(softcapped(gemmaBlock(), 50, 30), 4096), folder: decoder(decoderKeys, gelu, softcaps, scalar, scaled, rotary, window, layerTypes, attentionBias), file: ofFile(fileKeys, softcaps, scaled, largest(46)),
			missing:  gemmaMissing.with(values{"attn_logit_softcapping": 50, "final_logit_softcapping": 30, "rope_theta": 10000}),
			nested:   values{"hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26, "num_attention_heads": 8, "max_position_embeddings": 8192},
			harmless: hiddenAct,
		},
		{
			Family: arch.Family{Types: []string{"gemma3_text"}, Classes: []string{"Gemma3", "Gemma3Text"}, GGUF: "gemma3", Period: 6, Names: gemmaNames},
			draft:  headNorms(gemmaBlock()), folder: decoder(decoderKeys, gelu, logitSoftcap, scalar, scaled, rotaries, window, eitherWay, period, layerTypes, attentionBias), file: ofFile(fileKeys, logitSoftcap, scaled, largest(62), fileLocalRope),
			missing:  gemmaMissing.with(values{"rope_theta": 1e6, "rope_local_base_freq": 10000}),
			nested:   values{"hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26, "num_attention_heads": 8, "max_position_embeddings": 131072},
			harmless: hiddenAct,
		},
		{
			Family: arch.Family{Types: []string{"lfm2"}, Classes: []string{"Lfm2"}, GGUF: "lfm2", FinalNorm: "token_embd_norm", Names: lfmNames},
			draft:  headNorms(gatedBlock(activations.SiLU)), folder: []group{sizes, blockInner, epsilon("norm_eps", 1), grouped, tiedEmbedding, rotary, convolutions}, file: fileConvolutionKeys,
			missing: values{
				"norm_eps": 1e-5, "rope_theta": 1e6, "num_key_value_heads": 8, "tie_word_embeddings": true, "conv_L_cache": 3,
				"block_auto_adjust_ff_dim": true, "block_ffn_dim_multiplier": 1, "block_multiple_of": 256,
			},
			nested:   values{"hidden_size": 2560, "intermediate_size": 12288, "num_hidden_layers": 32, "num_attention_heads": 32, "max_position_embeddings": 128000},
			harmless: unreadOfLFM,
		},
		{
			Family: arch.Family{GGUF: "gemma-embedding", Period: 6, Names: gemmaNames},
			draft:  bothWays(headNorms(gemmaBlock())), file: ofFile(fileKeys, scaled, someWindow, fileLocalRope),
		},
	}, slices.Concat(blocks, mixtures, latents)...),
}

// decoder returns what config.json of a decoder may say: some groups, and others.
func decoder(some []group, others ...group) []group {
	return slices.Concat(some, others, []group{causal})
}

// ofFile is decoder for GGUF files.
func ofFile(some []group, others ...group) []group {
	return slices.Concat(some, others, []group{fileSame})
}

// The keys of decoders.
var (
	decoderKeys    = []group{sizes, inner, rmsEpsilon, grouped, tied}
	expertKeys     = []group{sizes, experts, rmsEpsilon, grouped, tied}
	fileKeys       = append([]group{noExperts}, fileInnerKeys...)
	fileInnerKeys  = []group{sizes, inner, rmsEpsilon, fileScale, grouped, fileBiases, fileRope, fileWindow, fileCausal}
	fileExpertKeys = []group{sizes, experts, rmsEpsilon, fileScale, grouped, fileBiases, fileRope, fileWindow, fileCausal}
)

// What classes of a kind have for keys that a file leaves out.
var (
	qwenMissing  = values{"rms_norm_eps": 1e-6, "rope_theta": 10000, "sliding_window": 4096, "max_window_layers": 28}
	gemmaMissing = values{"rms_norm_eps": 1e-6, "num_key_value_heads": 4, "head_dim": 256, "query_pre_attn_scalar": 256, "sliding_window": 4096, "tie_word_embeddings": true}
)

// hiddenAct is a key that classes with hidden_activation do not read.
var hiddenAct = strict.Table{"hidden_act": strict.Any}

// gatedBlock is the block of Llama.
func gatedBlock(act activations.Function) draft {
	return draft{
		norm: arch.Norm{Kind: arch.RMSNorm}, layer: arch.Layer{Order: arch.Pre},
		dense: arch.Dense{Gated: true, Activation: act},
	}
}

// gemmaBlock is the block of Gemma 2.
func gemmaBlock() draft {
	d := gatedBlock(activations.GELUTanh)
	d.layer.Order, d.norm.LessOne = arch.Sandwich, true
	return d
}

// headNorms is a block with norms of every head of queries and keys.
func headNorms(d draft) draft {
	d.attention.HeadNorm = &arch.HeadNorm{}
	return d
}

// biased is a block with biases of queries, keys and values.
func biased(d draft) draft {
	d.attention.Bias = arch.Present
	return d
}

// softcapped and windowed are blocks with what llama.cpp takes where a file does not say it.
func softcapped(d draft, scores, logits float32) draft {
	d.attention.Softcap, d.model.Logits.Softcap = scores, logits
	return d
}

func windowed(d draft, n int) draft {
	d.window = n
	return d
}

// bothWays is a block whose tokens see those after them.
func bothWays(d draft) draft {
	d.model.BothWays = true
	return d
}
