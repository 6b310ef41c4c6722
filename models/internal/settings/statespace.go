package settings

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/attn-go/attn/models/internal/activations"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/strict"
	"github.com/attn-go/attn/recurrent"
)

// spaceNames are the tensor names of Mamba-2 below the name of a layer.
func spaceNames(mixer string) arch.Names {
	return arch.Names{
		"blk.%d.ssm_in":      mixer + ".in_proj",
		"blk.%d.ssm_conv1d":  mixer + ".conv1d",
		"blk.%d.ssm_norm":    mixer + ".norm",
		"blk.%d.ssm_out":     mixer + ".out_proj",
		"blk.%d.ssm_a":       mixer + ".A_log",
		"blk.%d.ssm_d":       mixer + ".D",
		"blk.%d.ssm_dt.bias": mixer + ".dt_bias",
	}
}

var graniteHybridNames = named(named(graniteNames, spaceNames("model.layers.%d.mamba")), arch.Names{
	"blk.%d.ffn_gate_up":       "model.layers.%d.shared_mlp.input_linear",
	"blk.%d.ffn_down":          "model.layers.%d.shared_mlp.output_linear",
	"blk.%d.ffn_gate_up_shexp": "model.layers.%d.shared_mlp.input_linear",
	"blk.%d.ffn_down_shexp":    "model.layers.%d.shared_mlp.output_linear",
})

var nemotronNames = named(named(spaceNames("backbone.layers.%d.mixer"), aheadNames("backbone.layers.%d.")), arch.Names{
	"token_embd":              "backbone.embeddings",
	"output_norm":             "backbone.norm_f",
	"output":                  "lm_head",
	"cls.output":              "score",
	"blk.%d.attn_norm":        "backbone.layers.%d.norm",
	"blk.%d.ffn_norm":         "backbone.layers.%d.ffn_norm", // of the layer that guesses further tokens alone
	"blk.%d.attn_q":           "backbone.layers.%d.mixer.q_proj",
	"blk.%d.attn_k":           "backbone.layers.%d.mixer.k_proj",
	"blk.%d.attn_v":           "backbone.layers.%d.mixer.v_proj",
	"blk.%d.attn_output":      "backbone.layers.%d.mixer.o_proj",
	"blk.%d.ffn_up":           "backbone.layers.%d.mixer.up_proj",
	"blk.%d.ffn_down":         "backbone.layers.%d.mixer.down_proj",
	"blk.%d.ffn_gate_inp":     "backbone.layers.%d.mixer.gate",
	"blk.%d.ffn_latent_down":  "backbone.layers.%d.mixer.fc1_latent_proj",
	"blk.%d.ffn_latent_up":    "backbone.layers.%d.mixer.fc2_latent_proj",
	"blk.%d.exp_probs_b.bias": "backbone.layers.%d.mixer.gate.e_score_correction_bias",
	"blk.%d.ffn_up.%e":        "backbone.layers.%d.mixer.experts.%e.up_proj",
	"blk.%d.ffn_down.%e":      "backbone.layers.%d.mixer.experts.%e.down_proj",
	"blk.%d.ffn_up_shexp":     "backbone.layers.%d.mixer.shared_experts.up_proj",
	"blk.%d.ffn_down_shexp":   "backbone.layers.%d.mixer.shared_experts.down_proj",
})

// aheadOfNemotron are the names of two layers, attention and experts, of which one layer is made.
// What they join and how they end was taken from vLLM's nemotron_h_mtp.py.
var aheadOfNemotron = [][2]string{
	{"layers.0."}, {"layers.1.norm.", "ffn_norm."}, {"layers.1.final_layernorm.", "shared_head.norm."},
	{"layers.1.mixer.gate.", "mixer.gate."}, {"layers.1.mixer.experts.", "mixer.experts."}, {"layers.1.mixer.fc1_latent_proj.", "mixer.fc1_latent_proj."}, {"layers.1.mixer.fc2_latent_proj.", "mixer.fc2_latent_proj."}, {"layers.1.mixer.shared_experts.", "mixer.shared_experts."}, {"layers.1.", "layers.1."},
}

func init() { Decoders.rows = append(Decoders.rows, spaces...) }

