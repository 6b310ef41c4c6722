package settings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/folder"
	"github.com/attn-go/attn/models/internal/ggufwriter"
	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
	"github.com/attn-go/attn/models/internal/strict"
)

// A class is what the transformers library says of a model_type; see classes.py beside the file.
type class struct {
	Defaults   map[string]any
	Theta      any
	Attributes map[string]string
	Reads      []string
}

func readTest[T any](t *testing.T, name string) (all map[string]T) {
	t.Helper()
	if err := folder.ReadJSON(filepath.Join("../../testdata", name), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// read reads a config.json with one key in place of another.
func read(f *Families, config map[string]json.RawMessage, key string, value json.RawMessage) (*arch.Model, error) {
	changed, err := maps.Clone(config), error(nil)
	if key != "" {
		changed[key] = value
	}
	return f.read(strict.NewJSON(changed, &err, func(key, got, want string) error {
		return &kernel.Error{Where: "config.json: " + key, Got: got, Want: want}
	}))
}

var both = []*Families{Decoders, Encoders}

// TestMissing: what a row has for keys that a file leaves out is what the class has.
func TestMissing(t *testing.T) {
	classes := readTest[class](t, "classes.json")
	bases := map[string]string{"rope_theta": "global", "global_rope_theta": "global", "rope_local_base_freq": "local", "local_rope_theta": "local"}
	for _, f := range both {
		for i := range f.rows {
			row := &f.rows[i]
			for _, kind := range row.Types {
				c, ok := classes[kind]
				if !ok {
					continue
				}
				for key, value := range row.missing.with(row.nested) {
					want, ok := c.Defaults[key]
					if r := row.renamed; !ok && r != nil && r.have == "" {
						want, ok = c.Defaults[r.names[key]]
					}
					if base, is := bases[key]; is {
						want = c.Theta
						if each, ok := want.(map[string]any); ok {
							want = each[base]
						}
					} else if !ok {
						continue // of getattr in the code of the class
					}
					if !bytes.Equal(raw(t, value), raw(t, want)) {
						t.Errorf("%s: %s is %v, and %v in the class", kind, key, value, want)
					}
				}
			}
		}
	}
}

func raw(t *testing.T, x any) json.RawMessage {
	data, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// others are values that a key may have in place of one.
func others(value any) []any {
	switch x := value.(type) {
	case bool:
		return []any{!x, x}
	case float64:
		return []any{x, x / 2, x * 2, x + 1, 3.0, 1.0, 0.0}
	case string:
		return []any{x, "relu", "mean", "absolute"}
	case nil:
		return []any{2.0, 0.5, 7.0, true, false, "mean", []any{"full_attention", "sliding_attention"}, []any{0.0}}
	}
	return []any{value}
}

// TestSilence: whatever value a key of any family has in a config.json of another one, it is
// refused, or the class of transformers reads it too, or a table says that it changes nothing. A
// key that the class reads changes the model or is refused.
func TestSilence(t *testing.T) {
	classes, configs := readTest[class](t, "classes.json"), readTest[map[string]any](t, "configs.json")
	values := map[string][]any{
		"rope_scaling": {map[string]any{"type": "linear", "factor": 2.0}}, "rope_parameters": {map[string]any{"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0}},
		"partial_rotary_factor": {0.25},
		"layer_types":           {[]any{slidingLayer, fullLayer, fullLayer, slidingLayer, slidingLayer, slidingLayer}},
	}
	add := func(key string, more []any) {
		for _, value := range more {
			if !slices.ContainsFunc(values[key], func(x any) bool { return reflect.DeepEqual(x, value) }) {
				values[key] = append(values[key], value)
			}
		}
	}
	for _, c := range classes {
		for key, value := range c.Defaults {
			add(key, others(value))
		}
		for _, key := range c.Reads {
			add(key, others(nil))
		}
	}
	for _, f := range both {
		for _, kind := range slices.Concat(typesOf(f)...) {
			if config := configs[kind]; config != nil { // which transformers has
				c := classes[kind]
				for _, key := range []string{"rope_parameters", "layer_types", "mlp_layer_types", "no_rope_layers", "per_layer_config"} { // beside which others count nothing
					delete(config, key)
				}
				config["num_hidden_layers"] = 6.0
				if kind == "granitemoehybrid" { // without them it has no attention
					config["layer_types"] = []any{"mamba", fullLayer, "mamba", "mamba", "mamba", "mamba"}
				}
				if kind == "gemma3n_text" { // the last 15 layers have keys of others, and lists a number for each
					config["num_hidden_layers"], config["intermediate_size"] = 20.0, 16384.0
					delete(config, "activation_sparsity_pattern")
				}
				for _, other := range []string{"n_layers", "num_layers"} {
					if config[other] != nil {
						delete(config, "num_hidden_layers")
					}
				}
				if _, ok := config["use_sliding_window"]; ok {
					maps.Copy(config, map[string]any{"use_sliding_window": true, "sliding_window": 100.0, "max_window_layers": 1.0})
				}
				checkSilence(t, f, kind, &c, config, values)
			}
		}
	}
}

// ofNull are keys whose null is a value of its own for classes, and no error.
var ofNull = map[string]string{
	"num_key_value_heads": "as many as of queries", "head_dim": "the width divided by the heads", "sliding_window": "none",
	"attn_logit_softcapping": "none", "final_logit_softcapping": "none", "local_rope_theta": "that of the other layers",
	"hidden_size_per_layer_input": "none", "num_global_key_value_heads": "those of the other layers",
	"block_auto_adjust_ff_dim": "false",
	"mamba_conv_bias":          "false",
	"mamba_d_ssm":              "mamba_expand·hidden_size",
	"attention_bias":           "false", "tie_word_embeddings": "false", "use_bias": "false", "pack_qkv": "false", "qkv_bias": "false", "rope_interleave": "false", "q_lora_rank": "one matrix of queries", "norm_topk_prob": "false", "position_biased_input": "false",
}

// TestNull: null in place of a number or a name that the class has is refused, or means the default
// of the class.
func TestNull(t *testing.T) {
	configs, null := readTest[map[string]any](t, "configs.json"), json.RawMessage("null")
	configs["new"] = maps.Clone(configs["bert"])
	configs["new"]["model_type"] = "new"
	delete(configs["new"], "position_embedding_type")
	for _, f := range both {
		for i := range f.rows {
			row := &f.rows[i]
			for _, kind := range row.Types {
				keys := map[string]json.RawMessage{}
				for key, value := range configs[kind] {
					if key != "rope_parameters" && (key != "layer_types" || kind == "granitemoehybrid") { // beside which others count nothing
						keys[key] = raw(t, value)
					}
				}
				for key := range row.missing {
					name := key
					if n := row.renamed; n != nil && n.names[key] != "" && (n.have == "" || keys[n.have] != nil) {
						name = n.names[key]
					}
					delete(keys, name)
					want, err := read(f, keys, "", nil)
					if err != nil {
						t.Fatalf("%s without %s: %v", kind, name, err)
					}
					if got, err := read(f, keys, name, null); err == nil && !alike(got, want) && ofNull[key] == "" {
						t.Errorf("%s: null for %s is another model than none, and no error", kind, name)
					}
				}
			}
		}
	}
}

// nameless stands for a key without a name.
const nameless = "(no name)"

// TestTurns: bases of rotations are there, and sizes of heads are pairs, whichever object has them
// and however positions are scaled. Keys that repeat others say the same.
func TestTurns(t *testing.T) {
	for _, x := range []struct {
		kind, changes, key string
	}{
		{"llama", `{"rope_theta": null}`, "rope_theta"},
		{"llama", `{"rope_theta": null, "rope_scaling": {"rope_type": "llama3", "factor": 8}}`, "rope_theta"},
		{"llama", `{"rope_theta": null, "rope_scaling": {"rope_type": "yarn", "factor": 8}}`, "rope_theta"},
		{"llama", `{"rope_theta": null, "rope_parameters": {"rope_theta": 5}}`, ""},
		{"llama", `{"rope_theta": 5, "rope_parameters": {"rope_theta": null}}`, "rope_parameters.rope_theta"},
		{"gemma3_text", `{"rope_local_base_freq": null}`, "rope_local_base_freq"},
		{"gemma3_text", `{"": {"rope_theta": 7}}`, nameless},
		{"gemma3_text", `{"attn_logit_softcapping": 50}`, "attn_logit_softcapping"}, // which the class keeps and does not compute
		{"gemma3_text", `{"attn_logit_softcapping": null, "final_logit_softcapping": 30}`, ""},
		{"gemma3_text", `{"rope_scaling": {"type": "linear", "factor": 8}}`, "rope_scaling.type"},
		{"gemma3_text", `{"rope_scaling": {"type": "linear", "rope_type": "linear", "factor": 8}}`, ""},
		{"gemma3_text", `{"rope_parameters": {"full_attention": {"type": "linear", "factor": 8}}}`, ""},
		{"olmo3", `{"rope_theta": 500000, "rope_scaling": {"rope_type": "linear", "factor": 2, "rope_theta": 500000}}`, ""},
		{"olmo3", `{"rope_theta": 10000, "rope_scaling": {"rope_type": "linear", "factor": 2, "rope_theta": 500000}}`, "rope_theta"},
		{"olmo3", `{"rope_scaling": {"rope_type": "linear", "factor": 2, "rope_theta": 10000}}`, "rope_scaling.rope_theta"},
		{"modernbert", `{"global_rope_theta": null}`, "global_rope_theta"},
		{"modernbert", `{"local_rope_theta": null}`, ""},
		{"nomic_bert", `{"rope_theta": null}`, "rope_theta"},
		{"new", `{"rope_theta": null}`, "rope_theta"},
		{"llama", `{"head_dim": 15}`, "head_dim"},
		{"llama", `{"head_dim": 1}`, "head_dim"},
		{"llama", `{"head_dim": 65538}`, "head_dim"},
		{"llama", `{"head_dim": 65536}`, ""},
		{"llama", `{"hidden_size": 60}`, "num_attention_heads"},
		{"gemma3_text", `{"head_dim": 15}`, "head_dim"},
		{"modernbert", `{"hidden_size": 60}`, "num_attention_heads"},
		{"nomic_bert", `{"hidden_size": 60}`, "num_attention_heads"},
		{"new", `{"hidden_size": 60}`, "num_attention_heads"},
		{"bert", `{"hidden_size": 60}`, ""}, // of which nothing rotates
		{"phi3", `{"partial_rotary_factor": 0.1}`, "partial_rotary_factor"},
		{"phi3", `{"rope_parameters": {"partial_rotary_factor": 0.1}}`, "rope_parameters.partial_rotary_factor"},
		{"phi3", `{"partial_rotary_factor": 0.1, "rope_parameters": {"partial_rotary_factor": 0.5}}`, ""},
		{"distilbert", `{"max_position_embeddings": 1}`, "max_position_embeddings"},
		{"bert", `{"max_position_embeddings": 1}`, "max_position_embeddings"},
		{"mpnet", `{"max_position_embeddings": 8195}`, "max_position_embeddings"}, // 2 of which are not of texts
		{"mpnet", `{"max_position_embeddings": 8194}`, ""},
		// Products of these are 2^32, or a little more.
		{"llama", `{"num_attention_heads": 1048576, "head_dim": 4096}`, "head_dim"},
		{"lfm2", `{"num_key_value_heads": 4, "intermediate_size": 16777216, "block_ffn_dim_multiplier": 385}`, "intermediate_size"},
		{"glm4_moe", `{"num_key_value_heads": 4, "moe_intermediate_size": 4096, "n_routed_experts": 9, "n_shared_experts": 1048576}`, "n_shared_experts"},
		{"deepseek_v3", `{"num_attention_heads": 1048576, "num_key_value_heads": 1048576, "moe_intermediate_size": 9, "n_routed_experts": 16, "kv_lora_rank": 4032}`, "num_attention_heads"},
		{"gemma4_text", `{"num_attention_heads": 1048576, "head_dim": 2, "global_head_dim": 4096}`, "global_head_dim"},
		{"qwen3_5_text", `{"num_key_value_heads": 4, "linear_num_value_heads": 65536, "linear_num_key_heads": 1, "linear_key_head_dim": 256, "linear_value_head_dim": 256}`, "linear_num_value_heads"},
		{"nemotron", `{"num_key_value_heads": 4, "kv_channels": 16}`, ""},
		{"nemotron", `{"num_key_value_heads": 4, "kv_channels": 8}`, "kv_channels"},
		{"minimax_m2", `{"num_key_value_heads": 4, "attn_type_list": [1, 1, 1, 1, 1, 1]}`, ""},
		{"minimax_m2", `{"num_key_value_heads": 4, "attn_type_list": [1, 1, 1, 1, 1]}`, "attn_type_list"},
		{"minimax_m2", `{"num_key_value_heads": 4, "attn_type_list": [1, 1, 1, 1, 1, 0]}`, "attn_type_list"},
		{"glm4_moe_lite", `{"num_key_value_heads": 4, "moe_intermediate_size": 9, "n_routed_experts": 9, "first_k_dense_replace": 1}`, ""},
		{"glm4_moe_lite", `{"num_key_value_heads": 4, "moe_intermediate_size": 9, "n_routed_experts": 9, "first_k_dense_replace": 0}`, "first_k_dense_replace"},
		{"glm4_moe_lite", `{"num_key_value_heads": 4, "moe_intermediate_size": 9, "n_routed_experts": 9, "first_k_dense_replace": 2}`, "first_k_dense_replace"},
	} {
		sizes := `{"model_type": "` + x.kind + `", "vocab_size": 9, "max_position_embeddings": 64, "hidden_size": 64, "intermediate_size": 32, "num_attention_heads": 4, "num_hidden_layers": 6}`
		if x.kind == "distilbert" {
			sizes = `{"model_type": "distilbert", "vocab_size": 9, "dim": 64, "hidden_dim": 32, "n_heads": 4, "n_layers": 6}`
		}
		keys := map[string]json.RawMessage{}
		for _, text := range []string{sizes, x.changes} {
			if err := json.Unmarshal([]byte(text), &keys); err != nil {
				t.Fatal(err)
			}
		}
		f := Encoders
		if Decoders.OfType(x.kind) != nil {
			f = Decoders
		}
		_, err := read(f, keys, "", nil)
		var got string
		if bad, ok := errors.AsType[*kernel.Error](err); ok {
			got = cmp.Or(strings.TrimPrefix(bad.Where, "config.json: "), nameless)
		}
		if got != x.key {
			t.Errorf("%s %s: %v, want an error about %q", x.kind, x.changes, err, x.key)
		}
	}
	base := map[string]any{
		"block_count": uint32(2), "embedding_length": uint32(64), "feed_forward_length": uint32(32), "attention.head_count": uint32(4),
		"context_length": uint32(256), "attention.layer_norm_rms_epsilon": float32(1e-5), "attention.key_length": uint32(1 << 17),
	}
	for value, want := range map[uint32]string{15: "attention.key_length", 1: "attention.key_length", 1<<16 + 2: "attention.key_length", 1 << 16: ""} {
		_, err := readFile(t, "llama", base, "attention.key_length", value)
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("a GGUF file with heads of %d: %v", value, err)
		}
	}
	for value, ok := range map[uint32]bool{15: false, 1<<16 + 2: false, 1 << 16: true, 2: true} {
		if _, err := readFile(t, "llama", base, "rope.dimension_count", value); (err == nil) != ok {
			t.Errorf("a GGUF file with rotations of %d: %v", value, err)
		}
	}
}

func typesOf(f *Families) (all [][]string) {
	for i := range f.rows {
		all = append(all, f.rows[i].Types)
	}
	return all
}

// moot are keys that classes read and that change nothing of the models here, by family.
var moot = map[string]string{
	"qwen3_moe intermediate_size":            "all layers have experts",
	"qwen2_moe intermediate_size":            "likewise",
	"glm4_moe num_nextn_predict_layers":      "no result depends on those layers",
	"deepseek_v3 num_nextn_predict_layers":   "likewise",
	"deepseek_v3 num_mtp_layers":             "likewise",
	"lfm2_moe conv_L_cache":                  "without layer_types no layer has a convolution",
	"lfm2_moe conv_bias":                     "likewise",
	"glm4_moe_lite head_dim":                 "it repeats qk_rope_head_dim",
	"glm4_moe num_mtp_layers":                "likewise",
	"gemma3_text text_config":                "of the class around it",
	"gemma3_text vision_config":              "likewise",
	"gemma3_text image_token_id":             "likewise",
	"gemma hidden_act":                       "all names that it may have stand for one function",
	"ministral3 rope_theta":                  "without rope_parameters the class has some with a base",
	"qwen3_next intermediate_size":           "all layers have experts",
	"gemma4_text num_global_key_value_heads": "of models whose values are their keys",
	"gemma4_text use_double_wide_mlp":        "of layers with the keys of others",
	"granitemoehybrid mamba_d_head":          "auto is the number of the class",
	"falcon_h1 mamba_d_head":                 "likewise",
	"falcon_h1 mamba_expand":                 "beside mamba_d_ssm it counts nothing",
	"falcon_h1 mamba_norm_before_gate":       "there is no such norm without mamba_rms_norm",
	"nemotron_h attention_bias":              "its attention has no biases, whatever it says",
	"nemotron_h hybrid_override_pattern":     "beside layers_block_type it counts nothing",
	"nemotron_h mlp_hidden_act":              "relu and relu2 differ by a function, and functions are not compared",
	"nemotron_h mtp_layers_block_type":       "no result depends on those layers",
	"nemotron_h mtp_hybrid_override_pattern": "likewise",
	"nemotron_h num_nextn_predict_layers":    "likewise",
	"gte head_dim":                           "others than the width divided by the heads are refused",
	"jina_embeddings_v3 head_dim":            "likewise",
	"gemma4_text rope_theta":                 "without rope_parameters the class has some with bases",
}

func checkSilence(t *testing.T, f *Families, kind string, c *class, config map[string]any, values map[string][]any) {
	row := f.row(func(row *family) bool { return slices.Contains(row.Types, kind) })
	keys := map[string]json.RawMessage{}
	for key, value := range config {
		keys[key] = raw(t, value)
	}
	want, err := read(f, keys, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		reads, obeyed, ignored := c.reads(key), false, []any{}
		for _, value := range values[key] {
			got, err := read(f, keys, key, raw(t, value))
			switch {
			case err != nil:
			case !alike(got, want):
				obeyed = true
			case !row.passes(f, key, value):
				ignored = append(ignored, value)
			}
		}
		if obeyed && !reads {
			t.Errorf("%s obeys %s, which its class does not read", kind, key)
		}
		if now := config[key]; reads && !obeyed && moot[kind+" "+key] == "" && slices.ContainsFunc(ignored, func(x any) bool { return !reflect.DeepEqual(x, now) }) {
			t.Errorf("%s ignores %s: %v, which its class reads", kind, key, ignored)
		}
	}
}

// reads tells whether the class reads a key, by any of its names.
func (c *class) reads(key string) bool {
	for from, to := range c.Attributes {
		if key == from || key == to {
			return true
		}
	}
	_, own := c.Defaults[key]
	return own || slices.Contains(c.Reads, key)
}

// passes tells whether a table lets a value pass.
func (row *family) passes(f *Families, key string, value any) bool {
	data, _ := json.Marshal(value)
	return strict.Check(map[string]json.RawMessage{key: data}, strict.Config, f.also, row.harmless) == nil
}

// alike compares models but for the functions of activations, which cannot be compared.
func alike(a, b *arch.Model) bool {
	x, y := *a, *b
	for _, m := range []*arch.Model{&x, &y} {
		m.More, m.MoreFeed = 0, nil // layers that no result depends on
		if m.Head != nil {
			h := *m.Head
			h.Activation.After = nil
			m.Head = &h
		}
		m.Layers = slices.Clone(m.Layers)
		for i, l := range m.Layers {
			if d, ok := l.Feed.(*arch.Dense); ok {
				d := *d
				d.Activation.After = nil
				m.Layers[i].Feed = &d
			}
			if e, ok := l.Feed.(*arch.Experts); ok {
				e := *e
				e.Activation.After = nil
				m.Layers[i].Feed = &e
			}
		}
	}
	return reflect.DeepEqual(x, y)
}

// obeyed are the keys of GGUF files that change models of an architecture, beside the keys of all
// decoders. llama.cpp reads them in load_arch_hparams, except windows of Mistral, Qwen and Phi 3.
var obeyed = map[string][]string{
	"gemma2":          {"attn_logit_softcapping", "final_logit_softcapping"},
	"gemma3":          {"final_logit_softcapping", "rope.freq_base_swa"},
	"gemma-embedding": {"rope.freq_base_swa"},
	"llama":           {"expert_count", "expert_used_count"},
	"olmo2":           {"rope.freq_base_swa"},
	"granitemoe":      {"embedding_scale", "residual_scale", "rope.scaling.finetuned", "expert_count", "expert_used_count"},
	"lfm2moe":         routedFile,
	"granitehybrid":   {"embedding_scale", "residual_scale", "rope.scaling.finetuned"},
	"granite":         {"embedding_scale", "residual_scale", "rope.scaling.finetuned"},
	"mistral3":        {"attention.temperature_scale"},
	"stablelm":        {"use_parallel_residual"}, // beside tensors that say it, see fileBeside
	"qwen3moe":        {"expert_feed_forward_length"},
	"qwen35":          {"full_attention_interval", "attention.recurrent_layers", "nextn_predict_layers"},
	"qwen35moe":       {"expert_feed_forward_length", "expert_shared_feed_forward_length", "full_attention_interval", "attention.recurrent_layers", "nextn_predict_layers"},
	"qwen3next":       {"expert_feed_forward_length", "expert_shared_feed_forward_length", "full_attention_interval", "attention.recurrent_layers", "nextn_predict_layers"},
	"gemma4":          {"final_logit_softcapping", "rope.freq_base_swa", "attention.shared_kv_layers", "embedding_length_per_layer_input"},
	"gemma3n":         {"final_logit_softcapping", "rope.freq_base_swa", "attention.shared_kv_layers"},
	"nemotron_h":      {"nextn_predict_layers"},
	"nemotron_h_moe":  {"nextn_predict_layers"},
	"qwen2moe":        {"expert_feed_forward_length", "expert_shared_feed_forward_length", "expert_weights_norm"},
	"glm4moe":         routedFile,
	"deepseek2":       routedFile,
	"gpt-oss":         {"expert_feed_forward_length"},
	"olmoe":           {"expert_count", "expert_used_count", "expert_weights_norm"},
	"minimax-m2":      {"expert_count", "expert_used_count", "expert_feed_forward_length", "expert_gating_func"},
}

// routedFile are the keys of DeepSeek's experts.
var routedFile = []string{
	"expert_feed_forward_length", "expert_shared_count", "leading_dense_block_count", "expert_weights_scale", "expert_weights_norm", "expert_gating_func", "nextn_predict_layers",
	"expert_group_count", "expert_group_used_count",
}

// TestFileSilence: whatever value a key of any architecture has in a GGUF file of another one, it
// is refused, or the architecture has it, or a table says that it changes nothing.
func TestFileSilence(t *testing.T) {
	all := []string{"attention.scale", "attention.sliding_window", "rope.scaling.type", "rope.scaling.factor", "rope.scaling.attn_factor", "rope.scaling.original_context_length", "rope.scaling.yarn_attn_factor", "rope.scaling.yarn_log_multiplier", "rope.scale_linear", "attention.causal"}
	keys := append(slices.Collect(maps.Keys(strict.Metadata)), all...)
	keys = append(keys, "attn_logit_softcapping", "final_logit_softcapping", "attention.sliding_window_pattern", "mystery")
	for _, name := range fileNames {
		keys = append(keys, name)
	}
	for _, name := range Decoders.Files() {
		base := map[string]any{
			"block_count": uint32(12), "embedding_length": uint32(64), "feed_forward_length": uint32(32), "attention.head_count": uint32(4), "attention.head_count_kv": uint32(2), "attention.key_length": uint32(16),
			"context_length": uint32(256), "attention.layer_norm_rms_epsilon": float32(1e-5), "rope.freq_base": float32(5000), "attention.sliding_window": uint32(8),
		}
		if slices.Contains([]string{"cohere2", "phi2", "starcoder2", "stablelm", "nemotron"}, name) {
			delete(base, "attention.layer_norm_rms_epsilon")
			base["attention.layer_norm_epsilon"] = float32(1e-5)
		}
		if name == "granitehybrid" || name == "falcon-h1" {
			maps.Copy(base, map[string]any{"ssm.conv_kernel": uint32(4), "ssm.state_size": uint32(8), "ssm.group_count": uint32(2), "ssm.inner_size": uint32(128), "ssm.time_step_rank": uint32(4)})
		}
		if name == "gemma3n" {
			maps.Copy(base, map[string]any{"altup.num_inputs": uint32(4), "embedding_length_per_layer_input": uint32(8), "activation_sparsity_scale": slices.Repeat([]float32{1.5}, 12)})
		}
		if strings.HasPrefix(name, "nemotron_h") || strings.HasPrefix(name, "qwen35") || name == "qwen3next" {
			maps.Copy(base, map[string]any{"ssm.conv_kernel": uint32(4), "ssm.state_size": uint32(8), "ssm.group_count": uint32(2), "ssm.inner_size": uint32(128), "ssm.time_step_rank": uint32(4)})
			delete(base, "attention.sliding_window")
		}
		if strings.HasPrefix(name, "nemotron_h") {
			base["attention.head_count_kv"], base["feed_forward_length"] = []int32{0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}, []int32{32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32, 0}
		}
		if name == "granite" || name == "granitemoe" || name == "granitehybrid" || name == "cohere2" {
			base["logit_scale"] = float32(4)
		}
		if name == "deepseek2" {
			maps.Copy(base, map[string]any{
				"attention.head_count_kv": uint32(1), "attention.key_length": uint32(20), "attention.value_length": uint32(12), "rope.dimension_count": uint32(8),
				"attention.kv_lora_rank": uint32(12), "attention.key_length_mla": uint32(16), "attention.value_length_mla": uint32(8),
			})
		}
		if slices.Contains(obeyed[name], "expert_feed_forward_length") || name == "olmoe" || name == "granitemoe" {
			maps.Copy(base, map[string]any{"expert_count": uint32(4), "expert_used_count": uint32(2), "expert_feed_forward_length": uint32(16)})
			if slices.Contains([]string{"olmoe", "minimax-m2", "granitemoe"}, name) { // whose experts have the width of networks without
				base["expert_feed_forward_length"] = base["feed_forward_length"]
			}
		}
		if slices.Contains([]string{"lfm2", "lfm2moe", "deepseek2", "granitehybrid"}, name) {
			delete(base, "attention.sliding_window")
		}
		if name == "lfm2" || name == "lfm2moe" {
			base["shortconv.l_cache"] = uint32(3)
		}
		if key := "expert_shared_feed_forward_length"; slices.Contains(obeyed[name], key) {
			base[key] = uint32(20)
		}
		want, err := readFile(t, name, base, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range slices.Compact(slices.Sorted(slices.Values(keys))) {
			_, needed := base[key]
			obeys := needed || slices.Contains(obeyed[name], key)
			may, ignored := obeys || slices.Contains(all, key) || key == "attention.sliding_window_pattern", []any{}
			for _, value := range []any{uint32(0), uint32(1), uint32(3), uint32(64), float32(2), float32(0.5), true, false, "yarn", "linear"} {
				got, err := readFile(t, name, base, key, value)
				same := err == nil && alike(got, want)
				passes := strict.Check(map[string]json.RawMessage{key: raw(t, value)}, strict.Metadata, Decoders.file) == nil
				if err == nil && !same && !may {
					t.Errorf("%s obeys %s: %v", name, key, value)
				}
				if same && !obeys && !passes {
					ignored = append(ignored, value)
				}
			}
			if len(ignored) > 1 || len(ignored) == 1 && !may { // one value may mean what no such key means
				t.Errorf("%s ignores %s: %v", name, key, ignored)
			}
		}
	}
}

// TestFileRefusals: files that say what no model computes are errors about the key that says it.
func TestFileRefusals(t *testing.T) {
	sizes := map[string]any{
		"block_count": uint32(2), "embedding_length": uint32(64), "feed_forward_length": uint32(32), "attention.head_count": uint32(4), "context_length": uint32(256),
		"attention.layer_norm_rms_epsilon": float32(1e-5), "expert_count": uint32(8), "expert_used_count": uint32(2), "expert_feed_forward_length": uint32(16),
	}
	latent := map[string]any{
		"attention.head_count_kv": uint32(1), "attention.key_length": uint32(20), "attention.value_length": uint32(12), "rope.dimension_count": uint32(8),
		"attention.kv_lora_rank": uint32(12), "attention.key_length_mla": uint32(16), "attention.value_length_mla": uint32(8),
	}
	none := values{"expert_count": uint32(0), "expert_used_count": uint32(0), "expert_feed_forward_length": nil}
	wides := none.with(values{
		"attention.head_count_kv": []int32{2, 1}, "attention.key_length": uint32(32), "attention.value_length": uint32(32), "attention.key_length_swa": uint32(16), "attention.value_length_swa": uint32(16),
		"attention.sliding_window": uint32(8), "attention.sliding_window_pattern": []bool{true, false}, "rope.dimension_count": uint32(32), "rope.dimension_count_swa": uint32(16),
	})
	streamed := none.with(values{"attention.sliding_window": uint32(8), "altup.num_inputs": uint32(4), "embedding_length_per_layer_input": uint32(8), "activation_sparsity_scale": []float32{float32(math.Inf(-1)), 1.5}})
	states := none.with(values{"ssm.conv_kernel": uint32(4), "ssm.state_size": uint32(8), "ssm.group_count": uint32(2), "ssm.inner_size": uint32(64), "ssm.time_step_rank": uint32(4)})
	deltas := states.with(values{"full_attention_interval": uint32(2)})
	spaces := states.with(values{"attention.head_count_kv": []int32{0, 2}, "feed_forward_length": []int32{0, 0}})
	hybrid := states.with(values{"attention.head_count_kv": []int32{0, 2}, "logit_scale": float32(4)})
	large := values{"ssm.state_size": uint32(1024), "ssm.inner_size": uint32(1 << 22), "ssm.time_step_rank": uint32(1 << 16)}
	near := values{"attention.sliding_window": nil, "rope.freq_base_swa": float32(77)}
	for _, x := range []struct {
		name    string
		changes map[string]any
		key     string
	}{
		{"lfm2moe", map[string]any{"shortconv.l_cache": uint32(3), "attention.head_count_kv": []int32{0, 2}}, ""},
		{"gemma4", wides, ""},
		{"gemma4", values(wides).with(values{"attention.head_count_kv": []int32{3, 1}}), "attention.head_count_kv"},
		{"gemma4", values(wides).with(values{"attention.head_count_kv": []int32{2}}), "attention.head_count_kv"},
		{"gemma4", values(wides).with(values{"attention.value_length_swa": uint32(8)}), "attention.value_length_swa"},
		{"gemma4", values(wides).with(values{"rope.dimension_count_swa": uint32(18)}), "rope.dimension_count_swa"},
		{"gemma4", values(wides).with(values{"attention.shared_kv_layers": uint32(1)}), "attention.shared_kv_layers"}, // no layer before it is of its kind
		{"gemma4", values(wides).with(values{"feed_forward_length": []int32{32, 48}}), "feed_forward_length"},
		{"gemma4", values(wides).with(values{"attention.sliding_window": nil}), "attention.sliding_window"},
		{"gemma4", values(wides).with(values{"attention.sliding_window": uint32(0)}), "attention.sliding_window"},
		{"gemma2", none.with(near).with(values{"attention.sliding_window": uint32(0)}), "rope.freq_base_swa"},
		{"gemma3", none.with(near), "rope.freq_base_swa"},
		{"gemma3", none.with(near).with(values{"rope.freq_base": float32(77)}), ""},
		{"gemma3", none.with(near).with(values{"attention.sliding_window": uint32(8)}), ""},
		{"gemma3n", streamed, ""},
		{"gemma3n", streamed.with(near), "attention.sliding_window"},
		{"gemma3n", streamed.with(values{"attention.sliding_window": uint32(0)}), "attention.sliding_window"},
		{"gemma3n", streamed.with(values{"altup.active_idx": uint32(1)}), "altup.active_idx"},
		{"gemma3n", streamed.with(values{"altup.num_inputs": uint32(17)}), "altup.num_inputs"},
		{"gemma3n", streamed.with(values{"embedding_length_per_layer_input": uint32(0)}), "embedding_length_per_layer_input"},
		{"gemma3n", streamed.with(values{"activation_sparsity_scale": []float32{1}}), "activation_sparsity_scale"},
		{"gemma3n", streamed.with(values{"activation_sparsity_scale": []float32{1, float32(math.NaN())}}), "activation_sparsity_scale"},
		{"qwen35", deltas, ""},
		{"qwen35", values(deltas).with(values{"ssm.group_count": uint32(3)}), "ssm.group_count"},
		{"qwen35", values(deltas).with(values{"ssm.inner_size": uint32(66)}), "ssm.inner_size"},
		{"qwen35", values(deltas).with(values{"attention.causal": false}), "attention.causal"},
		{"falcon-h1", none.with(values{"attention.causal": false}), "attention.causal"},
		{"nemotron_h", spaces, ""},
		{"nemotron_h", values(spaces).with(values{"feed_forward_length": []int32{32}}), "feed_forward_length"},
		{"nemotron_h", values(spaces).with(values{"ssm.group_count": uint32(3)}), "ssm.group_count"},
		{"nemotron_h", values(spaces).with(large), "ssm.time_step_rank"},
		{"nemotron_h", values(spaces).with(values{"expert_count": uint32(2)}), "feed_forward_length"}, // which no layer has
		{"nemotron_h", values(spaces).with(values{"expert_count": uint32(2), "feed_forward_length": []int32{32, 0}}), "expert_count"},
		{"nemotron_h_moe", values(spaces).with(values{"expert_count": uint32(2), "attention.head_count_kv": nil}), "attention.head_count_kv"},
		{"nemotron_h_moe", values(spaces).with(values{"expert_count": uint32(2), "attention.head_count_kv": uint32(2)}), "attention.head_count_kv"},
		{"granitehybrid", hybrid, ""},
		{"granitehybrid", hybrid.with(values{"ssm.group_count": uint32(3)}), "ssm.group_count"},
		{"granitehybrid", hybrid.with(large), "ssm.time_step_rank"},
		{"lfm2moe", map[string]any{"shortconv.l_cache": uint32(3), "attention.head_count_kv": []int32{0, 2}, "nextn_predict_layers": uint32(1)}, "attention.head_count_kv"},
		{"deepseek2", latent, ""},
		{"deepseek2", values(latent).with(values{"expert_gating_func": uint32(2), "expert_group_count": uint32(4), "expert_group_used_count": uint32(2)}), ""},
		{"deepseek2", values(latent).with(values{"expert_gating_func": uint32(1), "expert_group_count": uint32(1)}), ""},
		{"deepseek2", values(latent).with(values{"expert_group_count": uint32(4), "expert_group_used_count": uint32(2)}), "expert_group_count"}, // softmax, without a correction
		{"deepseek2", values(latent).with(values{"expert_gating_func": uint32(1), "expert_group_count": uint32(4), "expert_group_used_count": uint32(2)}), "expert_group_count"},
	} {
		_, err := readFile(t, x.name, values(sizes).with(x.changes), "", nil)
		if x.key == "" && err != nil || x.key != "" && (err == nil || !strings.Contains(err.Error(), x.name+"."+x.key)) {
			t.Errorf("%s with %v: %v, want an error about %q", x.name, x.changes, err, x.key)
		}
	}
}

// TestFileScaling: a file with a factor and no type, or with LongRoPE, is scaled as with linear.
func TestFileScaling(t *testing.T) {
	base := values{
		"block_count": uint32(2), "embedding_length": uint32(64), "feed_forward_length": uint32(32), "attention.head_count": uint32(4),
		"context_length": uint32(256), "attention.layer_norm_rms_epsilon": float32(1e-5), "rope.scaling.factor": float32(4),
	}
	for kind, divide := range map[any]float64{nil: 4, "linear": 4, "longrope": 4, "none": 1} {
		m, err := readFile(t, "llama", base, "rope.scaling.type", kind)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Layers[0].Attention().Rope.Divide; got != divide {
			t.Errorf("type %v: positions are divided by %v, want %v", kind, got, divide)
		}
	}
	if _, err := readFile(t, "llama", base, "rope.scale_linear", float32(2)); err == nil || !strings.Contains(err.Error(), "rope.scale_linear") {
		t.Errorf("two factors: %v", err)
	}
}

// readFile reads the metadata of a GGUF file with one key in place of another.
func readFile(t *testing.T, name string, base map[string]any, key string, value any) (*arch.Model, error) {
	t.Helper()
	var w ggufwriter.File
	w.Set("general.architecture", name)
	for k, v := range base {
		w.Set(name+"."+k, v)
	}
	if key != "" {
		w.Set(name+"."+key, value)
	}
	f, err := gguf.New(w.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return Decoders.ReadFile(f, gguf.KeyError)
}
