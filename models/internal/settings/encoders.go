package settings

import (
	"math"
	"slices"

	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/internal/activations"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/strict"
)

// Encoders are the families of package encoder.
var Encoders = &Families{
	most:     1 << 20, // products of three do not overflow
	also:     strict.Table{}.Add(strict.Only("false"), "is_causal", "causal_mask"),
	file:     strict.Table{"attention.causal": strict.Only("false"), "rope.scaling.type": strict.Only(`"none"`), "attention.layer_norm_rms_epsilon": strict.Any},
	want:     func(names []string) string { return "an encoder: " + list(slices.Sorted(slices.Values(names))) },
	wrappers: []wrapper{{name: "embedding_gemma2", class: "EmbeddingGemma2", kind: "embedding_gemma2_text", soft: gemmaSoft}},
	rows: []family{
		{
			Family: arch.Family{Types: []string{"bert"}, GGUF: "bert", Names: bertNames, Words: &arch.Words{Dense: "cls.predictions.transform.dense", Norm: "cls.predictions.transform.LayerNorm", Bias: "cls.predictions.bias", Decoder: "cls.predictions.decoder"}, Ignored: bertIgnored}, // a file also of RoBERTa, with positions cut to texts' length
			draft:  bertBlock(activations.GELU, firstToken("bert.pooler.dense", "classifier")), folder: join(bertKeys, types, tableOrALiBi),
			file:    join(fileEncoderKeys, fileTable, fileTypes, fileParts, fileAlike),
			missing: bertMissing.with(values{"type_vocab_size": 2, "position_embedding_type": "absolute"}),
		},
		{ // folders have model_type bert, see tableOrALiBi
			Family: arch.Family{GGUF: "jina-bert-v2"},
			draft:  bertBlock(activations.GELU, nil), file: join(fileEncoderKeys, fileTypes, fileALiBi, fileAlike),
		},
		{
			Family: arch.Family{Types: []string{"distilbert"}, Names: distilNames, Words: &arch.Words{Dense: "vocab_transform", Norm: "vocab_layer_norm", Bias: "vocab_projector.bias", Decoder: "vocab_projector"}, Ignored: []string{"vocab_transform.", "vocab_layer_norm.", "vocab_projector."}},
			draft:  withEpsilon(bertBlock(activations.GELU, withActivation(firstToken("pre_classifier", "classifier"), activations.ReLU)), 1e-12),
			folder: []group{sizes, inner, vocabulary, activation("hidden_act"), wholeHeads, twoPositions, table}, missing: values{"hidden_act": "gelu"},
			renamed: &renaming{"", map[string]string{
				"hidden_size": "dim", "intermediate_size": "hidden_dim", "num_hidden_layers": "n_layers", "num_attention_heads": "n_heads", "hidden_act": "activation",
			}},
			harmless: strict.Table{"sinusoidal_pos_embds": strict.Any}, // which the tensor has
		},
		{
			Family: arch.Family{Types: []string{"electra"}, Names: electraNames, Ignored: append([]string{"discriminator_predictions.", "generator_predictions.", "generator_lm_head."}, bertIgnored...)},
			draft:  bertBlock(activations.GELU, withActivation(firstToken("classifier.dense", "classifier.out_proj"), activations.GELU)), folder: join(bertKeys, types, table, embeddingSize),
			missing:  bertMissing.with(values{"type_vocab_size": 2, "embedding_size": 128}),
			harmless: strict.Table{}.Add(strict.Any, "summary_type", "summary_use_proj", "summary_activation", "summary_last_dropout"), // of a head for multiple choice
		},
		{
			Family: arch.Family{Types: []string{"albert"}, Names: albertNames, Ignored: append([]string{"predictions.", "sop_classifier."}, bertIgnored...)},
			draft:  repeated(bertBlock(activations.GELUTanh, firstToken("albert.pooler", "classifier"))), folder: join(bertKeys, types, table, embeddingLayer, oneGroup),
			missing:  bertMissing.with(values{"type_vocab_size": 2, "embedding_size": 128, "hidden_act": "gelu_new"}),
			harmless: strict.Table{"classifier_dropout_prob": strict.Any}.Add(strict.Any, "down_scale_factor", "gap_size", "net_structure_type", "num_memory_blocks"), // which published models say, and no class reads
		},
		{
			Family: arch.Family{Types: []string{"roberta", "xlm-roberta", "camembert"}, Names: bertNames, Words: &arch.Words{Dense: "lm_head.dense", Norm: "lm_head.layer_norm", Bias: "lm_head.bias", Decoder: "lm_head.decoder", GELU: true}, Ignored: bertIgnored},
			draft:  bertBlock(activations.GELU, firstToken("classifier.dense", "classifier.out_proj")), folder: join(bertKeys, types, table, padding),
			missing: bertMissing.with(values{"type_vocab_size": 2, "pad_token_id": 1}),
		},
		{
			Family: arch.Family{Types: []string{"mpnet"}, Names: mpnetNames, Ignored: []string{"embeddings.position_ids", "pooler.", "lm_head."}},
			draft:  bertBlock(activations.GELU, firstToken("classifier.dense", "classifier.out_proj")), folder: join(bertKeys, table, paddingOfMPNet, buckets),
			missing: bertMissing,
		},
		{
			Family: arch.Family{Types: []string{"nomic_bert"}, GGUF: "nomic-bert", Names: nomicNames, Ignored: []string{"pooler.", "cls.predictions."}},
			draft:  nomicBlock(), folder: join(bertKeys, types, rotaryOfNomic, nomicExperts),
			file:    join(fileEncoderKeys, fileTypes, fileRotary, fileParts, fileAlike),
			missing: bertMissing.with(values{"type_vocab_size": 2, "hidden_act": "silu", "rope_theta": 1000}),
			renamed: &renaming{"n_embd", map[string]string{ // as nomic-ai publishes it for nomic-embed-text-v1 and v1.5 with their own code
				"hidden_size": "n_embd", "intermediate_size": "n_inner", "num_hidden_layers": "n_layer", "num_attention_heads": "n_head",
				"max_position_embeddings": "n_positions", "layer_norm_eps": "layer_norm_epsilon", "rope_theta": "rotary_emb_base",
			}},
			harmless: nomicHarmless,
		},
		{
			Family: arch.Family{GGUF: "nomic-bert-moe", Names: nomicExpertNames},
			draft:  nomicExpertBlock(), file: join(fileEncoderKeys, fileTypes, fileRotary, fileAlike, fileExpertsOfNomic),
		},
		{
			Family: arch.Family{Types: []string{"modernbert"}, Names: modernNames, Ignored: []string{"head.", "decoder."}},
			draft:  modernBlock(),
			folder: []group{
				sizes, inner, vocabulary, epsilon("norm_eps", math.MaxFloat32), activation("hidden_activation"), wholeHeads, twoPositions,
				normBias, attentionBias, mlpBias, localAttention, layerTypes, rotariesOfModernBERT, modernHead,
			},
			missing: values{
				"norm_eps": 1e-5, "hidden_activation": "gelu", "local_attention": 128, "global_attn_every_n_layers": 3, "global_rope_theta": 160000, "local_rope_theta": 10000,
				"classifier_pooling": "cls", "classifier_activation": "gelu",
			},
			harmless: strict.Table{"layer_norm_eps": strict.Any}, // which published models have beside norm_eps
		},
		{
			Family: arch.Family{Types: []string{"new"}, Names: newNames, Ignored: []string{"embeddings.position_ids", "pooler.", "lm_head."}},
			draft:  newBlock(), folder: join(bertKeys, typesOrNone, rotaryOrTable, packed),
			missing: bertMissing.with(values{"type_vocab_size": 1, "max_position_embeddings": 2048, "position_embedding_type": "rope", "rope_theta": 10000, "pack_qkv": true}),
		},
		{
			Family: arch.Family{Types: []string{"deberta-v2"}, Names: debertaNames, Ignored: []string{
				"embeddings.position_ids", "embeddings.position_embeddings.", "pooler.", "lm_predictions.", "mask_predictions.", "cls.predictions.",
			}},
			draft:  bertBlock(activations.GELU, firstToken("pooler.dense", "classifier")),
			folder: join(bertKeys, typesOrNone, inputOfDeBERTa, sameSizes, disentangled, poolerOfDeBERTa),
			missing: bertMissing.with(values{
				"layer_norm_eps": 1e-7, "type_vocab_size": 0, "position_biased_input": true, "max_relative_positions": -1, "position_buckets": -1, "norm_rel_ebd": "none", "pooler_hidden_act": "gelu",
			}),
			harmless: strict.Table{"pooler_dropout": strict.Any, "legacy": strict.Any},
		},
		{
			Family: arch.Family{Types: []string{"gte"}, Names: newNames, Ignored: []string{"pooler.", "lm_head."}}, // of transformers 5
			draft:  gteBlock(), folder: join(bertKeys, typesOrNone, rotaryOfNomic),
			missing: bertMissing.with(values{"type_vocab_size": 1, "rope_theta": 160000}),
		},
		{
			Family: arch.Family{Types: []string{"jina_embeddings_v3"}, Names: jinaNames, Ignored: []string{"pooler.", "lm_head."}},
			draft:  bertBlock(activations.GELU, firstToken("classifier.dense", "classifier.out_proj")), folder: join(bertKeys, types, rotaryOfNomic),
			missing: bertMissing.with(values{"type_vocab_size": 1, "rope_theta": 20000, "layer_norm_eps": 1e-5}),
		},
		{
			Family: arch.Family{Types: []string{"eurobert"}, Names: llamaNames, Ignored: []string{"lm_head."}},
			draft:  bothWays(withoutEnds(gatedBlock(activations.SiLU))), folder: []group{sizes, inner, vocabulary, rmsEpsilon, grouped, activation("hidden_act"), rotaryOfNomic, attentionBias, mlpBias, lateHead},
			missing: values{"rms_norm_eps": 1e-5, "hidden_act": "silu", "rope_theta": 10000, "classifier_pooling": "late"},
		},
		{
			Family: arch.Family{Types: []string{"embedding_gemma2_text"}, Names: projectedNames},
			draft:  projected(), folder: []group{sizes, inner, vocabulary, rmsEpsilon, grouped, gelu, scaled, window, someLayers, patternOfCohere, layerTypes, projectedLayers, attentionBias},
			missing: values{"rms_norm_eps": 1e-6, "num_key_value_heads": 2, "head_dim": 256, "sliding_window": 512, "sliding_window_pattern": 6, "hidden_size_per_layer_input": 512, "embedding_dim": 768},
			nested:  values{"hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 4, "max_position_embeddings": 262144, "vocab_size": 262144},
		},
		{
			Family: arch.Family{Types: []string{"t5"}, Names: t5Names, Ignored: []string{"decoder.", "lm_head.", "encoder.embed_tokens."}},
			draft:  t5Block(), folder: []group{sizes, headSize, inner, vocabulary, epsilon("rms_norm_eps", 1), feedOfT5, buckets, nearBuckets},
			missing: values{"rms_norm_eps": 1e-6, "max_position_embeddings": 512, "head_dim": 64, "feed_forward_proj": "relu", "relative_attention_max_distance": 128},
			renamed: &renaming{"", map[string]string{
				"hidden_size": "d_model", "intermediate_size": "d_ff", "num_hidden_layers": "num_layers", "num_attention_heads": "num_heads", "head_dim": "d_kv",
				"max_position_embeddings": "n_positions", "rms_norm_eps": "layer_norm_epsilon",
			}},
			harmless: strict.Table{}.Add(strict.Any, "is_encoder_decoder", // a T5 has both, of which the encoder is computed
				"num_decoder_layers", "scale_decoder_outputs", "dropout_rate", "initializer_factor", "output_past"),
		},
	},
}

// The keys of encoders.
var (
	bertKeys        = []group{sizes, inner, vocabulary, layerEpsilon, activation("hidden_act"), wholeHeads, twoPositions}
	fileEncoderKeys = []group{sizes, inner, fileVocabulary, fileEpsilon, wholeHeads}
	bertMissing     = values{"layer_norm_eps": 1e-12, "hidden_act": "gelu"}
	bertIgnored     = []string{"embeddings.position_ids", "embeddings.token_type_ids", "pooler.", "cls.predictions.", "cls.seq_relationship.", "lm_head."}
)

// nomicHarmless are keys with the values of the published models, which are those that are
// computed.
var nomicHarmless = strict.Table{"activation_function": strict.Only(`"swiglu"`), "rotary_emb_fraction": strict.Only("1"), "scale_attn_weights": strict.Only("true")}.
	Add(strict.Only("false"),
		"rotary_emb_interleaved", "rotary_emb_scale_base", "rotary_scaling_factor", "prenorm", "causal", "use_rms_norm", "qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias",
		"scale_attn_by_inverse_layer_idx", "expert_choice_router").
	Add(strict.Only("0"), "num_experts", "moe_every_n_layers").
	Add(strict.Any,
		"parallel_block_tied_norm", // of parallel_block
		"reorder_and_upcast_attn",  // how it is computed
		"max_trained_positions",    // of rotations that are scaled
		"moe_top_k")                // of num_experts

// bertBlock is the block of BERT.
func bertBlock(act activations.Function, head *arch.Head) draft {
	d := draft{
		norm:      arch.Norm{Bias: true},
		attention: arch.Attention{Bias: arch.Present, OutBias: arch.Present},
		dense:     arch.Dense{Bias: arch.Present, DownBias: arch.Present, Activation: act},
	}
	d.model.BothWays, d.model.Head = true, head
	d.model.Embed = arch.Embed{Padding: -1, Norm: &arch.Norm{}}
	return d
}

func withEpsilon(d draft, x float64) draft {
	d.norm.Epsilon = x
	return d
}

// repeated is a block of whose layers all have the same weights.
func repeated(d draft) draft {
	d.model.Repeat = true
	return d
}

// withoutEnds is a block of encoders whose embeddings have neither positions nor a norm.
func withoutEnds(d draft) draft {
	d.model.Embed.Padding = -1
	return d
}

// t5Block is the block of T5, whose scores are not divided.
func t5Block() draft {
	d := bothWays(withoutEnds(gatedBlock(activations.Function{})))
	d.attention.Scale = 1
	return d
}

// nomicBlock is the block of nomic, whose linear layers have no biases.
func nomicBlock() draft {
	d := bertBlock(activations.SiLU, firstToken("nomic_bert.pooler.dense", "classifier"))
	d.attention = arch.Attention{Fused: true}
	d.dense = arch.Dense{Gated: true, Activation: activations.SiLU}
	return d
}

// modernBlock is the block of ModernBERT, which has biases only if config.json says so.
func modernBlock() draft {
	d := bertBlock(activations.GELU, nil)
	d.layer = arch.Layer{Order: arch.Pre, Bare: true}
	d.norm.Bias = false
	d.attention = arch.Attention{Fused: true}
	d.dense = arch.Dense{Gated: true, Fused: true, Activation: activations.GELU}
	return d
}

// newBlock is the block of gte's new.
func newBlock() draft {
	d := bertBlock(activations.GELU, firstToken("new.pooler.dense", "classifier"))
	d.dense = arch.Dense{Gated: true, Fused: true, UpFirst: true, DownBias: arch.Present, Activation: activations.GELU}
	return d
}

// gteBlock is newBlock, in folders with queries, keys and values, and gate and up, in one tensor or
// each in its own.
func gteBlock() draft {
	d := newBlock()
	d.dense.Fused = false
	d.model.Head = firstToken("gte.pooler.dense", "classifier")
	return d
}

// firstToken returns the head of most architectures.
func firstToken(dense, out string) *arch.Head {
	return &arch.Head{Pooling: embedding.PoolFirst, Dense: dense, Out: out, Bias: true, Activation: activations.Tanh}
}

func withActivation(h *arch.Head, act activations.Function) *arch.Head {
	h.Activation = act
	return h
}

// join returns groups, and others after them.
func join(some []group, others ...group) []group { return slices.Concat(some, others) }
