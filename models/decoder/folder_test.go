package decoder

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/folder"
	"github.com/attn-go/attn/models/internal/settings"
	"github.com/attn-go/attn/models/internal/tinyfolders"
)

// copied returns a copy of a folder of testdata/tiny.
func copied(t testing.TB, name string) string {
	t.Helper()
	return tinyfolders.Copy(t, filepath.Join(filepath.Dir(tinyFolders), name))
}

// jsonNull is the value null of a key.
var jsonNull = json.RawMessage("null")

// Folders that cannot be computed get typed errors that say what and where.
func TestFolderErrors(t *testing.T) {
	ropeOf := func(kind string, more ...any) map[string]any {
		p := map[string]any{"rope_theta": 10000, "rope_type": kind}
		for i := 0; i < len(more); i += 2 {
			p[more[i].(string)] = more[i+1]
		}
		return p
	}
	for _, x := range []struct {
		folder, key string
		value       any
		want        *kernel.Error // nil: a *kernel.Error
	}{
		{"qwen3-2", "model_type", "qwen9", &kernel.Error{Where: configFile + ": model_type", Got: `"qwen9"`, Want: "one of " + strings.Join(settings.Decoders.Types(), ", ")}},
		{"qwen3-2", "num_hidden_layers", nil, &kernel.Error{Where: configFile + ": num_hidden_layers", Got: "none", Want: "an integer from 1 to 65536"}},
		{"qwen3-2", "num_hidden_layers", "two", &kernel.Error{Where: configFile + ": num_hidden_layers", Got: `"two"`, Want: "an integer from 1 to 65536"}},
		{"qwen3-2", "hidden_size", -1, &kernel.Error{Where: configFile + ": hidden_size", Got: "-1", Want: "an integer from 1 to 16777216"}},
		{"qwen3-2", "hidden_act", "relu", &kernel.Error{Where: configFile + ": hidden_act", Got: `"relu"`, Want: `"silu"`}},
		{"qwen3-2", "residual_multiplier", 2, &kernel.Error{Where: configFile + ": residual_multiplier", Got: "2", Want: "1; others are not supported"}},
		{"qwen3-2", "alibi_starting_size", 0, &kernel.Error{Where: configFile + ": alibi_starting_size", Got: "0", Want: "no such key: what it changes is not known"}},
		{"qwen3-2", "use_qk_norm", true, &kernel.Error{Where: configFile + ": use_qk_norm", Got: "true", Want: "false; others are not supported"}},
		{"qwen3-2", "causal", false, &kernel.Error{Where: configFile + ": causal", Got: "false", Want: "no such key: what it changes is not known"}},
		{"qwen3-2", "is_causal", false, &kernel.Error{Where: configFile + ": is_causal", Got: "false, a model of embeddings", Want: "one that generates text; LoadEmbedder is for this one"}},
		{"qwen3-2", "is_causal", jsonNull, &kernel.Error{Where: configFile + ": is_causal", Got: "null", Want: "true or false"}},
		{"qwen3-2", "architectures", []string{"Qwen3BiModel"}, &kernel.Error{Where: configFile + ": architectures", Got: `"Qwen3BiModel"`, Want: "Qwen3Model, Qwen3ForCausalLM or another class of transformers: what others compute is not known"}},
		{"gemma4-67", "per_layer_config", map[string]any{"5": map[string]int{"num_key_value_heads": 0, "head_dim": 32}}, &kernel.Error{Where: configFile + ": per_layer_config", Got: "0 heads of 32 in layer 5", Want: "1 to 16777216 of both"}},
		{"gemma4-67", "per_layer_config", map[string]any{"5": map[string]int{"head_dim": -2}}, nil},
		{"gemma4-67", "num_global_key_value_heads", 0, nil},
		{"gemma4-67", "num_key_value_heads", 0, nil},
		{"phi3-2", "full_attn_mod", 2, &kernel.Error{Where: configFile + ": full_attn_mod", Got: "2", Want: "1; others are not supported"}},
		{"qwen3-2", "quantization_config", map[string]any{"bits": 4}, &kernel.Error{Where: configFile + ": quantization_config.quant_method", Got: `""`, Want: `"awq", "compressed-tensors", "fp8" or "gptq"`}},
		{"qwen3-2", "quantization_config", map[string]any{"quant_method": "fp8"}, &kernel.Error{Where: configFile + ": quantization_config.quant_method", Got: `"fp8", and no tensors of it`, Want: "such tensors, or no quantization_config"}},
		{"qwen3-2", "layer_types", []string{"full_attention", "linear_attention"}, &kernel.Error{Where: configFile + ": layer_types", Got: `"linear_attention"`, Want: `"full_attention" or "sliding_attention"`}},
		{"qwen3-2", "layer_types", []string{"full_attention", "sliding_attention"}, &kernel.Error{Where: configFile + ": layer_types", Got: `"sliding_attention" without a window`, Want: `"full_attention", or sliding_window, and use_sliding_window where the architecture has it`}},
		{"qwen3-2", "layer_types", []string{"full_attention"}, &kernel.Error{Where: configFile + ": layer_types", Got: "1 layers", Want: "2"}},
		{"qwen3-2", "rope_parameters", ropeOf("ntk", "factor", 2), &kernel.Error{Where: configFile + ": rope_parameters.rope_type", Got: `"ntk"`, Want: `"default", "dynamic", "linear", "llama3", "longrope" or "yarn"; others are not supported`}},
		{"qwen3-2", "rope_parameters", ropeOf("yarn", "factor", 2, "mystery", 3), &kernel.Error{Where: configFile + ": rope_parameters.mystery", Got: "3", Want: "no such key: what it changes is not known"}},
		{"qwen3-2", "rope_parameters", ropeOf("longrope"), &kernel.Error{Where: configFile + ": rope_parameters.short_factor", Got: "none", Want: "a list of 4 numbers above 0"}},
		{"qwen3_moe-2", "mlp_only_layers", []int{0}, &kernel.Error{Where: configFile + ": mlp_only_layers", Got: "[0]", Want: "[]; others are not supported"}},
		{"qwen3_moe-2", "num_experts_per_tok", 7, &kernel.Error{Where: configFile + ": num_experts_per_tok", Got: "7", Want: "an integer from 1 to 6"}},
		{"glm4_moe-32", "n_group", 4, &kernel.Error{Where: configFile + ": n_group", Got: "4", Want: "a divisor of the 6 experts that leaves two or more for each group"}},
		{"deepseek_v3-31", "topk_group", 5, &kernel.Error{Where: configFile + ": topk_group", Got: "5", Want: "at most the 4 groups, and enough for the 3 experts of a token"}},
		{"deepseek_v3-31", "topk_group", 1, &kernel.Error{Where: configFile + ": topk_group", Got: "1", Want: "at most the 4 groups, and enough for the 3 experts of a token"}},
		{"deepseek_v3-31", "num_key_value_heads", 1, &kernel.Error{Where: configFile + ": num_key_value_heads", Got: "1", Want: "2; others are not supported"}},
		{"deepseek_v3-31", "head_dim", 9, &kernel.Error{Where: configFile + ": head_dim", Got: "9", Want: "8; others are not supported"}},
		{"deepseek_v3-31", "scoring_func", "softmax", &kernel.Error{Where: configFile + ": scoring_func", Got: `"softmax"`, Want: `"sigmoid"; others are not supported`}},
		{"deepseek_v3-31", "routed_scaling_factor", jsonNull, &kernel.Error{Where: configFile + ": routed_scaling_factor", Got: "none", Want: "a number from 2^-16 to 2^16"}},
		{"glm4_moe_lite-32", "mlp_layer_types", []string{"sparse", "dense", "sparse"}, &kernel.Error{Where: configFile + ": mlp_layer_types", Got: `"dense"`, Want: `"dense" in the first layers and "sparse" in the rest`}},
		{"gpt_oss-32", "quantization_config", map[string]any{"quant_method": "awq"}, &kernel.Error{Where: configFile + ": quantization_config.quant_method", Got: `"awq"`, Want: `"mxfp4"; others are not supported`}},
		{"gpt_oss-32", "experts_per_token", 1, &kernel.Error{Where: configFile + ": experts_per_token", Got: "1", Want: "2; others are not supported"}},
		{"olmoe-55", "clip_qkv", 8, &kernel.Error{Where: configFile + ": clip_qkv", Got: "8", Want: "null; others are not supported"}},
		{"qwen2_moe-55", "shared_expert_intermediate_size", 20, nil},
		{"deepseek_v3-31", "kv_lora_rank", 11, nil},
		{"deepseek_v3-31", "v_head_dim", 11, nil},
		{"gpt_oss-mxfp4-32", "intermediate_size", 32, nil},
		{"gemma2-2", "use_bidirectional_attention", true, &kernel.Error{Where: configFile + ": use_bidirectional_attention", Got: "true", Want: "false; others are not supported"}},
		{"gemma4-67", "rope_parameters", map[string]any{"full_attention": map[string]any{"rope_type": "yarn", "rope_theta": 100}, "sliding_attention": map[string]any{"rope_theta": 100}}, &kernel.Error{Where: configFile + ": rope_parameters.full_attention.rope_type", Got: `"yarn"`, Want: `"default" or "proportional"; others are not supported`}},
		{"qwen3-2", "num_hidden_layers", 3, nil},
		{"qwen3-2", "num_hidden_layers", 1, nil},
		{"qwen3-2", "intermediate_size", 50, nil},
		{"qwen3_moe-2", "num_local_experts", 5, nil},
	} {
		dir := copied(t, x.folder)
		tinyfolders.SetKey(t, dir, x.key, x.value)
		if x.key == "num_hidden_layers" && x.value != nil {
			tinyfolders.SetKey(t, dir, "layer_types", nil)
		}
		_, err := Load(dir, Options{})
		if x.want == nil {
			if !errors.As(err, new(*kernel.Error)) {
				t.Errorf("%s %s %v: error %v (%T), want a *kernel.Error", x.folder, x.key, x.value, err, err)
			}
			continue
		}
		if !bytes.Contains([]byte(err.Error()), []byte(dir)) {
			t.Errorf("%v does not name the folder", err)
		}
		checkError(t, x.folder+" "+x.key, err, x.want)
	}
	if _, err := Load(t.TempDir(), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder: %v", err)
	}
}