// spaces are the families with layers of Mamba-2.
var spaces = []family{
	{
		Family: arch.Family{Types: []string{"granitemoehybrid"}, Classes: []string{"GraniteMoeHybrid"}, GGUF: "granitehybrid", Interleaved: true, Names: graniteHybridNames},
		draft:  gatedBlock(activations.SiLU), folder: decoder(decoderKeys, silu, rotary, rotationIfSaid, attentionBias, multipliers, mambaSpaces, sharedOfGranite),
		file: []group{sizes, inner, rmsEpsilon, fileScale, fileSpaces, fileBiases, fileRope, fileMultipliers, fileShared},
		missing: values{
			"rms_norm_eps": 1e-6, "rope_theta": 10000, "num_experts": 8, "num_experts_per_tok": 2, "embedding_multiplier": 1, "residual_multiplier": 1, "attention_multiplier": 1, "logits_scaling": 1,
			"shared_intermediate_size": 1024, "mamba_n_heads": 128, "mamba_n_groups": 1, "mamba_d_state": 256, "mamba_d_head": "auto", "mamba_d_conv": 4, "mamba_expand": 2, "mamba_conv_bias": true,
		},
		renamed:  &renaming{"", map[string]string{"num_experts": "num_local_experts"}},
		harmless: chunks,
	},
	{
		Family: arch.Family{Types: []string{"nemotron_h"}, Classes: []string{"NemotronH"}, GGUF: "nemotron_h", Names: nemotronNames, Ahead: aheadOfNemotron, Ignored: []string{"mtp."}},
		draft:  plainBlock(activations.ReLU2, arch.Absent), folder: decoder([]group{sizes, inner, epsilon("layer_norm_epsilon", 1), grouped, tied}, still, activation("mlp_hidden_act"), nemotronBiases, expertsOfNemotron, moreOfNemotron, partsOfNemotron),
		missing: values{
			"layer_norm_epsilon": 1e-5, "num_hidden_layers": 1, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "mlp_hidden_act": "relu2", "mamba_hidden_act": "silu", "max_position_embeddings": 4096,
			"mamba_n_heads": 128, "mamba_n_groups": 8, "mamba_d_state": 128, "mamba_d_head": 64, "mamba_d_conv": 4, "mamba_conv_bias": true, "time_step_min": leastGate,
			"num_experts": 8, "num_experts_per_tok": 2, "norm_topk_prob": true, "n_group": 1, "topk_group": 1, "routed_scaling_factor": 1,
		},
		file:     nemotronFile,
		renamed:  nemotronKeys,
		harmless: chunks.Add(strict.Any, "time_step_max", "time_step_floor", "time_step_limit", "rescale_prenorm_residual", "residual_in_fp32", "use_mamba_kernels", "mamba_ssm_cache_dtype", "moe_shared_expert_overlap", "n_shared_experts", "hidden_dropout", "expand", "sliding_window", "mamba_proj_bias"),
	},
	{
		Family: arch.Family{GGUF: "nemotron_h_moe", Names: nemotronNames},
		draft:  plainBlock(activations.ReLU2, arch.Absent), file: nemotronFile,
	},
}

// chunks are keys of how the class of a model with states cuts texts, which changes the order of
// its sums alone.
var chunks = strict.Table{"mamba_chunk_size": strict.Any, "chunk_size": strict.Any}

// leastGate is the least gate of Nemotron H.
const leastGate = 0.001

// nemotronKeys are what NVIDIA calls keys of Granite.
var nemotronKeys = &renaming{"", map[string]string{
	"layer_types": "layers_block_type", "num_experts": "n_routed_experts",
	"mamba_n_heads": "mamba_num_heads", "mamba_n_groups": "n_groups", "mamba_d_state": "ssm_state_size", "mamba_d_head": "mamba_head_dim", "mamba_d_conv": "conv_kernel",
	"mamba_conv_bias": "use_conv_bias", "mamba_proj_bias": "use_bias",
}}

// rotationIfSaid reads whether queries and keys rotate, which the class does for one value alone.
func rotationIfSaid(r *reader) {
	const key = "position_embedding_type"
	switch kind := r.Text(key); kind {
	case "rope":
	case "", "nope":
		still(r)
	default:
		r.Fail(key, quoted(kind), `"rope", "nope" or null`)
	}
}

// still says that no layer rotates anything.
func still(r *reader) { r.still = every(1) }

