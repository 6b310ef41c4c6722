package settings

import (
	"fmt"
	"math"
	"slices"

	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/strict"
)

func init() { Decoders.rows = append(Decoders.rows, gemma3n) }

// gemma3n has several states for each token, of which layers read one.
var gemma3n = family{
	Family: arch.Family{Types: []string{"gemma3n_text"}, Classes: []string{"Gemma3n", "Gemma3nText"}, GGUF: "gemma3n", Period: 5, Names: gemma3nNames},
	draft:  gemma3nBlock(),
	folder: decoder([]group{sizes, sameInner, rmsEpsilon, grouped, tied}, gelu, logitSoftcap, scaled, rotaries, window, layerTypes, attentionBias, streams, gemma3nLayers),
	file:   []group{sizes, inner, rmsEpsilon, grouped, logitSoftcap, scaled, fileRope, fileWindow, fileForward, someWindow, fileLocalRope, fileSame, noExperts, fileStreams, fileGemma3nLayers},
	missing: values{
		"rms_norm_eps": 1e-6, "rope_theta": 1e6, "rope_local_base_freq": 10000, "num_key_value_heads": 2, "head_dim": 256, "sliding_window": 512, "final_logit_softcapping": 30, "tie_word_embeddings": true,
		"vocab_size_per_layer_input": 262144, "hidden_size_per_layer_input": 256, "altup_active_idx": 0, "altup_correct_scale": true, "altup_num_inputs": 4, "num_kv_shared_layers": 15, "laurel_rank": 64,
	},
	nested:   values{"hidden_size": 2048, "intermediate_size": 16384, "num_hidden_layers": 35, "num_attention_heads": 8, "max_position_embeddings": 32768},
	harmless: strict.Table{"altup_coef_clip": strict.Any}, // of training
}

var gemma3nNames = named(gemma4Names, arch.Names{
	"altup_proj.%d":                     "model.altup_projections.%d",
	"altup_unembd_proj.%d":              "model.altup_unembed_projections.%d",
	"blk.%d.altup_router":               "model.layers.%d.altup.modality_router",
	"blk.%d.altup_router_norm":          "model.layers.%d.altup.router_norm",
	"blk.%d.altup_predict_coef":         "model.layers.%d.altup.prediction_coefs",
	"blk.%d.altup_correct_coef":         "model.layers.%d.altup.correction_coefs",
	"blk.%d.altup_correct_scale.weight": "model.layers.%d.altup.correct_output_scale",
	"blk.%d.laurel_l":                   "model.layers.%d.laurel.linear_left",
	"blk.%d.laurel_r":                   "model.layers.%d.laurel.linear_right",
	"blk.%d.laurel_post_norm":           "model.layers.%d.laurel.post_laurel_norm",
})

// gemma3nBlock is the block of Gemma 3n.
func gemma3nBlock() draft {
	d := gemma4Block()
	d.layer.Scaled = false
	return d
}

// sameInner is inner for a class that may have a width for each layer. Others than the first one
// are not supported.
func sameInner(r *reader) {
	const key = "intermediate_size"
	var widths []int
	if r.json.Given(key) && len(r.json.Raw(key)) > 0 && r.json.Raw(key)[0] == '[' {
		r.json.Read(key, "an integer, or a list of integers", &widths)
		if len(widths) != r.count || slices.Min(widths) != slices.Max(widths) || widths[0] < 1 || widths[0] > r.most {
			r.Fail(key, strict.Abbreviated(r.json.Raw(key)), fmt.Sprintf("the same number from 1 to %d for each of the %d layers; others are not supported", r.most, r.count))
			return
		}
		r.dense.Inner = widths[0]
		return
	}
	inner(r)
}

// mostStreams is the most states of a token.
const mostStreams = 16

// streams reads how many states a token has.
func streams(r *reader) {
	r.json.Only("altup_active_idx", 0)
	r.json.Only("altup_correct_scale", true)
	r.states("altup_num_inputs")
	r.model.Embed.Known = r.Size("vocab_size_per_layer_input", 0)
	r.layer.Laurel = r.Size("laurel_rank", 0)
}

