package decoder

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/folder"
	"github.com/attn-go/attn/models/internal/tinyfolders"
	"github.com/attn-go/attn/models/safetensors"
)

// wrapped writes a folder of tiny as a model of texts within another one, with names of tensors
// that begin so, and changes its config.json.
func wrapped(t *testing.T, name, kind, begin, beside string, change func(outer, inner map[string]any)) string {
	t.Helper()
	dir := copied(t, name)
	path := filepath.Join(dir, "model.safetensors")
	f, err := safetensors.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := []safetensors.Tensor{{Name: "vision_tower.patch.weight", Shape: []int{1}, Data: []float32{1}}}
	if kind == "qwen3_5" { // which has layers that guess further tokens
		all = append(all, safetensors.Tensor{Name: "mtp.fc.weight", Shape: []int{1}, Data: []float32{1}})
	}
	for _, name := range f.Names() {
		x, err := f.Float32(name)
		if err != nil {
			t.Fatal(err)
		}
		info, _ := f.Info(name)
		if rest, ok := strings.CutPrefix(name, "model."); ok {
			name = begin + rest
		} else {
			name = beside + name
		}
		all = append(all, safetensors.Tensor{Name: name, Shape: info.Shape, Data: x})
	}
	inner, classes := map[string]any{}, map[string]string{"gemma3": "Gemma3ForConditionalGeneration", "gemma3n": "Gemma3nForConditionalGeneration", "gemma4": "Gemma4ForConditionalGeneration", "llava": "LlavaForConditionalGeneration", "mistral3": "Mistral3ForConditionalGeneration", "qwen3_5": "Qwen3_5ForConditionalGeneration"}
	config := filepath.Join(dir, configFile)
	if err := folder.ReadJSON(config, &inner); err != nil {
		t.Fatal(err)
	}
	outer := map[string]any{"model_type": kind, "architectures": []string{classes[kind]}, "text_config": inner, "vision_config": map[string]any{"hidden_size": 8}, "image_token_index": 5}
	if change != nil {
		change(outer, inner)
	}
	var file bytes.Buffer
	data, fail := json.Marshal(outer)
	if err := errors.Join(fail, safetensors.Write(&file, nil, all), os.WriteFile(config, data, 0o666), os.WriteFile(path, file.Bytes(), 0o666)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A model of texts within another one has the numbers that it has alone, by any of the names that
// tensors have had. What the file leaves out comes from the class, also sizes; towers for images
// are not read.
func TestWrapper(t *testing.T) {
	untied := func(outer, _ map[string]any) { outer["tie_word_embeddings"] = false }
	for _, x := range []struct {
		folder, kind, begin, beside string
		change                      func(outer, inner map[string]any)
	}{
		{"gemma3-whole-2", "gemma3", "language_model.model.", "language_model.", func(_, inner map[string]any) {
			delete(inner, "model_type")
			delete(inner, "rms_norm_eps")
			delete(inner, "tie_word_embeddings")
		}},
		{"gemma3-whole-2", "gemma3", "model.language_model.", "", nil},
		{"llama-2", "llava", "language_model.model.", "language_model.", nil},
		{"qwen2-2", "llava", "model.language_model.", "", nil},
		{"mistral-2", "mistral3", "language_model.model.", "language_model.", untied},
		{"gemma4-67", "gemma4", "model.language_model.", "", nil},
		{"qwen3_5_text-2", "qwen3_5", "model.language_model.", "", func(outer, inner map[string]any) {
			outer["tie_word_embeddings"] = inner["tie_word_embeddings"]
			inner["mtp_num_hidden_layers"], inner["attn_output_gate"] = 1, true
		}},
		{"ministral3-6", "mistral3", "model.language_model.", "", untied},
		{"gemma3n-67", "gemma3n", "model.language_model.", "", nil}, // without embeddings of other parts
	} {
		want := greedy(t, copied(t, x.folder))
		if got := greedy(t, wrapped(t, x.folder, x.kind, x.begin, x.beside, x.change)); !slices.Equal(got, want) {
			t.Errorf("%s in %s: other texts: %v, want %v", x.folder, x.kind, got, want)
		}
	}
	for key, change := range map[string]func(outer, inner map[string]any){
		"mystery":                 func(outer, _ map[string]any) { outer["mystery"] = 1 },
		"text_config.mystery":     func(_, inner map[string]any) { inner["mystery"] = 1 },
		"text_config.model_type":  func(_, inner map[string]any) { inner["model_type"] = "mystery" },
		"text_config.hidden_size": func(_, inner map[string]any) { inner["hidden_size"] = 0 },
		"architectures":           func(outer, _ map[string]any) { outer["architectures"] = []string{"Gemma3ForCausalLM", "Other"} },
		"sliding_window":          func(outer, _ map[string]any) { outer["sliding_window"] = 5 },
		"text_config":             func(outer, _ map[string]any) { outer["text_config"] = 5 },
	} {
		_, err := Load(wrapped(t, "gemma3-whole-2", "gemma3", "language_model.model.", "", change), Options{})
		if bad, ok := errors.AsType[*kernel.Error](err); !ok || bad.Arg() != key {
			t.Errorf("%s: %v", key, err)
		}
	}
	for _, x := range []struct {
		key   string
		value any
	}{{"image_token_id", "5"}, {"text_config.pad_token_id", nil}, {"text_config.pad_token_id", -1}, {"text_config.pad_token_id", 700}} {
		_, err := Load(wrapped(t, "gemma4-67", "gemma4", "model.language_model.", "", func(outer, inner map[string]any) {
			if key, ok := strings.CutPrefix(x.key, "text_config."); ok {
				inner[key] = x.value
			} else {
				outer[x.key] = x.value
			}
		}), Options{})
		if bad, ok := errors.AsType[*kernel.Error](err); !ok || bad.Arg() != x.key {
			t.Errorf("%s %v: %v", x.key, x.value, err)
		}
	}
}

// TestWrapperParts: embeddings of other parts that do not fit are errors. TestChanged of package
// models has the numbers of those that fit.
func TestWrapperParts(t *testing.T) {
	for want, audio := range map[string]map[string]any{
		"audio_config.vocab_offset":           {"vocab_offset": 49, "vocab_size": 14},
		"audio_config.vocab_size":             {"vocab_offset": 48, "vocab_size": 0},
		"model.embed_vision.embedding.weight": {"vocab_offset": 48},
	} {
		dir := wrapped(t, "gemma3n-67", "gemma3n", "model.language_model.", "", func(outer, _ map[string]any) {
			outer["vision_config"], outer["audio_config"] = map[string]any{"vocab_offset": 40, "vocab_size": 8}, audio
		})
		if strings.HasPrefix(want, "model.") {
			m := tinyfolders.Read(t, dir)
			m.Set(want, make([]float32, 21), 7, 3)
			dir = m.Write()
		}
		_, err := Load(dir, Options{})
		if bad, ok := errors.AsType[*kernel.Error](err); !ok || !strings.Contains(bad.Where, want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestWrapperRoots: embeddings of other parts count by both names that files give them. One part
// without the other is an error that names the missing tensor.
func TestWrapperRoots(t *testing.T) {
	parts := []string{"vision", "audio"}
	folder := func(begin, before string, list ...string) string {
		width := 0
		dir := wrapped(t, "gemma3n-67", "gemma3n", begin, "", func(outer, inner map[string]any) {
			width = int(inner["hidden_size"].(float64))
			outer["vision_config"], outer["audio_config"] = map[string]any{"vocab_offset": 5, "vocab_size": 2}, map[string]any{"vocab_offset": 7, "vocab_size": 1}
		})
		m := tinyfolders.Read(t, dir)
		for _, part := range list {
			name, rows := before+"embed_"+part, 2-slices.Index(parts, part)
			m.Set(name+".embedding.weight", []float32{1, -2, 3, 2, 1, -1}[:3*rows], rows, 3)
			m.Set(name+".hard_embedding_norm.weight", []float32{1, 2, 1}, 3)
			m.Set(name+".embedding_projection.weight", sines(3*width), width, 3)
		}
		return m.Write()
	}
	alone := greedy(t, folder("model.language_model.", ""))
	want := greedy(t, folder("model.language_model.", "model.", parts...))
	if slices.Equal(alone, want) {
		t.Error("the embeddings change nothing")
	}
	if got := greedy(t, folder("language_model.", "", parts...)); !slices.Equal(got, want) {
		t.Errorf("other texts: %v, want %v", got, want)
	}
	for i, part := range parts {
		for begin, before := range map[string]string{"model.language_model.": "model.", "language_model.": ""} {
			missing := before + "embed_" + parts[1-i] + ".embedding.weight"
			_, err := Load(folder(begin, before, part), Options{})
			if bad, ok := errors.AsType[*kernel.Error](err); !ok || !strings.Contains(bad.Where, missing) {
				t.Errorf("%s alone: %v, want an error about %s", part, err, missing)
			}
		}
	}
}

// sines returns n numbers.
func sines(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.Sin(float64(i * i)))
	}
	return x
}

// Biases that config.json denies are tensors that are not known, and those that it promises must be
// there.
func TestBiases(t *testing.T) {
	for _, x := range []struct {
		folder, key string
		value       any
	}{
		{"llama-2", "attention_bias", false}, {"llama-2", "mlp_bias", false}, {"qwen3-2", "attention_bias", true}, {"qwen3_moe-2", "attention_bias", true}, {"gemma2-2", "attention_bias", true},
		{"qwen2-2", "model_type", "llama"},
	} {
		dir := copied(t, x.folder)
		var config map[string]any
		if err := folder.ReadJSON(filepath.Join(dir, configFile), &config); err != nil {
			t.Fatal(err)
		}
		if was, ok := config[x.key].(bool); ok {
			x.value = !was
		}
		tinyfolders.SetKey(t, dir, x.key, x.value)
		if x.key == "model_type" {
			for _, key := range []string{"architectures", "layer_types", "max_window_layers", "use_sliding_window"} {
				tinyfolders.SetKey(t, dir, key, nil)
			}
		}
		if _, err := Load(dir, Options{}); err == nil || !strings.Contains(err.Error(), "bias") {
			t.Errorf("%s %s %v: %v", x.folder, x.key, x.value, err)
		}
	}
}