// mambaSpaces reads which layers of Granite are of Mamba-2, and their sizes.
func mambaSpaces(r *reader) {
	t := r.space()
	t.Limits = [2]float32{0, float32(math.Inf(1))}
	r.limits("time_step_limit", &t.Limits)
	inner := r.Integer("mamba_expand", 0, 1, r.most) * r.model.Width
	r.headsOf(t, inner, "mamba_expand·hidden_size")
	r.spaces(t, "mamba_n_groups", "mamba_n_heads")
	lacks, ok := r.lacking("linear_attention", "mamba")
	for i := 0; i < len(lacks) && !ok; i++ {
		lacks[i] = true
	}
	r.replace(lacks, t)
}

// fileSpaces reads which layers of a GGUF file are of Mamba-2.
func fileSpaces(r *reader) { r.replace(r.fileHeads(), r.fileSpace()) }

// fileSpace reads the sizes of Mamba-2 out of a GGUF file.
func (r *reader) fileSpace() *arch.StateSpace {
	t := &arch.StateSpace{
		Heads: r.Integer("ssm.time_step_rank", 0, 1, 1<<16), KeyHeads: r.Integer("ssm.group_count", 0, 1, 1<<16), KeySize: r.Integer("ssm.state_size", 0, 1, mostHead),
		Taps: r.Integer("ssm.conv_kernel", 0, 1, mostTaps), Bias: arch.AsFiles, TapsBias: arch.AsFiles, Limits: [2]float32{0, float32(math.Inf(1))},
	}
	t.ValueSize = r.headOf(t.Heads)
	for i := range r.count {
		if _, ok := r.tensors.Tensor(fmt.Sprintf("blk.%d.ssm_norm.weight", i)); ok {
			t.NormParts = t.KeyHeads
		}
	}
	r.spaces(t, "ssm.group_count", "ssm.time_step_rank")
	return t
}

// fileShared is sharedOfGranite for a GGUF file.
func fileShared(r *reader) {
	const shared = "shared_expert_intermediate_size"
	if n := r.Integer("num_experts", -1, 0, r.most); n > 0 {
		chosen("num_experts")(r)
		r.experts.Shared = r.Size(shared, 0)
		return
	}
	noExperts(r)
	r.same(shared, r.dense.Inner)
}

// headsOf reads the size of a head, all of which have inner values together.
func (r *reader) headsOf(t *arch.StateSpace, inner int, all string) {
	switch key := "mamba_d_head"; {
	case string(r.json.Raw(key)) != `"auto"`:
		t.ValueSize = r.Integer(key, 0, 1, mostHead)
	case inner%t.Heads != 0:
		r.Fail("mamba_n_heads", fmt.Sprint(t.Heads), fmt.Sprintf("a divisor of %d, which is %s", inner, all))
	default:
		t.ValueSize = inner / t.Heads
	}
	if t.Heads*t.ValueSize != inner {
		r.Fail("mamba_d_head", fmt.Sprint(t.ValueSize), fmt.Sprintf("%d heads of %s, which is %d, together", t.Heads, all, inner))
	}
}

// space reads the sizes of Mamba-2 except the size of a value.
func (r *reader) space() *arch.StateSpace {
	t := &arch.StateSpace{
		Heads: r.Integer("mamba_n_heads", 0, 1, 1<<16), KeyHeads: r.Integer("mamba_n_groups", 0, 1, 1<<16), KeySize: r.Integer("mamba_d_state", 0, 1, mostHead),
		Taps: r.Integer("mamba_d_conv", 0, 1, mostTaps), Bias: arch.Absent, TapsBias: arch.Absent,
	}
	r.biases("mamba_proj_bias", &t.Bias)
	r.biases("mamba_conv_bias", &t.TapsBias)
	t.NormParts = t.KeyHeads
	return t
}

// spaces checks sizes of Mamba-2.
func (r *reader) spaces(t *arch.StateSpace, groups, heads string) {
	if t.Heads%t.KeyHeads != 0 {
		r.Fail(groups, fmt.Sprint(t.KeyHeads), fmt.Sprintf("a divisor of the %d heads", t.Heads))
		return
	}
	r.stateFits(heads, recurrent.Layer{Heads: t.Heads, KeyHeads: t.KeyHeads, KeySize: t.KeySize, ValueSize: t.ValueSize, Rule: recurrent.StateSpace})
}

// stateFits refuses a state that is too large. After 63 tokens of a chunk it is largest.
func (r *reader) stateFits(key string, l recurrent.Layer) {
	if l.StateSize(63) > r.most {
		r.Fail(key, fmt.Sprint(l.Heads), fmt.Sprintf("fewer, so that a state has at most %d numbers", r.most))
	}
}

