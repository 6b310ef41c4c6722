package settings

import (
	"fmt"
	"math"
	"slices"

	"github.com/attn-go/attn/models/internal/activations"
	"github.com/attn-go/attn/models/internal/arch"
)

// mostLayers is the largest number of layers.
const mostLayers = 1 << 16

// sizes reads those that all models have.
func sizes(r *reader) {
	r.count = r.Integer("num_hidden_layers", 0, 1, mostLayers)
	if r.gguf != nil {
		r.gguf.Layers(r.count) // before lists of a number for each
	}
	r.model.Width = r.Size("hidden_size", 0)
	r.attention.Heads = r.Size("num_attention_heads", 0)
	r.attention.KVHeads = r.attention.Heads
	r.attention.Size = max(1, r.model.Width/r.attention.Heads)
	r.model.Context = r.Size("max_position_embeddings", 0)
}

// inner reads the width of the feed-forward network.
func inner(r *reader) { r.dense.Inner = r.Size("intermediate_size", 0) }

// epsilon reads the epsilon of the norms.
func epsilon(key string, most float64) group {
	return func(r *reader) {
		if r.norm.Epsilon = r.Number(key, 0, 0, most); r.json != nil && !r.Has(key) {
			r.Fail(key, "none", fmt.Sprintf("a number from 0 to %g", most)) // also of null
		}
	}
}

var rmsEpsilon, layerEpsilon = epsilon("rms_norm_eps", 1), epsilon("layer_norm_eps", math.MaxFloat32)

// same refuses another size than the one that is computed with.
func (r *reader) same(key string, n int) {
	if got := r.Size(key, n); got != n {
		r.Fail(key, fmt.Sprint(got), fmt.Sprint(n)+"; others are not supported")
	}
}

// wholeHeads checks that heads have the width of the model together.
func wholeHeads(r *reader) {
	if r.model.Width%r.attention.Heads != 0 {
		r.Fail("num_attention_heads", fmt.Sprint(r.attention.Heads), fmt.Sprintf("a divisor of the width %d", r.model.Width))
	}
}

// grouped reads the heads of keys, and the size of a head.
func grouped(r *reader) { r.heads(r.Size("num_key_value_heads", r.attention.Heads)) }

// heads is grouped for a number of heads of keys.
func (r *reader) heads(keys int) {
	a := &r.attention
	a.KVHeads = keys
	a.Size = r.Size("head_dim", a.Size)
	switch {
	case a.Heads%a.KVHeads != 0:
		r.Fail("num_key_value_heads", fmt.Sprint(a.KVHeads), fmt.Sprintf("a divisor of the %d query heads", a.Heads))
	case !r.Has("head_dim"):
		wholeHeads(r)
	case r.beyond(a.Heads, a.Size):
		r.Fail("head_dim", fmt.Sprint(a.Size), fmt.Sprintf("at most %d for all %d heads together", r.most, a.Heads))
	}
}

// beyond tells whether a product is too large for a size. It may be too large for an int.
func (r *reader) beyond(n, times int) bool { return int64(n)*int64(times) > int64(r.most) }

// scaled multiplies embeddings by the root of the width.
func scaled(r *reader) { r.model.Embed.Scale = float32(math.Sqrt(float64(r.model.Width))) }

// softcaps reads the limits of scores and logits.
func softcaps(r *reader) {
	softcap(r, "attn_logit_softcapping", &r.attention.Softcap)
	softcap(r, "final_logit_softcapping", &r.model.Logits.Softcap)
}

func softcap(r *reader, key string, to *float32) {
	if r.json != nil || r.Has(key) {
		*to = float32(r.Optional(key, 0x1p-64, 0x1p64))
	}
}

// scalar reads what scores are divided by the root of.
func scalar(r *reader) {
	const key = "query_pre_attn_scalar"
	x := r.Number(key, 0, 0x1p-64, 0x1p64)
	if x == 0 {
		r.Fail(key, "none", "a number from 2^-64 to 2^64") // also of null
	}
	r.attention.Scale = rootInverse(x)
}

func rootInverse(x float64) float32 { return float32(1 / math.Sqrt(x)) }

// fileScale reads what scores are multiplied by out of a GGUF file.
func fileScale(r *reader) {
	r.attention.Scale = float32(r.Optional("attention.scale", 0x1p-64, 0x1p64))
}

// largest sets the scale of scores to 1/√(width/heads), in place of 1/√(head size), for the model
// with this many layers: the largest of its family. GGUF files do not say it.
func largest(layers int) group {
	return func(r *reader) {
		if r.attention.Scale == 0 && r.count == layers {
			r.attention.Scale = rootInverse(float64(r.model.Width / r.attention.Heads))
		}
	}
}

// only checks that the activation is the one that the class has.
func only(key string, names ...string) group {
	return func(r *reader) {
		if name := r.Text(key); r.Has(key) && !slices.Contains(names, name) {
			r.Fail(key, quoted(name), quoted(names[0]))
		}
	}
}

var (
	silu = only("hidden_act", "silu", "swish")
	gelu = only("hidden_activation", "gelu_pytorch_tanh", "gelu_new")
)

// activation reads which one it is.
func activation(key string) group {
	return func(r *reader) {
		var ok bool
		if r.dense.Activation, ok = activations.Hidden(r.Text(key)); !ok {
			r.Fail(key, quoted(r.Text(key)), activations.HiddenNames())
		}
	}
}

// attentionBias, mlpBias and the like read whether layers have biases: tensors that a class without
// them would not read are errors.
func attentionBias(r *reader) { r.biases("attention_bias", &r.attention.Bias, &r.attention.OutBias) }
func inputBias(r *reader)     { r.biases("attention_bias", &r.attention.Bias) }
func outputBias(r *reader)    { r.biases("attention_out_bias", &r.attention.OutBias) }
func mlpBias(r *reader)       { r.biases("mlp_bias", &r.dense.Bias, &r.dense.DownBias) }

func allBiases(r *reader) {
	r.biases("use_bias", &r.attention.Bias, &r.attention.OutBias, &r.dense.Bias, &r.dense.DownBias)
}

func (r *reader) biases(key string, of ...*arch.Bias) {
	if r.json.Yes(key) {
		for _, b := range of {
			*b = arch.Present
		}
	}
}

// tied reads whether the embedding is the output matrix.
func tied(r *reader) { r.model.Logits.Tied = r.json.Yes("tie_word_embeddings") }
