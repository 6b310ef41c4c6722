package settings

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/models/internal/activations"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/strict"
	"github.com/attn-go/attn/recurrent"
)

// mostTaps is the most inputs of a convolution.
const mostTaps = 1 << 10

var fileDeltaKeys = []group{sizes, rmsEpsilon, fileScale, grouped, fileRope, fileForward, fileValues}

var fileConvolutionKeys = []group{sizes, inner, rmsEpsilon, fileConvolutions, fileBiases, fileRope, noExperts}

// lfmNames are the tensor names of LFM2.
var lfmNames = named(llamaNames, arch.Names{
	"output_norm":        "model.embedding_norm",
	"blk.%d.attn_norm":   "model.layers.%d.operator_norm",
	"blk.%d.attn_output": "model.layers.%d.self_attn.out_proj",
	"blk.%d.attn_q_norm": "model.layers.%d.self_attn.q_layernorm",
	"blk.%d.attn_k_norm": "model.layers.%d.self_attn.k_layernorm",
	"blk.%d.ffn_norm":    "model.layers.%d.ffn_norm",
	"blk.%d.ffn_gate":    "model.layers.%d.feed_forward.w1",
	"blk.%d.ffn_up":      "model.layers.%d.feed_forward.w3",
	"blk.%d.ffn_down":    "model.layers.%d.feed_forward.w2",

	"blk.%d.shortconv.in_proj":  "model.layers.%d.conv.in_proj",
	"blk.%d.shortconv.conv":     "model.layers.%d.conv.conv",
	"blk.%d.shortconv.out_proj": "model.layers.%d.conv.out_proj",
})

// unreadOfLFM are keys of published files of LFM2 that its class does not read.
var unreadOfLFM = strict.Table{}.Add(strict.Any,
	"block_dim", "block_mlp_init_scale", "block_norm_eps", "block_out_init_scale", "block_use_swiglu", "block_use_xavier_init",
	"conv_dim", "conv_dim_out", "conv_use_xavier_init", "num_heads", "use_pos_enc", "theta")

// blockInner reads the width of the feed-forward network as LFM2 says it: two thirds of a number,
// times another, up to a multiple of a third.
func blockInner(r *reader) {
	n := int64(r.Size("block_ff_dim", r.Size("intermediate_size", 12288)))
	multiple := int64(r.Size("block_multiple_of", 0))
	if times := r.Number("block_ffn_dim_multiplier", 0, 0x1p-16, 0x1p16); r.json.Yes("block_auto_adjust_ff_dim") {
		if n = 2 * n / 3; r.Has("block_ffn_dim_multiplier") {
			n = int64(times * float64(n))
			n = (n + multiple - 1) / multiple * multiple
		}
	}
	if n < 1 || n > int64(r.most) {
		r.Fail("intermediate_size", fmt.Sprintf("a network of the width %d", n), fmt.Sprintf("1 to %d", r.most))
	}
	r.dense.Inner = int(n)
}

// tiedEmbedding is tied for a class that also reads the key by another name.
func tiedEmbedding(r *reader) {
	if tied(r); r.Has("tie_embedding") {
		r.model.Logits.Tied = r.json.Yes("tie_embedding")
	}
}

// deltaNames are the tensor names of Qwen's gated delta nets.
var deltaNames = named(aheadNames("model.layers.%d."), arch.Names{
	"blk.%d.attn_qkv":   "model.layers.%d.linear_attn.in_proj_qkv",
	"blk.%d.attn_gate":  "model.layers.%d.linear_attn.in_proj_z",
	"blk.%d.ssm_beta":   "model.layers.%d.linear_attn.in_proj_b",
	"blk.%d.ssm_alpha":  "model.layers.%d.linear_attn.in_proj_a",
	"blk.%d.ssm_in":     "model.layers.%d.linear_attn.in_proj_qkvz",
	"blk.%d.ssm_ba":     "model.layers.%d.linear_attn.in_proj_ba",
	"blk.%d.ssm_conv1d": "model.layers.%d.linear_attn.conv1d",
	"blk.%d.ssm_norm":   "model.layers.%d.linear_attn.norm",
	"blk.%d.ssm_out":    "model.layers.%d.linear_attn.out_proj",

	"blk.%d.ssm_a":       "model.layers.%d.linear_attn.A_log",
	"blk.%d.ssm_dt.bias": "model.layers.%d.linear_attn.dt_bias",
})

var (
	qwenDeltaMissing = values{
		"rms_norm_eps": 1e-6, "rope_theta": 10000, "head_dim": 256, "partial_rotary_factor": 0.25, "full_attention_interval": 4,
		"linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
	}

	// Released files say what the class computes, and have layers that guess further tokens.
	unreadOfDeltas = strict.Table{"attn_output_gate": strict.Only("true")}.Add(strict.Any, "mamba_ssm_dtype", "mtp_num_hidden_layers", "mlp_only_layers")
)