// limits reads a range, of which transformers writes an infinite end as an object.
func (r *reader) limits(key string, to *[2]float32) {
	var all []json.RawMessage
	const want = "a list of two numbers from 0 on, in ascending order"
	if !r.json.Read(key, want, &all) {
		return
	}
	ok := len(all) == 2
	for i := 0; i < len(all) && ok; i++ {
		if infinite := map[string]string{}; json.Unmarshal(all[i], &infinite) == nil && infinite["__float__"] == "Infinity" {
			to[i] = float32(math.Inf(1))
		} else {
			ok = json.Unmarshal(all[i], &to[i]) == nil
		}
	}
	if !ok || !(to[0] >= 0 && to[0] <= to[1]) {
		r.Fail(key, strict.Abbreviated(r.json.Raw(key)), want)
	}
}

// sharedOfGranite reads the experts of Granite, and the network that all tokens take, alone if
// there are no experts.
func sharedOfGranite(r *reader) {
	shared := r.Size("shared_intermediate_size", 0)
	const key = "num_experts"
	if !r.Has(key) {
		r.Fail(key, "none", "an integer from 0 on")
	}
	if n := r.optional(key, 0, r.most); n > 0 {
		chosen(key)(r)
		r.experts.Shared = shared
		return
	}
	r.Has("num_experts_per_tok")
	r.dense.Inner, r.dense.Fused = shared, true
}

// The kinds of layers of Nemotron H, by name, older name and letter.
var nemotronKinds = []struct{ name, old, letter string }{{"linear_attention", "mamba", "M"}, {fullLayer, "attention", "*"}, {"mlp", "mlp", "-"}, {"moe", "moe", "E"}}

// nemotronKindsOf reads the kinds of layers, as a list or as letters, or returns nil without both.
// An empty list is not nil.
func (r *reader) nemotronKindsOf(key, pattern string) (kinds []int) {
	var names []string
	if r.json.Read(key, "a list of strings", &names); r.Has(pattern) {
		if text := r.Text(pattern); names == nil {
			names = strings.Split(text, "")
		}
	}
	if names != nil {
		kinds = []int{}
	}
	for _, name := range names {
		i := slices.IndexFunc(nemotronKinds, func(k struct{ name, old, letter string }) bool {
			return name == k.name || name == k.old || name == k.letter
		})
		if kinds = append(kinds, i); i < 0 {
			r.Fail(key, quoted(name), `"linear_attention", "full_attention", "mlp" or "moe"`)
			return nil
		}
	}
	return kinds
}

// partsOfNemotron reads which one part each layer has, whatever num_hidden_layers says.
func partsOfNemotron(r *reader) {
	kinds := r.nemotronKindsOf("layer_types", "hybrid_override_pattern")
	if len(kinds) == 0 || len(kinds) > mostLayers {
		r.Fail("layer_types", fmt.Sprintf("%d layers", len(kinds)), fmt.Sprintf("1 to %d", mostLayers))
		return
	}
	r.count = len(kinds)
	r.onePart(kinds, nemotronSpaces(r))
}

// moreOfNemotron reads whether what guesses further tokens is attention and experts; others are not
// computed. A count of 0 says nothing: it is the default of transformers, whose class has none.
func moreOfNemotron(r *reader) {
	r.model.More = r.optional("num_nextn_predict_layers", 0, mostLayers)
	kinds := r.nemotronKindsOf("mtp_layers_block_type", "mtp_hybrid_override_pattern")
	if kinds == nil || slices.Equal(kinds, []int{attention, moe}) {
		r.model.MoreFeed = r.mixture()
	}
}

// The kinds of layers that have one part.
const space, attention, mlp, moe = 0, 1, 2, 3

// onePart gives each layer a part of its kind.
func (r *reader) onePart(kinds []int, spaces *arch.StateSpace) {
	r.each = func(i int, l *arch.Layer) {
		switch kinds[i] {
		case space:
			l.Mixer, l.Feed = spaces, nil
		case attention:
			l.Feed = nil
		case mlp:
			l.Mixer, l.Feed = nil, &r.dense
		case moe:
			l.Mixer, l.Feed = nil, r.mixture()
		}
	}
}

var nemotronFile = []group{sizes, rmsEpsilon, fileScale, filePartsOfNemotron, fileBiases, fileStillRope}

// fileStillRope says that nothing rotates, whatever a file says of rotations.
func fileStillRope(r *reader) {
	r.Has("rope.dimension_count")
	r.Has("rope_theta")
	still(r)
}