// The values of latent attention are in its keys, so that they have one type.
func TestLatentCache(t *testing.T) {
	m, err := Load(filepath.Join(filepath.Dir(tinyFolders), "deepseek_v3-31"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.With(Options{CacheType: kernel.Int8, CacheValueType: kernel.Int4})
	checkError(t, "values of another type", err, &kernel.Error{Where: "decoder: Options.CacheValueType", Got: "int4", Want: "int8 as the keys, which hold the values of latent attention"})
	layers := m.Config().KVLayers
	if bytes, err := m.PageBytes(); err != nil || bytes != layers*64*(12+8)*4 {
		t.Errorf("a page of %d bytes, %v: %d layers of 64 tokens have a latent of 12 and a key of 8 numbers", bytes, err, layers)
	}
}

// Keys of generation_config.json end a text, leave the choice to whoever asks for it, or are an
// error.
func TestGenerationKeys(t *testing.T) {
	unknown := "no such key: what it changes is not known"
	none := `null or [] or {}; others are not supported`
	for text, want := range map[string]*kernel.Error{
		// As in Llama 3.1, Qwen 2.5 and Gemma 3.
		`{"bos_token_id": 1, "do_sample": true, "eos_token_id": [2, 3], "temperature": 0.6, "top_p": 0.9, "transformers_version": "4.42.3"}`:                                                   nil,
		`{"pad_token_id": 0, "do_sample": true, "eos_token_id": 2, "repetition_penalty": 1.05, "temperature": 0.7, "top_p": 0.8, "top_k": 20}`:                                                 nil,
		`{"cache_implementation": "hybrid", "eos_token_id": [1, 2], "suppress_tokens": null, "stop_strings": [], "forced_eos_token_id": null, "guidance_scale": 1.0, "generation_kwargs": {}}`: nil,
		`{"suppress_tokens": [5, 6]}`:   {Where: generationFile + ": suppress_tokens", Got: "[5, 6]", Want: none},
		`{"stop_strings": ["END"]}`:     {Where: generationFile + ": stop_strings", Got: `["END"]`, Want: none},
		`{"forced_bos_token_id": 0}`:    {Where: generationFile + ": forced_bos_token_id", Got: "0", Want: none},
		`{"guidance_scale": 1.5}`:       {Where: generationFile + ": guidance_scale", Got: "1.5", Want: "null or 1; others are not supported"},
		`{"Eos_token_id": 7}`:           {Where: generationFile + ": Eos_token_id", Got: "7", Want: unknown},
		`{"only_these_tokens": [1, 2]}`: {Where: generationFile + ": only_these_tokens", Got: "[1, 2]", Want: unknown},
		`{"eos_token_id": "</s>"}`:      {Where: generationFile + ": eos_token_id", Got: `"</s>"`, Want: "a token or a list of tokens"},
	} {
		dir := copied(t, "qwen3-2")
		if err := os.WriteFile(filepath.Join(dir, generationFile), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		switch _, err := Load(dir, Options{}); {
		case want != nil:
			checkError(t, text, err, want)
		case err != nil:
			t.Errorf("%s: %v", text, err)
		}
	}
	dir := copied(t, "qwen3-2")
	tinyfolders.SetKey(t, dir, "suppress_tokens", []int{5})
	_, err := Load(dir, Options{})
	checkError(t, "suppress_tokens", err, &kernel.Error{Where: configFile + ": suppress_tokens", Got: "[5]", Want: none})
}

// Keys that change nothing change nothing, such as Phi-4-mini's and keys that older versions of
// transformers wrote.
func TestHarmlessKeys(t *testing.T) {
	dir := copied(t, "phi3-2")
	want := greedy(t, dir)
	for key, value := range map[string]any{
		"full_attn_mod": 1, "interpolate_factor": 1.0, "lm_head_bias": false, "mlp_bias": false, "tokenizer_class": "GPT2Tokenizer", "num_labels": 3, "do_sample": true, "max_length": 20,
		"is_causal": true, "is_decoder": true, "pruned_heads": map[string]any{}, "task_specific_params": map[string]any{"a": 1}, "alibi": jsonNull,
		"auto_map": map[string]any{"AutoModelForCausalLM": "modeling_phi3.Phi3ForCausalLM"},
	} {
		tinyfolders.SetKey(t, dir, key, value)
	}
	if got := greedy(t, dir); !slices.Equal(got, want) {
		t.Errorf("other texts: %v, want %v", got, want)
	}
}

// greedy returns tokens that the model of a folder continues others with.
func greedy(t *testing.T, dir string) []int32 {
	t.Helper()
	m, err := Load(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := session(t, m, 1, 20)
	text, ids := s.NewText(), []int32{5, 6, 7}
	for range 8 {
		logits := forward(t, s, Step{Text: text, Tokens: ids[text.Len():], Logits: LogitsLast})[0]
		ids = append(ids, int32(slices.Index(logits, slices.Max(logits))))
	}
	return ids
}

// TestFamilies: what transformers writes for a model of each family with its own defaults, and what
// PretrainedConfig of older versions added, has no key that is refused. The file was made by
// configs.py beside it.
func TestFamilies(t *testing.T) {
	var all map[string]map[string]any
	if err := folder.ReadJSON("../testdata/configs.json", &all); err != nil {
		t.Fatal(err)
	}
	for _, kind := range settings.Decoders.Types() {
		config, ok := all[kind]
		if !ok {
			t.Errorf("%s is not in the file", kind)
			continue
		}
		data, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, configFile), data, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := settings.Decoders.ReadFolder(dir, configError); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestDynamicRotation: up to max_position_embeddings such frequencies are the unscaled ones,
// whatever the factor (transformers: the base times (factor·n/trained - (factor-1)) to a power,
// with n not below trained). Beyond, they would change with every token.
func TestDynamicRotation(t *testing.T) {
	logits := func(kind string) (*Model, []float32) {
		dir := copied(t, "qwen3-2")
		tinyfolders.SetKey(t, dir, "rope_parameters", map[string]any{"rope_theta": 10000, "rope_type": kind, "factor": 4})
		m, err := Load(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := session(t, m, 1, 100)
		return m, forward(t, s, Step{Text: s.NewText(), Tokens: prompt(100, 1), Logits: LogitsAll})[0]
	}
	_, want := logits("default")
	m, got := logits("dynamic")
	sameBits(t, "logits", got, want)
	_, err := m.With(Options{Context: m.Config().Context + 1})
	if e := (*kernel.Error)(nil); !errors.As(err, &e) || e.Arg() != "Options.Context" {
		t.Errorf("a longer context: got %v, want an error of Options.Context", err)
	}
	if _, err := m.With(Options{Context: m.Config().Context}); err != nil {
		t.Error(err)
	}
}