var aheadOfQwen = [][2]string{{"layers.0."}, {"fc.", "eh_proj."}, {"pre_fc_norm_embedding.", "enorm."}, {"pre_fc_norm_hidden.", "hnorm."}, {"norm.", "shared_head.norm."}, {"embed_tokens.", "embed_tokens."}}

func init() { Decoders.rows = append(Decoders.rows, deltas...) }

// deltas are the families with gated delta nets.
var deltas = []family{
	{
		Family: arch.Family{Types: []string{"qwen3_5_text"}, Classes: []string{"Qwen3_5"}, GGUF: "qwen35", Names: named(llamaNames, deltaNames), Ahead: aheadOfQwen, Ignored: []string{"mtp."}},
		draft:  deltaBlock(), folder: slices.Concat(decoderKeys, []group{silu, rotaryOfSections, attentionBias, deltaNets(false)}), file: slices.Concat(fileDeltaKeys, []group{inner, noExperts, fileDeltas}),
		missing:  qwenDeltaMissing.with(values{"num_key_value_heads": 4}),
		nested:   values{"hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 32, "num_attention_heads": 16, "max_position_embeddings": 32768},
		harmless: unreadOfDeltas,
	},
	{
		Family: arch.Family{Types: []string{"qwen3_5_moe_text"}, Classes: []string{"Qwen3_5Moe"}, GGUF: "qwen35moe", Names: named(named(qwenSharedNames, deltaNames), fusedExperts("model.layers.%d.mlp.experts")), Ahead: aheadOfQwen, Ignored: []string{"mtp."}},
		draft:  deltaBlock(), folder: slices.Concat(expertKeys, []group{silu, rotaryOfSections, attentionBias, sharedExpert, shares, deltaNets(false)}), file: slices.Concat(fileDeltaKeys, []group{experts, fileShares(true), sharedExpert, fileDeltas}),
		missing:  qwenDeltaMissing.with(values{"num_key_value_heads": 2, "num_experts_per_tok": 8, "shared_expert_intermediate_size": 512}),
		nested:   values{"hidden_size": 2048, "moe_intermediate_size": 512, "num_hidden_layers": 40, "num_attention_heads": 16, "max_position_embeddings": 32768, "num_experts": 256},
		harmless: unreadOfDeltas,
	},
	{
		Family: arch.Family{Types: []string{"qwen3_next"}, Classes: []string{"Qwen3Next"}, GGUF: "qwen3next", Names: named(qwenSharedNames, deltaNames), Ahead: aheadOfQwen, Ignored: []string{"mtp."}},
		draft:  deltaBlock(), folder: slices.Concat(expertKeys, []group{silu, rotaryOfSections, attentionBias, sharedExpert, deltaNets(true)}), file: slices.Concat(fileDeltaKeys, []group{experts, fileShares(true), sharedExpert, fileDeltas}),
		missing:  qwenDeltaMissing.with(values{"num_key_value_heads": 2, "num_experts_per_tok": 10, "shared_expert_intermediate_size": 512, "norm_topk_prob": true}),
		nested:   values{"hidden_size": 2048, "moe_intermediate_size": 512, "num_hidden_layers": 48, "num_attention_heads": 16, "max_position_embeddings": 32768, "num_experts": 512},
		harmless: unreadOfDeltas,
	},
}

// deltaBlock is the block of Qwen3-Next.
func deltaBlock() draft {
	d := headNorms(gatedBlock(activations.SiLU))
	d.attention.Gated, d.norm.LessOne = true, true
	return d
}

// rotaryOfSections is rotaryOfPart for classes whose pairs of a head stand for several coordinates
// of a position, which are the same in texts.
func rotaryOfSections(r *reader) {
	p := r.parameters()
	p.Has("mrope_section")
	p.Has("mrope_interleaved")
	r.turn(p, r.part(p))
	r.scaling(p, p.Size(original, r.model.Context), everyScaling)
	p.Unknown(strict.Parameters)
}

// deltaNets reads which layers have a gated delta net in place of attention, and its sizes.
func deltaNets(isGrouped bool) group {
	return func(r *reader) {
		d := &arch.Delta{
			Heads: r.Size("linear_num_value_heads", 0), KeyHeads: r.Size("linear_num_key_heads", 0), KeySize: r.Integer("linear_key_head_dim", 0, 1, mostHead),
			ValueSize: r.Integer("linear_value_head_dim", 0, 1, mostHead), Taps: r.Integer("linear_conv_kernel_dim", 0, 1, mostTaps), Grouped: isGrouped,
		}
		r.deltaFits(d, "linear_num_key_heads", "linear_num_value_heads")
		const words = "mtp_use_dedicated_embeddings"
		r.model.OwnWords = r.Has(words) && r.json.Yes(words)
		every := r.Integer("full_attention_interval", 0, 1, r.most)
		lacks, ok := r.lacking("linear_attention")
		for i := 0; i < len(lacks) && !ok; i++ {
			lacks[i] = (i+1)%every != 0
		}
		r.replace(lacks, d)
	}
}

// deltaFits checks the heads of a gated delta net.
func (r *reader) deltaFits(d *arch.Delta, keys, values string) {
	if d.Heads%d.KeyHeads != 0 || d.Heads > 1<<16 {
		r.Fail(keys, fmt.Sprint(d.KeyHeads), fmt.Sprintf("a divisor of the %d heads of values, at most %d", d.Heads, 1<<16))
	}
	r.stateFits(values, recurrent.Layer{Heads: d.Heads, KeyHeads: d.KeyHeads, KeySize: d.KeySize, ValueSize: d.ValueSize})
}

// fileDeltas reads which layers of a GGUF file have a gated delta net, and its sizes. Files of
// Qwen3.5 have heads of values in another order than folders.
func fileDeltas(r *reader) {
	d := &arch.Delta{
		Heads: r.Size("ssm.time_step_rank", 0), KeyHeads: r.Size("ssm.group_count", 0), KeySize: r.Integer("ssm.state_size", 0, 1, mostHead),
		Taps: r.Integer("ssm.conv_kernel", 0, 1, mostTaps), Grouped: r.row.GGUF == "qwen3next",
	}
	d.Apart = !d.Grouped && d.KeyHeads < d.Heads
	d.ValueSize = r.headOf(d.Heads)
	r.deltaFits(d, "ssm.group_count", "ssm.time_step_rank")
	r.Has("rope.dimension_sections") // coordinates of a position, which are the same in texts
	every := r.Integer("full_attention_interval", 4, 1, r.most)
	lacks := r.gguf.EachLayer("attention.recurrent_layers")
	for i := 0; i < r.count && len(lacks) < r.count; i++ {
		lacks = append(lacks, (i+1)%every != 0)
	}
	r.replace(lacks, d)
	r.moreOfFile()
}

// headOf returns the size of a head, all of which have inner values together, of a GGUF file.
func (r *reader) headOf(heads int) int {
	const key = "ssm.inner_size"
	inner := r.Integer(key, 0, 1, r.most)
	size := inner / heads
	if size*heads != inner || size > mostHead {
		r.Fail(key, fmt.Sprint(inner), fmt.Sprintf("a multiple of the %d heads of ssm.time_step_rank, at most %d for each", heads, mostHead))
	}
	return size
}

// mostHead is the most elements of a head of a delta net.
const mostHead = recurrent.MostSize

// lacking reads which layers are of a kind without attention, by its names, and tells whether the
// file says it.
func (r *reader) lacking(kinds ...string) (lacks []bool, ok bool) {
	const key = "layer_types"
	lacks = make([]bool, r.count)
	var names []string
	if !r.json.Read(key, "a list of strings", &names) {
		return lacks, false
	}
	if len(names) != r.count {
		r.Fail(key, fmt.Sprintf("%d layers", len(names)), fmt.Sprint(r.count))
		return lacks, true
	}
	for i, name := range names {
		if lacks[i] = slices.Contains(kinds, name); !lacks[i] && name != fullLayer && (name != "attention" || len(kinds) < 2) {
			r.Fail(key, quoted(name), fmt.Sprintf("%q or %q", kinds[0], fullLayer))
		}
	}
	return lacks, true
}

// replace gives some layers another mixer.
func (r *reader) replace(lacks []bool, by arch.Mixer) {
	r.mixer = func(layer int) arch.Mixer {
		if lacks[layer] {
			return by
		}
		return nil
	}
}

// convolutions reads which layers have a short convolution in place of attention.
func convolutions(r *reader) {
	const whole = "full_attn_idxs"
	var attend []int
	lacks, ok := r.lacking("conv")
	if r.Has(whole); !ok && r.json.Read(whole, "a list of integers", &attend) {
		for i := range lacks {
			lacks[i] = !slices.Contains(attend, i)
		}
	}
	bias := arch.Absent
	r.biases("conv_bias", &bias)
	r.replace(lacks, r.convolution(bias))
}

// fileConvolutions reads which layers of a GGUF file have a convolution.
func fileConvolutions(r *reader) { r.replace(r.fileHeads(), r.convolution(arch.AsFiles)) }

// fileHeads reads the heads of keys out of a GGUF file, and which layers have 0, as they have no
// attention.
func (r *reader) fileHeads() []bool {
	n, lacks := r.gguf.SizeOrNone("num_key_value_heads", r.attention.Heads)
	r.heads(n)
	fileValues(r)
	fileForward(r)
	return lacks
}

// fileValues checks that values are as long as keys.
func fileValues(r *reader) { r.same("attention.value_length", r.attention.Size) }

// fileForward refuses a GGUF file whose tokens see those after them.
func fileForward(r *reader) {
	if !r.gguf.Yes("attention.causal", true) {
		r.Fail("attention.causal", "false", "true: a layer with a state sees no tokens after its own")
	}
}

func (r *reader) convolution(bias arch.Bias) *arch.Convolution {
	return &arch.Convolution{Taps: r.Integer("conv_L_cache", 0, 1, mostTaps), Bias: bias}
}
