package settings

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/attn-go/attn/models/internal/activations"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/strict"
)

// mixtures are the families of decoders that have experts alone.
var mixtures = []family{
	{
		Family: arch.Family{Types: []string{"mixtral"}, Classes: []string{"Mixtral"}, GGUF: "llama", Interleaved: true, Names: mixtralNames},
		draft:  gatedBlock(activations.SiLU), folder: decoder(decoderKeys, silu, rotary, window, chosen("num_experts")),
		missing: values{"rms_norm_eps": 1e-5, "rope_theta": 1e6, "num_key_value_heads": 8, "num_experts": 8, "num_experts_per_tok": 2},
		renamed: &renaming{"num_local_experts", map[string]string{"num_experts": "num_local_experts"}},
		nested:  values{"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "max_position_embeddings": 131072},
	},
	{
		Family: arch.Family{Types: []string{"qwen2_moe"}, Classes: []string{"Qwen2Moe"}, GGUF: "qwen2moe", Names: qwenSharedNames},
		draft:  biased(gatedBlock(activations.SiLU)), folder: decoder(expertKeys, silu, rotary, windowIfSaid, between, layerTypes, qkvBias, sharedExpert), file: ofFile(fileExpertKeys, fileShares(false), sharedExpert),
		missing: qwenMissing.with(values{"num_key_value_heads": 16, "num_experts_per_tok": 4, "shared_expert_intermediate_size": 5632, "qkv_bias": true}),
		nested:  values{"hidden_size": 2048, "moe_intermediate_size": 1408, "num_hidden_layers": 24, "num_attention_heads": 16, "max_position_embeddings": 32768, "num_experts": 60},
	},
	{
		Family: arch.Family{Types: []string{"glm4_moe"}, Classes: []string{"Glm4Moe"}, GGUF: "glm4moe", Names: routedNames},
		draft:  gatedBlock(activations.SiLU), folder: decoder(decoderKeys, silu, rotaryOfPart, inputBias, headNormsIfSaid, routed, lead, more), file: ofFile(fileInnerKeys, fileHeadNorms, fileRouted),
		missing:  routedMissing.with(values{"rms_norm_eps": 1e-5, "num_key_value_heads": 8, partKey: 0.5, "first_k_dense_replace": 1}),
		renamed:  routedKeys,
		harmless: routedHarmless,
		nested:   values{"hidden_size": 4096, "intermediate_size": 10944, "moe_intermediate_size": 1408, "num_hidden_layers": 46, "num_attention_heads": 96, "max_position_embeddings": 131072, "num_local_experts": 128},
	},
	{
		Family: arch.Family{Types: []string{"olmoe"}, Classes: []string{"Olmoe"}, GGUF: "olmoe", Names: llamaNames},
		draft:  allHeads(gatedBlock(activations.SiLU)), folder: decoder(decoderKeys, silu, rotary, attentionBias, chosen("num_experts"), sharesIfSaid), file: ofFile(fileInnerKeys, chosen("num_experts"), fileShares(false)),
		missing:  values{"rms_norm_eps": 1e-5, "rope_theta": 10000, "num_experts": 64, "num_experts_per_tok": 8},
		renamed:  &renaming{"num_local_experts", map[string]string{"num_experts": "num_local_experts"}},
		harmless: strict.Table{"clip_qkv": strict.Only("null")},
		nested:   values{"hidden_size": 2048, "intermediate_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 16, "max_position_embeddings": 4096},
	},
	{
		Family: arch.Family{Types: []string{"granitemoe"}, Classes: []string{"GraniteMoe"}, GGUF: "granitemoe", Interleaved: true, Names: graniteNames},
		draft:  gatedBlock(activations.SiLU), folder: decoder(decoderKeys, silu, rotary, attentionBias, multipliers, chosen("num_experts")), file: ofFile(fileInnerKeys, fileMultipliers, chosen("num_experts")),
		missing: values{"rms_norm_eps": 1e-6, "rope_theta": 10000, "num_experts": 8, "num_experts_per_tok": 2, "embedding_multiplier": 1, "residual_multiplier": 1, "attention_multiplier": 1, "logits_scaling": 1},
		renamed: &renaming{"num_local_experts", map[string]string{"num_experts": "num_local_experts"}},
		nested:  values{"hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32, "max_position_embeddings": 2048},
	},
	{
		Family: arch.Family{Types: []string{"lfm2_moe"}, Classes: []string{"Lfm2Moe"}, GGUF: "lfm2moe", FinalNorm: "token_embd_norm", Names: lfmExpertNames},
		draft:  headNorms(gatedBlock(activations.SiLU)), folder: []group{sizes, inner, epsilon("norm_eps", 1), grouped, tiedEmbedding, rotary, onlyTypes, convolutions, lfmExperts},
		file: []group{sizes, inner, rmsEpsilon, fileConvolutions, fileBiases, fileRope, fileLFMExperts},
		missing: values{
			"norm_eps": 1e-5, "rope_theta": 1e6, "num_key_value_heads": 8, "tie_word_embeddings": true, "conv_L_cache": 3,
			"num_experts": 32, "num_experts_per_tok": 4, "num_dense_layers": 2, "use_expert_bias": true, "routed_scaling_factor": 1, "norm_topk_prob": true, "moe_intermediate_size": 1792,
		},
		nested:   values{"hidden_size": 2048, "intermediate_size": 7168, "num_hidden_layers": 32, "num_attention_heads": 32, "max_position_embeddings": 128000},
		harmless: unreadOfLFM,
	},
	{
		Family: arch.Family{Types: []string{"minimax_m2"}, Classes: []string{"MiniMaxM2"}, GGUF: "minimax-m2", Names: minimaxNames},
		draft:  allHeads(gatedBlock(activations.SiLU)), folder: decoder(decoderKeys, silu, rotaryOfMiniMax, chosen("num_experts"), minimaxExperts, minimaxLayers), file: ofFile(fileInnerKeys, chosen("num_experts"), minimaxExperts, fileSigmoid),
		missing:  values{"rms_norm_eps": 1e-6, "rope_theta": 5e6, "head_dim": 128, "num_key_value_heads": 8, "num_experts": 256, "num_experts_per_tok": 8},
		renamed:  &renaming{"num_local_experts", map[string]string{"num_experts": "num_local_experts"}},
		harmless: minimaxHarmless,
		nested:   values{"hidden_size": 3072, "intermediate_size": 1536, "num_hidden_layers": 62, "num_attention_heads": 48, "max_position_embeddings": 196608},
	},
	{
		Family: arch.Family{Types: []string{"gpt_oss"}, Classes: []string{"GptOss"}, GGUF: "gpt-oss", Period: 2, InTurn: true, Names: ossNames},
		draft:  sinks(gatedBlock(activations.SiLU)), folder: decoder(decoderKeys, silu, rotaryOfOSS, window, layerTypes, attentionBias, chosen("num_experts"), ossExperts), file: ofFile(fileInnerKeys, fileOSS),
		missing:  values{"rms_norm_eps": 1e-5, "rope_theta": 150000, "head_dim": 64, "num_key_value_heads": 8, "sliding_window": 128, "attention_bias": true, "num_experts": 128, "num_experts_per_tok": 4, "swiglu_alpha": 1.702, "swiglu_limit": 7},
		renamed:  &renaming{"num_local_experts", map[string]string{"num_experts": "num_local_experts"}},
		nested:   values{"hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": 36, "num_attention_heads": 64, "max_position_embeddings": 131072},
		harmless: strict.Table{"initial_context_length": strict.Any},
	},
}

// minimaxHarmless are keys of published files, which say what the class does, or of networks and
// layers that it does not have.
var minimaxHarmless = strict.Table{
	"layernorm_full_attention_beta": strict.Only("1"), "layernorm_linear_attention_beta": strict.Only("1"), "layernorm_mlp_beta": strict.Only("1"),
	"mlp_intermediate_size": strict.Any, "shared_moe_mode": strict.Any,
	"scoring_func": strict.Only(`"sigmoid"`), "use_routing_bias": strict.Only("true"), "use_qk_norm": strict.Only("true"), "qk_norm_type": strict.Only(`"per_layer"`),
	"shared_intermediate_size": strict.Only("0"), "use_mtp": strict.Any, "num_mtp_modules": strict.Any, "mtp_transformer_layers": strict.Any,
}

// allHeads is a block with norms of queries and keys of all heads together.
func allHeads(d draft) draft {
	d.attention.HeadNorm = &arch.HeadNorm{Of: arch.AllHeads}
	return d
}

// sharesIfSaid reads whether shares add up to 1.
func sharesIfSaid(r *reader) { r.experts.Shares = r.json.Yes("norm_topk_prob") }

// minimaxExperts says how MiniMax chooses: by corrected logistic functions of scores, and shares
// add up to 1.
func minimaxExperts(r *reader) {
	r.correct()
	r.experts.Least = 0
}

// minimaxLayers refuses layers without attention, which earlier models had.
func minimaxLayers(r *reader) {
	const key, want = "attn_type_list", "a list of 1 for each layer"
	var kinds []int
	if r.json.Read(key, want, &kinds) && !slices.Equal(kinds, slices.Repeat([]int{1}, r.count)) {
		r.Fail(key, fmt.Sprintf("%d layers, or another number", len(kinds)), want)
	}
}

// fileSigmoid checks that a GGUF file says so, too.
func fileSigmoid(r *reader) {
	r.same("expert_gating_func", 2)
	r.same("moe_intermediate_size", r.dense.Inner)
}

// onlyTypes refuses the key by which LFM2 without experts also says which layers have attention.
func onlyTypes(r *reader) { r.json.Only("full_attn_idxs", nil) }

// lfmExperts reads the experts of LFM2, chosen by the logistic function of scores, corrected or
// not.
func lfmExperts(r *reader) {
	chosen("num_experts")(r)
	r.correct()
	e := &r.experts
	e.Least, e.Correction, e.Shares = 1e-6, r.json.Yes("use_expert_bias"), r.json.Yes("norm_topk_prob")
	e.Inner, e.Scale = r.Size("moe_intermediate_size", 0), r.above("routed_scaling_factor")
	r.lead = r.Integer("num_dense_layers", 0, 0, mostLayers)
}

// fileLFMExperts reads them out of a GGUF file.
func fileLFMExperts(r *reader) {
	fileRouted(r)
	fileShares(true)(r)
	r.experts.Least = 1e-6
}

// rotaryOfMiniMax is rotaryOfPart for a class whose files may say how many elements rotate.
func rotaryOfMiniMax(r *reader) {
	const key = "rotary_dim"
	p := r.parameters()
	if dims := r.optional(key, 0, r.attention.Size); dims > 0 && !p.Has(partKey) && !r.Has(partKey) {
		r.turn(p, dims)
	} else {
		r.turn(p, r.part(p))
	}
	r.scaling(p, p.Size(original, r.model.Context), everyScaling)
	p.Unknown(strict.Parameters)
}

// sinks is a block of which each head has one.
func sinks(d draft) draft {
	d.attention.Sinks = true
	return d
}

// ossExperts reads what is special in gpt-oss: biases everywhere, and an activation with limits.
func ossExperts(r *reader) {
	e := &r.experts
	e.RouterBias, e.Bias, e.DownBias = true, arch.Present, arch.Present
	e.Alpha, e.Limit = r.above("swiglu_alpha"), r.above("swiglu_limit")
	r.same("experts_per_token", e.Used) // its name in published files, which have both
}

// above reads a number that is not 0.
func (r *reader) above(key string) float64 {
	x := r.Number(key, 0, 0x1p-16, 0x1p16)
	if x == 0 {
		r.Fail(key, "none", "a number from 2^-16 to 2^16") // also of null
	}
	return x
}

// rotaryOfOSS is rotary for a class that scales positions if a file does not say how.
func rotaryOfOSS(r *reader) {
	p := r.parameters()
	if !r.Has("rope_parameters") && p.Empty() {
		p.Default(values{"rope_type": "yarn", "factor": 32, "beta_fast": 32, "beta_slow": 1, "truncate": false, original: 4096})
	}
	r.rotate(p)
}

// fileOSS reads the experts of gpt-oss out of a GGUF file, which says neither the limits of their
// activation nor that the pairs between which the frequencies change are no whole numbers.
func fileOSS(r *reader) {
	r.dense.Inner = r.Size("moe_intermediate_size", 0)
	chosen("num_experts")(r)
	e := &r.experts
	e.RouterBias, e.Bias, e.DownBias, e.Alpha, e.Limit = true, arch.Present, arch.Present, 1.702, 7
	r.rope.Scaling.Round = false
}

// routedMissing is what classes with DeepSeek's experts have, and routedKeys what their files call
// keys.
var (
	routedMissing = values{"rope_theta": 10000, "num_experts_per_tok": 8, "n_shared_experts": 1, "routed_scaling_factor": 1, "n_group": 1, "topk_group": 1, "norm_topk_prob": true}
	routedKeys    = &renaming{"n_routed_experts", map[string]string{"num_local_experts": "n_routed_experts"}}
)

// routedHarmless are keys of older files, which say what the class does, or are of training.
var routedHarmless = strict.Table{"scoring_func": strict.Only(`"sigmoid"`), "topk_method": strict.Only(`"noaux_tc"`), "moe_layer_freq": strict.Only("1"), "aux_loss_alpha": strict.Any, "seq_aux": strict.Any}

// mixture returns the experts of the draft, of which dense has what it does not say.
func (r *reader) mixture() *arch.Experts {
	e := &r.experts
	e.Gated, e.Activation, e.Inner = r.dense.Gated, r.dense.Activation, cmp.Or(e.Inner, r.dense.Inner)
	return e
}

// chosen reads how many experts there are, by a key, and how many of them a token has.
func chosen(key string) group {
	return func(r *reader) {
		e := &r.experts
		e.Count = r.Size(key, 0)
		e.Used = r.Integer("num_experts_per_tok", 0, 1, e.Count)
		e.Shares = true
	}
}

// experts reads Qwen's experts: all layers have some.
func experts(r *reader) {
	r.Has("intermediate_size") // of layers without experts, of which there are none
	r.experts.Inner = r.Size("moe_intermediate_size", 0)
	chosen("num_experts")(r)
	if r.json != nil {
		r.experts.Shares = r.json.Yes("norm_topk_prob")
		r.json.Only("decoder_sparse_step", 1)
		r.json.Only("mlp_only_layers", []int{})
	}
}

// sharedExpert reads the network that all tokens of Qwen have beside the experts.
func sharedExpert(r *reader) {
	r.experts.Shared, r.experts.SharedGate = r.Size("shared_expert_intermediate_size", 0), true
}

// shares divides the shares of the chosen experts by their sum, whatever a file says.
func shares(r *reader) { r.experts.Shares = true }

// qkvBias reads whether queries, keys and values of Qwen 2 have biases.
func qkvBias(r *reader) {
	r.attention.Bias = arch.Absent
	r.biases("qkv_bias", &r.attention.Bias)
}

// between gives every second of the first layers a window.
func between(r *reader) {
	first := r.Integer("max_window_layers", -1, 0, r.most)
	r.whole = func(layer int) bool { return layer%2 == 1 || layer >= first }
}

// headNormsIfSaid reads whether heads of queries and keys have norms.
func headNormsIfSaid(r *reader) {
	if r.json.Yes("use_qk_norm") {
		r.draft = headNorms(r.draft)
	}
}

// routed reads DeepSeek's experts, of which a token chooses by corrected logistic functions of
// scores.
func routed(r *reader) {
	chosen("num_local_experts")(r)
	r.correct()
	e := &r.experts
	e.Inner, e.Shares = r.Size("moe_intermediate_size", 0), r.json.Yes("norm_topk_prob")
	e.Scale = r.above("routed_scaling_factor")
	r.shared(r.Integer("n_shared_experts", 0, 1, r.most))
	r.groups(r.Size("n_group", 0), r.Size("topk_group", 0))
}

// correct says that experts are chosen by corrected logistic functions.
func (r *reader) correct() {
	e := &r.experts
	e.Sigmoid, e.Correction, e.Least = true, true, 1e-20
}

// shared sets a network for all tokens that is as wide as so many experts.
func (r *reader) shared(n int) {
	if r.experts.Shared = n * r.experts.Inner; r.beyond(n, r.experts.Inner) {
		r.Fail("n_shared_experts", fmt.Sprint(n), fmt.Sprintf("at most %d for the width of all together", r.most))
	}
}

// groups sets how many groups of experts there are, of which some are chosen first.
func (r *reader) groups(n, used int) {
	e := &r.experts
	switch size := e.Count / n; {
	case n == 1 && used == 1:
		return
	case e.Count%n != 0 || size < 2:
		r.Fail("n_group", fmt.Sprint(n), fmt.Sprintf("a divisor of the %d experts that leaves two or more for each group", e.Count))
	case used > n || used*size < e.Used:
		r.Fail("topk_group", fmt.Sprint(used), fmt.Sprintf("at most the %d groups, and enough for the %d experts of a token", n, e.Used))
	}
	e.Groups = arch.Group{Count: n, Used: used}
}

// lead reads how many of the first layers have no experts.
func lead(r *reader) { r.lead = r.Integer("first_k_dense_replace", 0, 0, mostLayers) }

// more reads how many layers guess further tokens.
func more(r *reader) {
	r.model.More = r.optional("num_nextn_predict_layers", 1, mostLayers)
	if key := "num_mtp_layers"; r.Has(key) {
		r.model.More = r.optional(key, 0, mostLayers)
	}
}

// optional reads an integer from 0 on, which may be missing.
func (r *reader) optional(key string, missing, most int) int {
	if !r.Has(key) {
		return missing
	}
	return r.Integer(key, 0, 0, most)
}

// fileMixtral reads the experts of a GGUF file that may have none.
func fileMixtral(r *reader) {
	if n := r.optional("num_experts", 0, r.most); n > 0 {
		chosen("num_experts")(r)
	}
}

// noExperts refuses files of a family that has some with experts.
func noExperts(r *reader) {
	for _, key := range []string{"num_experts", "num_experts_per_tok"} {
		if n := r.Integer(key, -1, 0, r.most); r.Has(key) && n != 0 {
			r.Fail(key, fmt.Sprint(n), "none: "+r.row.GGUF+" with experts is not supported")
		}
	}
}

// fileShares sets whether the shares of experts add up to 1, which the files of an architecture do
// not say.
func fileShares(add bool) group {
	return func(r *reader) {
		if r.experts.Shares = add; r.gguf.Yes("norm_topk_prob", add) != add {
			r.Fail("norm_topk_prob", fmt.Sprint(!add), fmt.Sprintf("%v: %s computes no others", add, r.row.GGUF))
		}
	}
}

// fileHeadNorms says that heads of queries and keys have norms if the file has them.
func fileHeadNorms(r *reader) {
	if _, ok := r.tensors.Tensor("blk.0.attn_q_norm.weight"); ok {
		r.draft = headNorms(r.draft)
	}
}

// fileRouted reads DeepSeek's experts out of a GGUF file.
func fileRouted(r *reader) {
	chosen("num_experts")(r)
	r.lead = r.optional("first_k_dense_replace", 0, mostLayers)
	const softmax, sigmoid = 1, 2
	n := r.optional("expert_gating_func", 0, r.most)
	if _, corrected := r.tensors.Tensor(fmt.Sprintf("blk.%d.exp_probs_b.bias", r.lead)); n == 0 && r.row.GGUF == "deepseek2" && !corrected {
		n = softmax // of DeepSeek V2, whose files may not say it
	}
	if n == 0 || n == sigmoid {
		r.correct()
	} else if n != softmax {
		r.Fail("expert_gating_func", fmt.Sprint(n), "1 (softmax) or 2 (sigmoid); others are not supported")
	}
	e := &r.experts
	e.Inner, e.Shares = r.Size("moe_intermediate_size", 0), r.gguf.Yes("norm_topk_prob", false)
	e.Scale = r.Optional("routed_scaling_factor", 0x1p-16, 0x1p16)
	r.shared(r.optional("n_shared_experts", 0, r.most))
	if n := r.optional("n_group", 0, r.most); n > 1 && !e.Sigmoid {
		r.Fail("n_group", fmt.Sprint(n), "1 with expert_gating_func 1 (softmax); others are not supported")
	} else if n > 1 {
		r.groups(n, r.Size("topk_group", 0))
	}
	r.moreOfFile()
}

// moreOfFile reads how many of the last layers of a GGUF file guess further tokens.
func (r *reader) moreOfFile() {
	r.model.More = r.optional("num_nextn_predict_layers", 0, r.count-1)
	r.count -= r.model.More
}
