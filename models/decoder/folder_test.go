package decoder

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/attn-go/attn/models/folder"
)

// copied returns a copy of a folder of testdata/tiny.
func copied(t testing.TB, name string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(filepath.Dir(tinyFolders), name))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// setKey changes a key of config.json, or removes it.
func setKey(t *testing.T, dir, key string, value any) {
	t.Helper()
	path := filepath.Join(dir, configFile)
	var all map[string]any
	if err := folder.ReadJSON(path, &all); err != nil {
		t.Fatal(err)
	}
	all[key] = value
	if value == nil {
		delete(all, key)
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

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
		want        *ConfigError // nil: a *folder.Error
	}{
		{"qwen3-2", "model_type", "qwen9", &ConfigError{configFile, "model_type", `"qwen9"`, "one of llama, mistral, qwen2, qwen3, qwen3_moe, phi3, gemma2, gemma3_text"}},
		{"qwen3-2", "num_hidden_layers", nil, &ConfigError{configFile, "num_hidden_layers", "none", "an integer from 1 to 65536"}},
		{"qwen3-2", "num_hidden_layers", "two", &ConfigError{configFile, "num_hidden_layers", `"two"`, "an integer from 1 to 65536"}},
		{"qwen3-2", "hidden_size", -1, &ConfigError{configFile, "hidden_size", "-1", "an integer from 1 to 16777216"}},
		{"qwen3-2", "hidden_act", "relu", &ConfigError{configFile, "hidden_act", `"relu"`, `"silu"`}},
		{"qwen3-2", "residual_multiplier", 2, &ConfigError{configFile, "residual_multiplier", "2", "no such key: what it changes is not known"}},
		{"qwen3-2", "quantization_config", map[string]any{"bits": 4}, &ConfigError{configFile, "quantization_config", `{"bits":4}`, "no such key: what it changes is not known"}},
		{"qwen3-2", "layer_types", []string{"full_attention", "linear_attention"}, &ConfigError{configFile, "layer_types", `"linear_attention"`, `"full_attention" or "sliding_attention"`}},
		{"qwen3-2", "layer_types", []string{"full_attention"}, &ConfigError{configFile, "layer_types", "1 layers", "2"}},
		{"qwen3-2", "rope_parameters", ropeOf("dynamic", "factor", 2), &ConfigError{configFile, "rope_parameters.rope_type", `"dynamic"`, `"default", "linear", "llama3", "yarn" or "longrope"; others are not supported`}},
		{"qwen3-2", "rope_parameters", ropeOf("yarn", "factor", 2, "mystery", 3), &ConfigError{configFile, "rope_parameters.mystery", "3", "no such key: what it changes is not known"}},
		{"qwen3-2", "rope_parameters", ropeOf("longrope"), &ConfigError{configFile, "rope_parameters.short_factor", "none", "a list of 4 numbers above 0"}},
		{"qwen3_moe-2", "mlp_only_layers", []int{0}, &ConfigError{configFile, "mlp_only_layers", "[0]", "[]; others are not supported"}},
		{"qwen3_moe-2", "num_experts_per_tok", 7, &ConfigError{configFile, "num_experts_per_tok", "7", "an integer from 1 to 6"}},
		{"gemma2-2", "use_bidirectional_attention", true, &ConfigError{configFile, "use_bidirectional_attention", "true", "false; others are not supported"}},
		{"qwen3-2", "num_hidden_layers", 3, nil},
		{"qwen3-2", "num_hidden_layers", 1, nil},
		{"qwen3-2", "intermediate_size", 50, nil},
		{"qwen3_moe-2", "num_local_experts", 5, nil},
	} {
		dir := copied(t, x.folder)
		setKey(t, dir, x.key, x.value)
		if x.key == "num_hidden_layers" && x.value != nil {
			setKey(t, dir, "layer_types", nil)
		}
		_, err := Load(dir, Options{})
		if x.want == nil {
			if !errors.As(err, new(*folder.Error)) {
				t.Errorf("%s %s %v: error %v (%T), want a *folder.Error", x.folder, x.key, x.value, err, err)
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
