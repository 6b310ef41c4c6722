package settings

import (
	"github.com/attn-go/attn/models/internal/activations"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/strict"
)

// blocks are the families of [Decoders] whose layers have norms, biases, rotations or factors
// otherwise than Llama.
var blocks = []family{
	{
		Family: arch.Family{Types: []string{"granite"}, Classes: []string{"Granite"}, GGUF: "granite", Interleaved: true, Names: llamaNames},
		draft:  gatedBlock(activations.SiLU), folder: decoder(decoderKeys, silu, rotary, attentionBias, mlpBias, multipliers), file: ofFile(fileKeys, fileMultipliers),
		missing: values{"rms_norm_eps": 1e-6, "rope_theta": 10000, "embedding_multiplier": 1, "residual_multiplier": 1, "attention_multiplier": 1, "logits_scaling": 1},
	},
	{
		Family: arch.Family{Types: []string{"smollm3"}, Classes: []string{"SmolLM3"}, GGUF: "smollm3", Interleaved: true, Names: llamaNames},
		draft:  gatedBlock(activations.SiLU), folder: decoder(decoderKeys, silu, rotary, windowIfSaid, stillLayers, layerTypes, attentionBias, mlpBias), file: ofFile(fileKeys, fileStill),
		missing:  values{"rms_norm_eps": 1e-6, "rope_theta": 2e6, "num_key_value_heads": 4, "no_rope_layer_interval": stillPeriod, "tie_word_embeddings": true},
		harmless: strict.Table{"max_window_layers": strict.Any}, // of Qwen, whose configurations it was made of
	},
	{
		Family: arch.Family{Types: []string{"olmo2"}, Classes: []string{"Olmo2"}, GGUF: "olmo2", Period: 4, Names: gemmaNames},
		draft:  outputBlock(arch.AllHeads), folder: decoder(decoderKeys, silu, rotary, attentionBias), file: ofFile(fileKeys, fileNearRope), // a file also of OLMo 3
		missing: values{"rms_norm_eps": 1e-5, "rope_theta": 10000},
	},
	{
		Family: arch.Family{Types: []string{"olmo3"}, Classes: []string{"Olmo3"}, GGUF: "olmo2", Period: 4, Names: gemmaNames},
		draft:  outputBlock(arch.AllHeads), folder: decoder(decoderKeys, silu, rotariesOfOLMo, window, layerTypes, attentionBias),
		missing: values{"rms_norm_eps": 1e-5, "rope_theta": 500000, "sliding_window": 4096},
	},
	{
		Family: arch.Family{Types: []string{"ministral3"}, Classes: []string{"Ministral3"}, GGUF: "mistral3", Interleaved: true, Names: llamaNames},
		draft:  gatedBlock(activations.SiLU), folder: decoder(decoderKeys, silu, rotaryThatGrows, window), file: ofFile(fileKeys, fileGrowth),
		missing: values{"rms_norm_eps": 1e-5, "num_key_value_heads": 8, "head_dim": 128},
		nested:  values{"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 34, "num_attention_heads": 32, "max_position_embeddings": 262144},
	},
	{
		Family: arch.Family{Types: []string{"glm4"}, Classes: []string{"Glm4"}, GGUF: "glm4", Interleaved: true, Names: glmNames},
		draft:  sandwich(gatedBlock(activations.SiLU)), folder: decoder(decoderKeys, silu, rotaryOfPart, neighbours, inputBias), file: ofFile(fileKeys),
		missing: values{"rms_norm_eps": 1.5625e-7, "rope_theta": 10000, "num_key_value_heads": 2, "head_dim": 128, "attention_bias": true, partKey: 0.5},
	},
	{
		Family: arch.Family{Types: []string{"exaone4"}, Classes: []string{"Exaone4"}, GGUF: "exaone4", Period: 4, Names: gemmaNames},
		draft:  outputBlock(arch.EachHead), folder: decoder(decoderKeys, silu, rotary, window, patternOfExaone, layerTypes, stillIfWhole), file: ofFile(fileKeys, stillIfWhole),
		missing: values{"rms_norm_eps": 1e-5, "rope_theta": 10000, "num_key_value_heads": 32, "sliding_window": 4096},
	},
	{
		Family:  arch.Family{Types: []string{"cohere2"}, Classes: []string{"Cohere2"}, GGUF: "cohere2", Period: 4, Interleaved: true, Names: llamaNames},
		draft:   parallel(layerNorms(gatedBlock(activations.SiLU), false)),
		folder:  decoder(layerKeys, layerEpsilon, silu, rotary, neighbours, headOfWidth, window, someLayers, patternOfCohere, layerTypes, stillIfWhole, attentionBias, logitScale),
		file:    ofFile(fileLayerKeys, stillIfWhole, logitScale),
		missing: values{"layer_norm_eps": 1e-5, "rope_theta": 10000, "sliding_window": 4096, "sliding_window_pattern": 4, "logit_scale": 0.0625, "tie_word_embeddings": true},
		harmless: strict.Table{ // which published models say, and the class does not read
			"layer_switch": strict.Only("4"), "order_of_interleaved_layers": strict.Only(`"local_attn_first"`), "position_embedding_type": strict.Only(`"rope_gptj"`), "rotary_pct": strict.Only("1"),
			"use_parallel_embedding": strict.Only("false"),
		}.Add(strict.Only("true"), "use_embedding_sharing", "use_gated_activation", "use_parallel_block"),
	},
	{
		Family: arch.Family{Types: []string{"phi"}, Classes: []string{"Phi"}, GGUF: "phi2", Names: phiNames},
		draft:  parallel(layerNorms(plainBlock(activations.GELUTanh, arch.Present), true)), folder: decoder(layerKeys, layerEpsilon, activation("hidden_act"), rotaryOfPart, headLayerNorms, untied),
		file:    ofFile(fileLayerKeys, fileHeadBias),
		missing: values{"layer_norm_eps": 1e-5, "rope_theta": 10000, "hidden_act": "gelu_new", partKey: 0.5},
	},
	{
		Family: arch.Family{Types: []string{"gemma"}, Classes: []string{"Gemma"}, GGUF: "gemma", Names: llamaNames},
		draft:  lessOne(gatedBlock(activations.GELUTanh)), folder: decoder(decoderKeys, geluOfGemma, scaled, rotary, attentionBias, eitherWay), file: ofFile(fileKeys, scaled),
		missing:  values{"rms_norm_eps": 1e-6, "rope_theta": 10000, "num_key_value_heads": 16, "head_dim": 256, "tie_word_embeddings": true},
		harmless: strict.Table{"hidden_activation": strict.Any}, // the class computes hidden_act, which stands for the same function
	},
	{
		Family: arch.Family{Types: []string{"starcoder2"}, Classes: []string{"Starcoder2"}, GGUF: "starcoder2", Names: starcoderNames},
		draft:  layerNorms(plainBlock(activations.GELUTanh, arch.Absent), true), folder: decoder(layerKeys, epsilon("norm_epsilon", 1), activation("hidden_act"), rotary, window, allBiases), file: ofFile(fileLayerKeys),
		missing:  values{"norm_epsilon": 1e-5, "rope_theta": 10000, "hidden_act": "gelu_pytorch_tanh", "num_key_value_heads": 2, "use_bias": true, "tie_word_embeddings": true},
		harmless: strict.Table{"residual_dropout": strict.Any, "mlp_type": strict.Only(`"default"`), "norm_type": strict.Only(`"layer_norm"`)},
	},
	{
		Family: arch.Family{Types: []string{"stablelm"}, Classes: []string{"StableLm"}, GGUF: "stablelm", Names: stablelmNames},
		draft:  layerNorms(gatedBlock(activations.SiLU), true), folder: decoder(layerKeys, layerEpsilon, silu, rotaryOfPart, queryBias, ownHeadNorms, besideFeed), file: ofFile(fileLayerKeys, fileBeside, fileOwnHeadNorms),
		missing:  values{"layer_norm_eps": 1e-5, "rope_theta": 10000, "num_key_value_heads": 32, partKey: 0.25},
		harmless: strict.Table{"rotary_scaling_factor": strict.Only("1")},
	},
	{
		Family: arch.Family{Types: []string{"arcee"}, Classes: []string{"Arcee"}, GGUF: "arcee", Interleaved: true, Names: llamaNames},
		draft:  plainBlock(activations.ReLU2, arch.Absent), folder: decoder(decoderKeys, activation("hidden_act"), rotary, attentionBias, mlpBias), file: ofFile(fileKeys),
		missing: values{"rms_norm_eps": 1e-5, "rope_theta": 10000, "hidden_act": "relu2"},
	},
	{
		Family: arch.Family{Types: []string{"nemotron"}, Classes: []string{"Nemotron"}, GGUF: "nemotron", Names: llamaNames},
		draft:  lessOne(layerNorms(plainBlock(activations.ReLU2, arch.Absent), true)), folder: decoder(layerKeys, epsilon("norm_eps", 1), activation("hidden_act"), rotaryOfPart, attentionBias, mlpBias, channels), file: ofFile(fileLayerKeys),
		missing: values{"norm_eps": 1e-5, "rope_theta": 10000, "hidden_act": "relu2", partKey: 0.5},
	},
	{
		Family: arch.Family{Types: []string{"hunyuan_v1_dense"}, Classes: []string{"HunYuanDenseV1"}, GGUF: "hunyuan-dense", Names: hunyuanNames},
		draft:  lateHeadNorms(gatedBlock(activations.SiLU)), folder: decoder(decoderKeys, silu, rotaryOfHunyuan, attentionBias), file: ofFile(fileKeys),
		missing:  values{"rms_norm_eps": 1e-5, "rope_theta": 10000},
		harmless: strict.Table{"eod_token_id": strict.Any, "norm_type": strict.Only(`"rms"`), "use_qk_norm": strict.Only("true"), "use_cla": strict.Only("false")},
	},
}

// The keys of decoders whose norms are no RMS norms; the epsilon of folders has several names.
var (
	layerKeys     = []group{sizes, inner, grouped, tied}
	fileLayerKeys = []group{sizes, inner, layerEpsilon, fileScale, grouped, fileBiases, fileRope, noExperts, fileWindow, fileCausal}
)

// plainBlock is a block without a gate. A folder says its activation; for GGUF files the family
// does.
func plainBlock(act activations.Function, bias arch.Bias) draft {
	d := gatedBlock(act)
	d.dense.Gated = false
	d.attention.Bias, d.attention.OutBias, d.dense.Bias, d.dense.DownBias, d.model.Logits.Bias = bias, bias, bias, bias, bias
	return d
}

// layerNorms is a block with LayerNorm in place of RMSNorm.
func layerNorms(d draft, bias bool) draft {
	d.norm = arch.Norm{Kind: arch.LayerNorm, Bias: bias}
	return d
}

// lessOne is a block whose norms have weights less 1.
func lessOne(d draft) draft {
	d.norm.LessOne = true
	return d
}

// outputBlock is the block of OLMo 2, which normalises outputs, queries and keys, not inputs.
func outputBlock(of arch.Span) draft {
	d := gatedBlock(activations.SiLU)
	d.layer.Order, d.attention.HeadNorm = arch.Output, &arch.HeadNorm{Of: of}
	return d
}

func sandwich(d draft) draft {
	d.layer.Order = arch.Sandwich
	return d
}

func parallel(d draft) draft {
	d.layer.Order = arch.Parallel
	return d
}

// lateHeadNorms is a block with norms of every head of queries and keys after they are rotated.
func lateHeadNorms(d draft) draft {
	d.attention.HeadNorm = &arch.HeadNorm{Late: true}
	return d
}