// filePartsOfNemotron reads which part the layers of a GGUF file have: attention if there are heads
// of keys, else a network or experts if these have a width, else Mamba-2. Files do not say the
// least gate: it is the default of the class.
func filePartsOfNemotron(r *reader) {
	widths, lacks := r.gguf.Each("intermediate_size"), r.fileHeads()
	kinds, routed := make([]int, r.count), false
	for i, n := range widths {
		_, routes := r.tensors.Tensor(fmt.Sprintf("blk.%d.ffn_gate_inp.weight", i))
		switch {
		case !lacks[i]:
			kinds[i] = attention
		case n > 0 && routes:
			kinds[i], routed = moe, true
		case n > 0:
			if r.dense.Inner > 0 && r.dense.Inner != n {
				r.Fail("intermediate_size", fmt.Sprintf("%d in layer %d", n, i), fmt.Sprintf("%d as in others", r.dense.Inner))
			}
			kinds[i], r.dense.Inner = mlp, n
		}
	}
	t := r.fileSpace()
	t.Limits[0] = leastGate
	r.onePart(kinds, t)
	if !routed {
		r.unrouted(kinds)
		noExperts(r)
		r.moreOfFile()
		return
	}
	if fileRouted(r); r.lead > 0 {
		r.Fail("first_k_dense_replace", fmt.Sprint(r.lead), "0: each layer says what it is")
	}
	for i, n := range widths {
		if kinds[i] == moe && n != r.experts.Inner {
			r.Fail("intermediate_size", fmt.Sprintf("%d in layer %d", n, i), fmt.Sprintf("%d, the width of an expert", r.experts.Inner))
		}
	}
	r.Integer("n_shared_experts", 1, 0, 1) // the width below belongs to all of them
	r.experts.Shared, r.experts.Latent = r.Size("shared_expert_intermediate_size", 0), r.optional(latentSize, 0, r.most)
}

// unrouted says why no layer of a GGUF file has the experts that it counts.
func (r *reader) unrouted(kinds []int) {
	const key = "num_experts"
	switch n := r.optional(key, 0, r.most); {
	case n == 0:
	case slices.Contains(kinds, mlp):
		r.Fail(key, fmt.Sprint(n), `none without tensors "blk.N.ffn_gate_inp.weight"`)
	case !slices.Contains(kinds, space):
		r.Fail("num_key_value_heads", "heads in all layers", "a list with 0 for each layer without attention")
	default:
		r.Fail("intermediate_size", "0 in all layers without attention", "a list with the width of an expert for each layer with experts")
	}
}

// nemotronSpaces reads the sizes of layers of Mamba-2.
func nemotronSpaces(r *reader) *arch.StateSpace {
	t := r.space()
	t.ValueSize = r.Integer("mamba_d_head", 0, 1, mostHead)
	t.Limits = [2]float32{float32(r.Number("time_step_min", 0, 0, 0x1p16)), float32(math.Inf(1))}
	if key := "time_step_min"; !r.Has(key) {
		r.Fail(key, "none", "a number from 0 on")
	}
	if act := r.Text("mamba_hidden_act"); act != "silu" {
		r.Fail("mamba_hidden_act", quoted(act), `"silu"; others are not supported`)
	}
	r.spaces(t, "mamba_n_groups", "mamba_n_heads")
	return t
}

// nemotronBiases reads which layers have biases; attention has none, whatever attention_bias says.
func nemotronBiases(r *reader) {
	r.Has("attention_bias")
	r.biases("mlp_bias", &r.dense.Bias, &r.dense.DownBias)
}

// latentSize is the width of what the experts of Nemotron 3 Super read and write.
const latentSize = "moe_latent_size"

// expertsOfNemotron reads experts without gates, of which a token chooses by corrected logistic
// functions.
func expertsOfNemotron(r *reader) {
	chosen("num_experts")(r)
	r.correct()
	e := &r.experts
	e.Inner, e.Shares, e.Scale = r.Size("moe_intermediate_size", 7688), r.json.Yes("norm_topk_prob"), r.above("routed_scaling_factor")
	e.Shared = r.Size("moe_shared_expert_intermediate_size", 7688)
	r.groups(r.Size("n_group", 0), r.Size("topk_group", 0))
	if r.Has(latentSize) {
		e.Latent = r.Size(latentSize, 0)
	}
}
