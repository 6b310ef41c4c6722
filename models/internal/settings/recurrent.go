package settings

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/strict"
)

// mostTaps is the most inputs of a convolution.
const mostTaps = 1 << 10

var fileConvolutionKeys = []group{sizes, inner, rmsEpsilon, fileConvolutions, fileBiases, fileRope, noExperts}

// lfmNames are those of LFM2.
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

// blockInner reads the width of the feed-forward network as LFM2 says it: two thirds of a number, times another, up to a
// multiple of a third.
func blockInner(r *reader) {
	n := r.Size("block_ff_dim", r.Size("intermediate_size", 12288))
	multiple := r.Size("block_multiple_of", 0)
	if times := r.Number("block_ffn_dim_multiplier", 0, 0x1p-16, 0x1p16); r.json.Yes("block_auto_adjust_ff_dim") {
		if n = 2 * n / 3; r.Has("block_ffn_dim_multiplier") {
			n = int(times * float64(n))
			n = (n + multiple - 1) / multiple * multiple
		}
	}
	if n < 1 || n > r.most {
		r.Fail("intermediate_size", fmt.Sprintf("a network of the width %d", n), fmt.Sprintf("1 to %d", r.most))
	}
	r.dense.Inner = n
}

// tiedEmbedding is tied for a class that also reads the key by another name.
func tiedEmbedding(r *reader) {
	if tied(r); r.Has("tie_embedding") {
		r.model.Logits.Tied = r.json.Yes("tie_embedding")
	}
}

// convolutions reads which layers have a short convolution in place of attention.
func convolutions(r *reader) {
	const kinds, whole = "layer_types", "full_attn_idxs"
	lacks := make([]bool, r.count)
	var names []string
	var attend []int
	if r.json.Read(kinds, "a list of strings", &names) {
		if len(names) != r.count {
			r.Fail(kinds, fmt.Sprintf("%d layers", len(names)), fmt.Sprint(r.count))
			return
		}
		for i, name := range names {
			if lacks[i] = name == "conv"; !lacks[i] && name != fullLayer {
				r.Fail(kinds, quoted(name), fmt.Sprintf("%q or %q", "conv", fullLayer))
			}
		}
		r.Has(whole) // which then does not count
	} else if r.json.Read(whole, "a list of integers", &attend) {
		for i := range lacks {
			lacks[i] = !slices.Contains(attend, i)
		}
	}
	bias := arch.Absent
	r.biases("conv_bias", &bias)
	r.convolve(kinds, lacks, bias)
}

// fileConvolutions reads the heads of keys, of which layers with a convolution have 0, out of a GGUF file.
func fileConvolutions(r *reader) {
	const key = "num_key_value_heads"
	n, lacks := r.gguf.SizeOrNone(key, r.attention.Heads)
	r.heads(n)
	r.same("attention.value_length", r.attention.Size)
	if !r.gguf.Yes("attention.causal", true) {
		r.Fail("attention.causal", "false", "true: a convolution sees no tokens after its own")
	}
	r.convolve(key, lacks, arch.AsFiles)
}

// convolve gives some layers a convolution. key says which ones.
func (r *reader) convolve(key string, lacks []bool, bias arch.Bias) {
	f := &arch.Convolution{Taps: r.Integer("conv_L_cache", 0, 1, mostTaps), Bias: bias}
	if !slices.Contains(lacks, false) {
		r.Fail(key, "no layer with attention", "at least one")
	}
	r.mixer = func(layer int) arch.Mixer {
		if lacks[layer] {
			return f
		}
		return nil
	}
}
