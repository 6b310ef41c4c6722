package settings

import (
	"fmt"

	"github.com/attn-go/attn/models/internal/arch"
)

// mostFactor bounds what numbers are multiplied by.
const mostFactor = 0x1p64

// factor reads what something is multiplied by. A missing key is an error.
func (r *reader) factor(key string) float32 {
	x := r.Number(key, 0, 1/mostFactor, mostFactor)
	if x == 0 {
		r.Fail(key, "none", "a number from 2^-64 to 2^64") // also of null
		return 1
	}
	return float32(x)
}

// multipliers reads Granite's multipliers.
func multipliers(r *reader) {
	r.model.Embed.Scale, r.layer.Share, r.attention.Scale = r.factor("embedding_multiplier"), r.factor("residual_multiplier"), r.factor("attention_multiplier")
	r.model.Logits.Scale = 1 / r.factor("logits_scaling")
}

// fileMultipliers reads them out of a GGUF file, in which rope.scaling.finetuned false means that
// nothing is rotated.
func fileMultipliers(r *reader) {
	optional := func(key string) float32 { return float32(r.Optional(key, 1/mostFactor, mostFactor)) }
	r.model.Embed.Scale, r.layer.Share = optional("embedding_scale"), optional("residual_scale")
	r.model.Logits.Scale = 1 / r.factor("logit_scale")
	if !r.gguf.Yes("rope.scaling.finetuned", true) {
		r.still = every(1)
	}
}

// logitScale reads what Cohere multiplies logits by.
func logitScale(r *reader) { r.model.Logits.Scale = r.factor("logit_scale") }

// stillPeriod says that every fourth layer of SmolLM 3 rotates nothing, which GGUF files do not
// say.
const stillPeriod = 4

func fileStill(r *reader) { r.still = every(stillPeriod) }

// stillLayers reads which layers of SmolLM 3 rotate nothing. They alone have a window, if any has
// one and the file does not say it otherwise.
func stillLayers(r *reader) {
	const key = "no_rope_layers"
	var turns []int
	r.still = every(r.Integer("no_rope_layer_interval", 0, 1, r.most))
	if r.json.Read(key, "a list of 0 and 1", &turns) {
		if len(turns) != r.count {
			r.Fail(key, fmt.Sprintf("%d layers", len(turns)), fmt.Sprint(r.count))
			return
		}
		r.still = func(layer int) bool { return turns[layer] == 0 }
	}
	still := r.still
	r.whole = func(layer int) bool { return !still(layer) }
}

// stillIfWhole says that layers that see all tokens rotate nothing, if others have a window.
func stillIfWhole(r *reader) {
	if r.window > 0 {
		r.still = r.whole
	}
}

// patternOfExaone reads which layers of EXAONE 4 see all tokens, if layer_types does not say it. It
// is a text in some published models, which counts nothing beside layer_types.
func patternOfExaone(r *reader) {
	const key = "sliding_window_pattern"
	switch {
	case r.Has("layer_types"):
		r.Has(key)
	case r.window == 0:
		r.Fail("layer_types", "none", "a list of strings, as there is no window")
	default:
		r.json.Default(values{key: r.row.Period})
		r.whole = every(r.Integer(key, 0, 1, r.most))
	}
}

// patternOfCohere reads which layers of Command have a window.
func patternOfCohere(r *reader) { r.whole = every(r.Integer("sliding_window_pattern", 0, 1, r.most)) }

// someLayers refuses models in which no layer has a window.
func someLayers(r *reader) {
	if r.window == 0 {
		r.Fail("sliding_window", "none", "a number of tokens; others are not supported")
	}
}

// headOfWidth refuses heads of other sizes than the class has, which has no key for them.
func headOfWidth(r *reader) {
	if r.Has("head_dim") && r.attention.Size*r.attention.Heads != r.model.Width {
		r.Fail("head_dim", fmt.Sprint(r.attention.Size), "the width divided by the heads")
	}
}

// headLayerNorms reads whether heads of queries and keys of Phi have a norm.
func headLayerNorms(r *reader) {
	if r.json.Yes("qk_layernorm") {
		r.attention.HeadNorm = &arch.HeadNorm{Norm: arch.Norm{Bias: true}}
	}
}

// ownHeadNorms reads whether each head of StableLM has one, without a bias.
func ownHeadNorms(r *reader) {
	if r.json.Yes("qk_layernorm") {
		r.attention.HeadNorm = &arch.HeadNorm{Of: arch.OwnHead}
	}
}

func fileOwnHeadNorms(r *reader) {
	if _, ok := r.tensors.Tensor("blk.0.attn_q_norm.weight"); ok {
		r.attention.HeadNorm = &arch.HeadNorm{Of: arch.OwnHead}
	}
}

// channels checks another name of the size of a head.
func channels(r *reader) { r.same("kv_channels", r.attention.Size) }

// besideFeed reads whether attention stands beside the feed-forward network.
func besideFeed(r *reader) {
	if r.json.Yes("use_parallel_residual") {
		r.layer.Order = arch.Parallel
	}
}

// fileBeside finds it out of a GGUF file as llama.cpp does: by whether there is a second norm. The
// key may be true beside one, for models whose config.json leaves it out.
func fileBeside(r *reader) {
	const key = "use_parallel_residual"
	if _, ok := r.tensors.Tensor("blk.0.ffn_norm.weight"); ok {
		r.gguf.Yes(key, true)
		return
	}
	if r.layer.Order = arch.Parallel; !r.gguf.Yes(key, true) {
		r.Fail(key, "false", "true, as there is no blk.0.ffn_norm.weight")
	}
}

func queryBias(r *reader) { r.biases("use_qkv_bias", &r.attention.Bias) }

// fileHeadBias says that the output matrix may have biases.
func fileHeadBias(r *reader) { r.model.Logits.Bias = arch.AsFiles }

// untied refuses an output matrix with biases that is the embedding.
func untied(r *reader) { r.json.Only("tie_word_embeddings", false) }

// geluOfGemma checks the activation of Gemma 1. The class takes the "gelu" of Google's first files
// for the approximation by tanh, with which the models were trained, so that all of these names
// stand for one function.
var geluOfGemma = only("hidden_act", "gelu_pytorch_tanh", "gelu_new", "gelu")
