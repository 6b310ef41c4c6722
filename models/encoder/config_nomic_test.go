package encoder

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// published writes a copy of nomic_bert-1 with the keys of nomic-ai's config.json, and changes to
// them.
func published(t *testing.T, change map[string]any) string {
	t.Helper()
	const from = "../testdata/tiny/nomic_bert-1/"
	dir := t.TempDir()
	for _, name := range []string{"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "modules.json", "1_Pooling/config.json"} {
		data, err := os.ReadFile(from + name)
		if err != nil {
			t.Fatal(err)
		}
		if name == "config.json" {
			var c map[string]any
			if err := json.NewDecoder(bytes.NewReader(data)).Decode(&c); err != nil {
				t.Fatal(err)
			}
			p := map[string]any{ // as in nomic-embed-text-v1.5
				"model_type": "nomic_bert", "vocab_size": c["vocab_size"], "type_vocab_size": c["type_vocab_size"],
				"n_embd": c["hidden_size"], "n_head": c["num_attention_heads"], "n_inner": c["intermediate_size"], "n_layer": c["num_hidden_layers"], "n_positions": c["max_position_embeddings"],
				"layer_norm_epsilon": c["layer_norm_eps"], "rotary_emb_base": c["rope_parameters"].(map[string]any)["rope_theta"],
				"activation_function": "swiglu", "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": false, "rotary_emb_scale_base": nil, "rotary_scaling_factor": nil,
				"prenorm": false, "parallel_block": false, "causal": false, "use_rms_norm": false, "qkv_proj_bias": false, "mlp_fc1_bias": false, "mlp_fc2_bias": false, "scale_attn_weights": true,
			}
			for key, v := range change {
				p[key] = v
			}
			if data, err = json.Marshal(p); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, data, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestPublishedNomic: the keys of nomic-ai mean the same as transformers' keys.
func TestPublishedNomic(t *testing.T) {
	want, err := Load("../testdata/tiny/nomic_bert-1", LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Load(published(t, nil), LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"The cat sits.", "a"}
	b := embed(t, want, texts)
	for i, v := range embed(t, got, texts) {
		if !equalBits(v, b[i]) {
			t.Errorf("%q has other bits", texts[i])
		}
	}
	for key, v := range map[string]any{"prenorm": true, "rotary_emb_fraction": 0.5, "rotary_scaling_factor": 2, "activation_function": "gelu", "n_embd": 1 << 30, "num_experts": 8} {
		var bad *kernel.Error
		if _, err := Load(published(t, map[string]any{key: v}), LoadOptions{}); !errors.As(err, &bad) || bad.Arg() != key && key != "n_embd" {
			t.Errorf("%s %v: %v", key, v, err)
		}
	}
}
