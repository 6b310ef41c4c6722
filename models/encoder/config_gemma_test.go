package encoder

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/internal/folder"
	"github.com/attn-go/attn/models/safetensors"
)

const gemma = "../testdata/tiny/embedding_gemma2-4"

// gemmaFolder writes a copy of a model with another config.json. If this has a text_config, the
// copy has tensors of towers, too, which see and hear.
func gemmaFolder(t *testing.T, config map[string]any) string {
	t.Helper()
	dir := t.TempDir()
	data, err := json.Marshal(config)
	if err := errors.Join(err, os.CopyFS(dir, os.DirFS(gemma)), os.WriteFile(filepath.Join(dir, configName), data, 0o666)); err != nil {
		t.Fatal(err)
	}
	if config["text_config"] == nil {
		return dir
	}
	path := filepath.Join(dir, "model.safetensors")
	f, err := safetensors.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := []safetensors.Tensor{{Name: "vision_tower.patch.weight", Shape: []int{1}, Data: []float32{1}}, {Name: "embed_audio.embedding_projection.weight", Shape: []int{1}, Data: []float32{1}}}
	for _, name := range f.Names() {
		x, err := f.Float32(name)
		if err != nil {
			t.Fatal(err)
		}
		info, _ := f.Info(name)
		all = append(all, safetensors.Tensor{Name: "language_model." + name, Shape: info.Shape, Data: x})
	}
	var file bytes.Buffer
	if err := errors.Join(safetensors.Write(&file, nil, all), os.WriteFile(path, file.Bytes(), 0o666)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestWrapped: EmbeddingGemma 2 within the model that also sees images, as it is published, has the
// bits that it has alone. Its vectors are as wide as its projection, with any pooling.
func TestWrapped(t *testing.T) {
	want, err := Load(gemma, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var inner map[string]any
	if err := folder.ReadJSON(filepath.Join(gemma, configName), &inner); err != nil {
		t.Fatal(err)
	}
	outer := map[string]any{"model_type": "embedding_gemma2", "architectures": []string{"EmbeddingGemma2Model"}, "text_config": inner, "vision_config": map[string]any{"hidden_size": 8}, "image_token_id": 5}
	got, err := Load(gemmaFolder(t, outer), LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"The cat sits on the mat.", "a"}
	all := embed(t, want, texts)
	for i, x := range embed(t, got, texts) {
		if len(x) != 24 || !equalBits(x, all[i]) {
			t.Errorf("%q: other bits", texts[i])
		}
	}
	for _, how := range []embedding.Pooling{embedding.PoolFirst, embedding.PoolLast, embedding.PoolMax} {
		var last []float32
		err := want.net.States(t.Context(), [][]int32{want.Tokens(texts[0])}, nil, &want.opts, how, func(_ int, x []float32) error {
			last = append(last, x...)
			return nil
		})
		if err != nil || len(last)%24 != 0 || how != embedding.PoolMax && len(last) != 24 {
			t.Errorf("%s: %d numbers (%v)", how, len(last), err)
		}
	}
	if _, err := Load(gemmaFolder(t, with(inner, "use_bidirectional_attention", true)), LoadOptions{}); err != nil {
		t.Error(err)
	}
	_, err = Load(gemmaFolder(t, with(inner, "use_bidirectional_attention", false)), LoadOptions{})
	if bad, ok := errors.AsType[*kernel.Error](err); !ok || bad.Got != "false" {
		t.Errorf("use_bidirectional_attention false: %v", err)
	}
	for key, value := range map[string]any{
		"sliding_window": nil, "hidden_size_per_layer_input": 1 << 19, "embedding_dim": 0, "hidden_activation": "silu", "attention_k_eq_v": true, "num_kv_shared_layers": 1, "use_bidirectional_attention": "all", "final_logit_softcapping": 30,
		"rope_theta": 5,
	} {
		_, err := Load(gemmaFolder(t, with(inner, key, value)), LoadOptions{})
		if bad, ok := errors.AsType[*kernel.Error](err); !ok || bad.Arg() != key {
			t.Errorf("%s %v: %v", key, value, err)
		}
	}
	for name, c := range map[string]map[string]any{"": with(outer, "mystery", 1), "text_config.": with(outer, "text_config", with(inner, "mystery", 1))} {
		_, err := Load(gemmaFolder(t, c), LoadOptions{})
		if bad, ok := errors.AsType[*kernel.Error](err); !ok || bad.Arg() != name+"mystery" {
			t.Errorf("%smystery: %v", name, err)
		}
	}
	_, err = Load(gemmaFolder(t, with(outer, "text_config", with(inner, "pad_token_id", 700))), LoadOptions{})
	if bad, ok := errors.AsType[*kernel.Error](err); !ok || bad.Arg() != "text_config.pad_token_id" {
		t.Errorf("pad_token_id 700: %v", err)
	}
}
