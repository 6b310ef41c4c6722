package encoder

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/folder"
	"github.com/attn-go/attn/models/internal/settings"
)

// writeConfig writes config.json of a folder.
func writeConfig(t *testing.T, config map[string]any) *folder.Folder {
	t.Helper()
	dir := t.TempDir()
	data, err := json.Marshal(config)
	if err := errors.Join(err, os.WriteFile(filepath.Join(dir, configName), data, 0o666)); err != nil {
		t.Fatal(err)
	}
	return folder.At(dir)
}

// TestFamilyKeys: no family ignores a key that could change results, in whatever value, and each
// takes what transformers writes for a model of its class with all defaults; see configs.py beside
// the file.
func TestFamilyKeys(t *testing.T) {
	var all map[string]map[string]any
	if err := folder.ReadJSON("../testdata/configs.json", &all); err != nil {
		t.Fatal(err)
	}
	var gte map[string]any // which transformers does not have
	if err := folder.ReadJSON("../testdata/tiny/gte-new-1/config.json", &gte); err != nil {
		t.Fatal(err)
	}
	all["new"] = gte
	read := map[string][]string{"rope_theta": {"new", "nomic_bert", "gte", "jina_embeddings_v3", "eurobert"}, "embedding_size": {"albert", "electra"}} // which have them
	for _, kind := range settings.Encoders.Types() {
		config, ok := all[kind]
		if !ok {
			t.Errorf("%s is not in the file", kind)
			continue
		}
		if _, err := readConfig(writeConfig(t, config)); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		for key, value := range map[string]any{
			"alibi_starting_size": 512, "scale_scores_by": 2, "mystery": false, "Hidden_Size": 20, "is_causal": true, "add_cross_attention": true, "pruned_heads": map[string]any{"1": []int{0}},
			"rope_theta": 500000, "rope_scaling": map[string]any{"type": "linear", "factor": 2}, "embedding_size": 128, "position_embedding_type": "relative_key_query", "quantization_config": map[string]any{"bits": 4},
		} {
			if slices.Contains(read[key], kind) {
				continue
			}
			_, err := readConfig(writeConfig(t, with(config, key, value)))
			if bad, ok := errors.AsType[*kernel.Error](err); !ok || bad.Arg() != key && bad.Arg() != key+".type" {
				t.Errorf("%s: %s %v: %v", kind, key, value, err)
			}
		}
	}
}

// with returns keys with another value of one.
func with(config map[string]any, key string, value any) map[string]any {
	changed := maps.Clone(config)
	changed[key] = value
	return changed
}

// TestModernBases: null is no base of its own for layers with a window, and a missing key means
// 10,000.
func TestModernBases(t *testing.T) {
	var all map[string]map[string]any
	if err := folder.ReadJSON("../testdata/configs.json", &all); err != nil {
		t.Fatal(err)
	}
	config := all["modernbert"]
	delete(config, "rope_parameters")
	config["global_rope_theta"] = 500.0
	for _, want := range []float64{10000, 700, 500} {
		switch want {
		case 700:
			config["local_rope_theta"] = want
		case 500:
			config["local_rope_theta"] = nil
		}
		m, err := readConfig(writeConfig(t, config))
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range m.Layers {
			a := l.Mixer.(*arch.Attention)
			if a.Window > 0 && a.Rope.Base != want || a.Window == 0 && a.Rope.Base != 500 {
				t.Errorf("layer %d: a base of %v, want 500 or with a window %v", i, a.Rope.Base, want)
			}
		}
	}
}
