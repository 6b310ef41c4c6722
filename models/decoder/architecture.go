package decoder

import (
	"slices"
	"strings"

	"github.com/attn-go/attn/activation"
	"github.com/attn-go/attn/kernel"
)

// An architecture is what all models of a kind have in common. Sizes and constants are those of a
// [Config].
type architecture struct {
	name   string   // general.architecture of GGUF files
	folder []string // model_type of config.json
	class  []string // how names of classes in its architectures begin

	interleaved     bool // GGUF files have queries and keys whose neighbours rotate together
	headNorms       bool // every head of queries and keys is normalised before it is rotated
	postNorms       bool // outputs of attention and of the feed-forward network are normalised, too
	lessOne         bool // folders have the weights of norms less 1
	scaledEmbedding bool // by the root of the width
	experts         bool // feed-forward networks are mixtures of experts
	bidirectional   bool // tokens see those after them, in GGUF files of the architecture
	eitherWay       bool // or if use_bidirectional_attention of config.json says so
	gate            func(dst, gate, up []float32, exec kernel.Exec) error

	// Every period-th layer, counted from 1, sees all keys if the model has a window; 0 means none
	// does. Files may say it otherwise.
	period    int
	localBase float64 // of the rotations of layers with a window, if it is another one

	windowIfSaid bool // folders have a window only if use_sliding_window says so

	// scoreLayers is the number of layers of the model of the kind whose scores are divided by the
	// root of width/heads in place of that of the head size. GGUF files do not say it.
	scoreLayers int

	names map[string]string // of tensors in folders, where they differ from folderNames
}

// architectures are those that can be computed.
var architectures = []architecture{
	{name: "llama", folder: []string{"llama", "mistral"}, class: []string{"Llama", "LLaMA", "Mistral"}, interleaved: true, gate: activation.SwiGLU},
	{name: "qwen2", folder: []string{"qwen2"}, windowIfSaid: true, class: []string{"Qwen2"}, gate: activation.SwiGLU},
	{name: "qwen3", folder: []string{"qwen3"}, windowIfSaid: true, class: []string{"Qwen3"}, headNorms: true, gate: activation.SwiGLU},
	{name: "qwen3moe", folder: []string{"qwen3_moe"}, windowIfSaid: true, class: []string{"Qwen3Moe"}, headNorms: true, experts: true, gate: activation.SwiGLU},
	{name: "phi3", folder: []string{"phi3"}, class: []string{"Phi3"}, gate: activation.SwiGLU},
	{
		name: "gemma2", folder: []string{"gemma2"}, class: []string{"Gemma2"}, postNorms: true, lessOne: true, scaledEmbedding: true, gate: activation.GeGLUTanh,
		period: 2, scoreLayers: 46, names: gemmaNames,
	},
	{
		name: "gemma3", folder: []string{"gemma3_text"}, class: []string{"Gemma3", "Gemma3Text"}, eitherWay: true, headNorms: true, postNorms: true, lessOne: true, scaledEmbedding: true, gate: activation.GeGLUTanh,
		period: 6, localBase: 10000, scoreLayers: 62, names: gemmaNames,
	},
	{
		name: "gemma-embedding", headNorms: true, postNorms: true, lessOne: true, scaledEmbedding: true, bidirectional: true, gate: activation.GeGLUTanh,
		period: 6, localBase: 10000, names: gemmaNames,
	},
}

// folderNames are the names in folders of what GGUF files call otherwise, with the number of the
// layer as %d. An expert has another number, %e.
var folderNames = map[string]string{
	"token_embd":         "model.embed_tokens",
	"output_norm":        "model.norm",
	"output":             "lm_head",
	classifierName:       "score",
	"blk.%d.attn_norm":   "model.layers.%d.input_layernorm",
	"blk.%d.attn_q":      "model.layers.%d.self_attn.q_proj",
	"blk.%d.attn_k":      "model.layers.%d.self_attn.k_proj",
	"blk.%d.attn_v":      "model.layers.%d.self_attn.v_proj",
	"blk.%d.attn_qkv":    "model.layers.%d.self_attn.qkv_proj",
	"blk.%d.attn_output": "model.layers.%d.self_attn.o_proj",
	"blk.%d.attn_q_norm": "model.layers.%d.self_attn.q_norm",
	"blk.%d.attn_k_norm": "model.layers.%d.self_attn.k_norm",
	"blk.%d.ffn_norm":    "model.layers.%d.post_attention_layernorm",
	"blk.%d.ffn_gate":    "model.layers.%d.mlp.gate_proj",
	"blk.%d.ffn_up":      "model.layers.%d.mlp.up_proj",
	"blk.%d.ffn_gate_up": "model.layers.%d.mlp.gate_up_proj",
	"blk.%d.ffn_down":    "model.layers.%d.mlp.down_proj",

	"blk.%d.ffn_gate_inp": "model.layers.%d.mlp.gate",
	"blk.%d.ffn_gate.%e":  "model.layers.%d.mlp.experts.%e.gate_proj",
	"blk.%d.ffn_up.%e":    "model.layers.%d.mlp.experts.%e.up_proj",
	"blk.%d.ffn_down.%e":  "model.layers.%d.mlp.experts.%e.down_proj",
}

// gemmaNames are those of models that normalise outputs, too.
var gemmaNames = map[string]string{
	"blk.%d.post_attention_norm": "model.layers.%d.post_attention_layernorm",
	"blk.%d.ffn_norm":            "model.layers.%d.pre_feedforward_layernorm",
	"blk.%d.post_ffw_norm":       "model.layers.%d.post_feedforward_layernorm",
}

// architectureOf returns the architecture that one of the names means, nil if there is none.
func architectureOf(names func(*architecture) []string, name string) *architecture {
	i := slices.IndexFunc(architectures, func(a architecture) bool { return slices.Contains(names(&a), name) })
	if i < 0 {
		return nil
	}
	return &architectures[i]
}

func nameInFiles(a *architecture) []string   { return []string{a.name} }
func nameInFolders(a *architecture) []string { return a.folder }

// known lists all names.
func known(names func(*architecture) []string) string {
	var all []string
	for i := range architectures {
		all = append(all, names(&architectures[i])...)
	}
	return strings.Join(all, ", ")
}

// windows returns the window of each layer: layer i sees all keys if whole(i).
func windows(layers, window int, whole func(i int) bool) []int {
	if window == 0 {
		return nil
	}
	all := make([]int, layers)
	for i := range all {
		if !whole(i) {
			all[i] = window
		}
	}
	return all
}

// whole tells whether a layer sees all keys where the model does not say it.
func (a *architecture) whole(layer int) bool { return a.period > 0 && (layer+1)%a.period == 0 }

// Architectures lists what [Load] and [LoadEmbedder] take: model_type of a config.json and
// general.architecture of a GGUF file.
func Architectures() (folders, files []string) {
	for i := range architectures {
		folders = append(folders, architectures[i].folder...)
		files = append(files, architectures[i].name)
	}
	slices.Sort(folders)
	slices.Sort(files)
	return folders, files
}