func (r *reader) states(key string) {
	r.model.Streams = r.Integer(key, 0, 2, mostStreams)
	if n := r.Size("hidden_size_per_layer_input", 0); r.beyond(n, r.count) {
		r.Fail("hidden_size_per_layer_input", fmt.Sprint(n), fmt.Sprintf("at most %d for all layers", r.most))
	}
}

// fileStreams reads a GGUF file, whose tensors say the rank.
func fileStreams(r *reader) {
	if n := r.optional("altup.active_idx", 0, r.most); n != 0 {
		r.Fail("altup.active_idx", fmt.Sprint(n), "0; others are not supported")
	}
	r.states("altup.num_inputs")
	r.layer.Laurel = 1
	if t, ok := r.tensors.Tensor("blk.0.laurel_l.weight"); ok && len(t.Shape) == 2 {
		r.layer.Laurel = t.Shape[0]
	}
}

// gemma3nLayers reads which layers have the keys and values of others, and which keep few gates: a
// normal distribution gives the share that is dropped.
func gemma3nLayers(r *reader) {
	const key, want = "activation_sparsity_pattern", "a list with a number from 0 to 0.9999 for each layer"
	var parts []float64
	if !r.json.Read(key, want, &parts) && r.count > 10 {
		parts = slices.Repeat([]float64{0.95}, 10)
		parts = append(parts, make([]float64, r.count-10)...)
	} else if parts == nil {
		parts = make([]float64, r.count)
	}
	if len(parts) != r.count || slices.Min(parts) < 0 || !(slices.Max(parts) <= 0.9999) {
		r.Fail(key, strict.Abbreviated(r.json.Raw(key)), want)
		return
	}
	beyond := make([]*float32, r.count)
	for i, part := range parts {
		if part > 0 {
			x := float32(quantile(float64(float32(part))))
			beyond[i] = &x
		}
	}
	r.gemma3nLayers(r.Integer("num_kv_shared_layers", 0, 0, r.count), beyond)
}

// fileGemma3nLayers reads a GGUF file, which has the quantiles: -Inf is the quantile of 0.
func fileGemma3nLayers(r *reader) {
	const key = "activation_sparsity_scale"
	all, err := r.tensors.Floats(r.gguf.Key(key))
	if err != nil || len(all) != r.count {
		r.Fail(key, "none, or another number of them", fmt.Sprintf("a list of a number for each of the %d layers", r.count))
		return
	}
	beyond := make([]*float32, r.count)
	for i, x := range all {
		y := float32(x)
		switch {
		case math.Abs(x) <= 8:
			beyond[i] = &y
		case !math.IsInf(x, -1):
			r.Fail(key, fmt.Sprint(x), "numbers from -8 to 8, or -Inf")
		}
	}
	r.gemma3nLayers(r.optional("num_kv_shared_layers", 0, r.count), beyond)
}

func (r *reader) gemma3nLayers(shared int, beyond []*float32) {
	r.sharing(shared, r.dense.Inner)
	kinds, share := map[float32]*arch.Dense{}, r.each
	r.each = func(i int, l *arch.Layer) {
		share(i, l)
		if x := beyond[i]; x != nil {
			if kinds[*x] == nil {
				d := r.dense
				d.Beyond = x
				kinds[*x] = &d
			}
			l.Feed = kinds[*x]
		}
	}
}

// quantile returns x with Φ(x) = p, for p from 0.0001 to 0.9999, by halves of an interval. Φ(x) -
// 1/2 is φ(0)·Σ (-1)^n x^(2n+1)/(2^n n! (2n+1)), whose operations have the same bits everywhere.
func quantile(p float64) float64 {
	low, high := -4.0, 4.0
	for range 60 {
		x := (low + high) / 2
		term, sum := x, 0.0
		for n := 0; n < 80; n++ {
			sum += term / float64(2*n+1)
			term = -float64(float64(term*float64(x*x)) / float64(2*n+2))
		}
		if sum < float64((p-0.5)*math.Sqrt(2*math.Pi)) {
			low = x
		} else {
			high = x
		}
	}
	return (low + high) / 2
}
