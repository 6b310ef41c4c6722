package encoder

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// A change is a key of config.json that changes results.
type change struct {
	key   string
	value any
}

// TestNewErrors: keys of the model_type new that change results and are not computed are errors
// that name them.
func TestNewErrors(t *testing.T) {
	wrongKeys(t, "../testdata/tiny/gte-new-1/", []change{
		{"layer_norm_type", "rms_norm"}, {"logn_attention_scale", true}, {"position_embedding_type", "relative"}, {"type_vocab_size", -1}, {"rope_theta", 0.5},
		{"rope_scaling.type", map[string]any{"type": "linear", "factor": 2}}, {"rope_scaling.factor", map[string]any{"type": "ntk", "factor": 0.5}},
		{"rope_scaling.mixed_b", map[string]any{"type": "ntk", "factor": 2, "mixed_b": 0.6}}, {"hidden_act", "maxout"},
	})
}

// TestJinaBERTErrors: so are errors of JinaBERT, whose model_type is bert.
func TestJinaBERTErrors(t *testing.T) {
	wrongKeys(t, "../testdata/tiny/jina-bert-1/", []change{
		{"feed_forward_type", "original"}, {"feed_forward_type", nil}, {"emb_pooler", "max"}, {"position_embedding_type", "rope"}, {"hidden_act", "maxout"},
	})
}

// wrongKeys loads copies of a folder with other keys.
func wrongKeys(t *testing.T, from string, changes []change) {
	t.Helper()
	data, err := os.ReadFile(from + configName)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		config := map[string]any{}
		if err := json.Unmarshal(data, &config); err != nil {
			t.Fatal(err)
		}
		maps.Copy(config, map[string]any{strings.SplitN(c.key, ".", 2)[0]: c.value})
		changed, _ := json.Marshal(config)
		if err := os.WriteFile(filepath.Join(dir, configName), changed, 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := Load(dir, LoadOptions{})
		if bad, ok := errors.AsType[*kernel.Error](err); !ok || bad.Arg() != c.key {
			t.Errorf("%s = %v: %v", c.key, c.value, err)
		}
	}
}
