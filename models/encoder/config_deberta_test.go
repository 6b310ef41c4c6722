package encoder

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/folder"
	"github.com/attn-go/attn/models/internal/inventory"
)

// TestRerankerKeys: values of config.json that are not computed are named.
func TestRerankerKeys(t *testing.T) {
	for _, c := range []struct {
		name, key string
		value     any
	}{
		{"deberta-6", "relative_attention", false},
		{"deberta-6", "conv_kernel_size", 3},
		{"deberta-6", "embedding_size", 8},
		{"deberta-6", "attention_head_size", 4},
		{"deberta-6", "pooler_hidden_size", 8},
		{"deberta-6", "pooler_hidden_act", "mish"},
		{"deberta-6", "position_buckets", 15},
		{"deberta-6", "position_buckets", 1 << 10},
		{"deberta-6", "pos_att_type", "p2p"},
		{"deberta-6", "pos_att_type", []string{}},
		{"deberta-6", "norm_rel_ebd", "batch_norm"},
		{"deberta-6", "type_vocab_size", -1},
		{"deberta-6", "max_position_embeddings", 1 << 14},
		{"bert-1", "max_position_embeddings", 2}, // of the three tokens around two texts
		{"modernbert-cls-6", "classifier_pooling", "max"},
		{"modernbert-cls-6", "classifier_activation", "mish"},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS("../testdata/tiny/reranker-"+c.name)); err != nil {
			t.Fatal(err)
		}
		path, config := filepath.Join(dir, configName), map[string]any{}
		if err := folder.ReadJSON(path, &config); err != nil {
			t.Fatal(err)
		}
		config[c.key] = c.value
		data, err := json.Marshal(config)
		if err == nil {
			err = os.WriteFile(path, data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		var bad *kernel.Error
		if _, err := LoadReranker(dir, LoadOptions{}); !errors.As(err, &bad) || bad.Arg() != c.key || !strings.HasPrefix(bad.Where, path+": ") {
			t.Errorf("%s: %s %v: %v", c.name, c.key, c.value, err)
		}
	}
}

// TestManyBuckets: a file with few weights takes no memory for many buckets, and inspecting it says
// so.
func TestManyBuckets(t *testing.T) {
	x, err := open("../testdata/tiny/reranker-deberta-6", LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.close()
	layer := x.model.Layers[0].Mixer.(*arch.Attention)
	apart := *layer.Apart
	apart.Span = 1 << 15
	layer.Apart = &apart
	var bad *kernel.Error
	if _, err := x.read(LoadOptions{}); !errors.As(err, &bad) || bad.Arg() != "position_buckets, max_relative_positions" {
		t.Errorf("loading: %v", err)
	}
	v := &inventory.Inventory{}
	r := x.reader()
	r.Dry = v
	x.readModel(r)
	if len(v.Problems) == 0 || v.Problems[0].Error() != bad.Error() {
		t.Errorf("inspecting: %v, want %v first", v.Problems, bad)
	}
}

// TestRerankerAsEmbedder: the classifiers of ModernBERT and DeBERTa are named by Load, too.
func TestRerankerAsEmbedder(t *testing.T) {
	for _, name := range []string{"deberta-6", "modernbert-cls-6"} {
		var bad *kernel.Error
		if _, err := Load("../testdata/tiny/reranker-"+name, LoadOptions{}); !errors.As(err, &bad) || bad.Want != "an embedding model; this one is for LoadReranker" {
			t.Errorf("%s: %v", name, err)
		}
	}
	v, err := inspect("../testdata/tiny/t5-4", true)
	if err != nil || len(v.Problems) != 1 {
		t.Errorf("an architecture without a classifier has the problems %v, want one (%v)", v, err)
	}
}
