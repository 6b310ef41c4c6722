package adapters

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/ggufwriter"
	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/models/lora"
	"github.com/attn-go/attn/models/safetensors"
)

// numbers returns n numbers with all bits of float32, from a seed.
func numbers(n int, seed uint32) []float32 {
	x := make([]float32, n)
	for i := range x {
		seed = seed*1664525 + 1013904223
		x[i] = float32(int32(seed)) / (1 << 31) / 3
	}
	return x
}

func write(t *testing.T, path string, all ...safetensors.Tensor) {
	t.Helper()
	f, err := os.Create(path)
	if err == nil {
		err = errors.Join(safetensors.Write(f, nil, all), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

const (
	n, k, rank = 451, 150, 3 // numbers of the matrix are read in several pieces, which cut rows
	stem       = "base_model.model.a.b.lora_"
)

// folder writes a model with the matrix m.a.b.weight and an adapter of it, after changes.
func folder(t *testing.T, config map[string]any, change func(all map[string]safetensors.Tensor)) (model, adapter string, w, a, b []float32) {
	t.Helper()
	model, adapter = t.TempDir(), t.TempDir()
	w, a, b = numbers(n*k, 1), numbers(rank*k, 2), numbers(n*rank, 3)
	write(t, filepath.Join(model, "model.safetensors"), safetensors.Tensor{Name: "m.a.b.weight", Shape: []int{n, k}, Data: w})
	all := map[string]safetensors.Tensor{"A": {Name: stem + "A.weight", Shape: []int{rank, k}, Data: a}, "B": {Name: stem + "B.weight", Shape: []int{n, rank}, Data: b}}
	if change != nil {
		change(all)
	}
	write(t, filepath.Join(adapter, "adapter_model.safetensors"), slices.Collect(maps.Values(all))...)
	c := map[string]any{"peft_type": "LORA", "r": rank, "lora_alpha": 5.5, "bias": "none"}
	for key, value := range config {
		c[key] = value
	}
	data, err := json.Marshal(c)
	if err == nil {
		err = os.WriteFile(filepath.Join(adapter, "adapter_config.json"), data, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	return model, adapter, w, a, b
}

// fma is a fused multiply-add of float32, by exact numbers.
func fma(x, y, z float32) float32 {
	exact := func(x float32) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(float64(x)) }
	p := exact(x)
	out, _ := p.Add(p.Mul(p, exact(y)), exact(z)).Float32()
	return out
}

// TestBits: the bits are those that package lora defines, of all scales.
func TestBits(t *testing.T) {
	for _, c := range []struct {
		as     gguf.Type
		config map[string]any
		scale  float64
		alpha  float64
	}{
		{gguf.F32, nil, 0, 5.5 / rank},
		{gguf.BF16, map[string]any{"use_rslora": true}, -0.7, -0.7 * (5.5 / math.Sqrt(rank))},
		{gguf.F32, map[string]any{"alpha_pattern": map[string]any{"b": 2, "c": 9}, "r": 5, "rank_pattern": map[string]any{"^a.b": rank, "x": 1}}, 0, 2. / rank},
	} {
		_, adapter, w, a, b := folder(t, c.config, nil)
		base := &ggufwriter.File{}
		if base.AddFloats("m.a.b.weight", w, n, k); c.as == gguf.BF16 {
			x := &base.Tensors[0]
			var upper []byte
			for i := range w {
				upper = append(upper, x.Data[4*i+2:4*i+4]...)
				w[i] = math.Float32frombits(math.Float32bits(w[i]) &^ 0xffff)
			}
			x.Type, x.Data = gguf.BF16, upper
		}
		for i := range n {
			for j := range k {
				sum := float32(0)
				for r := range rank {
					sum = fma(b[i*rank+r], a[r*k+j], sum)
				}
				p := float32(float32(c.alpha) * sum)
				w[i*k+j] += p
			}
		}
		f, err := gguf.New(base.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		s := tensors.OfGGUF(f, "")
		if err := Merge(s, "", []lora.Adapter{{Path: adapter, Scale: c.scale}}, kernel.Exec{}); err != nil {
			t.Fatal(err)
		}
		r := &tensors.Reader{Store: s}
		if got := r.Floats("m.a.b.weight", n, k); !slices.Equal(got, w) {
			t.Errorf("%v: other weights than by the definition", c.config)
		}
	}
}

// TestPEFT: what is not merged is an error that names it.
func TestPEFT(t *testing.T) {
	type all = map[string]safetensors.Tensor
	for key, value := range map[string]any{
		"peft_type": "IA3", "bias": "all", "modules_to_save": []string{"classifier"}, "use_dora": true, "lora_bias": true, "fan_in_fan_out": true, "use_qalora": true,
		"target_parameters": []string{"x"}, "layer_replication": [][]int{{0, 1}}, "trainable_token_indices": []int{1}, "alora_invocation_tokens": []int{1}, "init_lora_weights": "pissa",
		"loftq_config": map[string]any{"x": 1}, "ensure_weight_tying": true, "new_key": 1, "r": 4, "lora_alpha": "x", "rank_pattern": map[string]any{"b": 2}, "alpha_pattern": map[string]any{"(?=b)": 2},
	} {
		check(t, key, map[string]any{key: value}, nil)
	}
	check(t, "alpha_pattern", map[string]any{"alpha_pattern": map[string]any{"b": 2, "a.b": 3}}, nil)
	for want, change := range map[string]func(all){
		"base_model.model.e.lora_embedding_A": func(x all) {
			x["e"] = safetensors.Tensor{Name: "base_model.model.e.lora_embedding_A", Shape: []int{1, 1}, Data: []float32{1}}
		},
		"lora_magnitude_vector": func(x all) {
			x["e"] = safetensors.Tensor{Name: "base_model.model.a.b.lora_magnitude_vector", Shape: []int{1}, Data: []float32{1}}
		},
		"a.b.lora_A.weight": func(x all) { delete(x, "B") },
		"no tensor q.weight": func(x all) {
			for _, m := range []string{"A", "B"} {
				y := x[m]
				y.Name = "base_model.model.q.lora_" + m + ".weight"
				x[m] = y
			}
		},
		"A [rank, inputs]": func(x all) {
			x["B"] = safetensors.Tensor{Name: stem + "B.weight", Shape: []int{n, 1}, Data: numbers(n, 1)}
		},
		"a matrix [450, 150]": func(x all) {
			x["B"] = safetensors.Tensor{Name: stem + "B.weight", Shape: []int{n - 1, rank}, Data: numbers((n-1)*rank, 1)}
		},
		"no tensors": func(x all) { clear(x) },
	} {
		check(t, want, nil, change)
	}
}

// TestNames: an adapter and the files name a tensor with or without a class before its name. A
// tensor of another part of the model is another tensor, though its name has the same end.
func TestNames(t *testing.T) {
	const tensor = "layers.0.q.weight"
	for _, c := range []struct {
		files, adapter string // before the name
		ok             bool
	}{
		{"", "", true}, {"", "bert.", true}, {"bert.", "", true}, {"", "model.", true}, {"", "model.language_model.", true},
		{"", "language_model.", true}, {"language_model.", "", true}, {"language_model.", "model.", true}, {"model.", "language_model.", true},
		{"language_model.", "model.language_model.", true}, {"model.language_model.", "language_model.model.", true}, {"backbone.", "model.", true},
		{"", "vision_tower.", false}, {"", "vision_tower.encoder.", false}, {"", "model.vision_tower.", false}, {"", "audio_tower.", false}, {"", "visual.", false},
		{"", "mtp.", false}, {"", "model.mtp.", false}, {"model.", "model.mtp.", false}, {"model.", "model.visual.", false},
		{"mtp.", "", false}, {"vision_tower.", "", false}, {"model.vision_tower.", "", false}, {"bert.", "roberta.", false},
	} {
		f := &ggufwriter.File{}
		f.AddFloats(c.files+tensor, []float32{1}, 1, 1)
		file, err := gguf.New(f.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		got, err := new(peft).find(tensors.OfGGUF(file, ""), c.adapter+tensor)
		if c.ok && (err != nil || got != c.files+tensor) || !c.ok && (err == nil || !strings.Contains(err.Error(), "no tensor "+c.adapter+tensor)) {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

func check(t *testing.T, want string, config map[string]any, change func(map[string]safetensors.Tensor)) {
	t.Helper()
	model, adapter, _, _, _ := folder(t, config, change)
	s, err := tensors.Open(model)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = Merge(s, "", []lora.Adapter{{Path: adapter}}, kernel.Exec{})
	if !errors.As(err, new(*kernel.Error)) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v: %v, want an error about %s", config, err, want)
	}
}

// TestGGUF: so it is with adapters of GGUF files, and with weights in blocks.
func TestGGUF(t *testing.T) {
	base := &ggufwriter.File{}
	base.Set("general.architecture", "llama")
	base.AddFloats("w.weight", numbers(4*32, 1), 4, 32)
	base.Tensors = append(base.Tensors, gguf.Tensor{Name: "q.weight", Type: gguf.Q8_0, Shape: []int{4, 32}, Data: make([]byte, 4*34)})
	for want, change := range map[string]func(f *ggufwriter.File){
		"":                         func(*ggufwriter.File) {},
		"general.type":             func(f *ggufwriter.File) { f.Set("general.type", "model") },
		"general.architecture":     func(f *ggufwriter.File) { f.Set("general.architecture", "qwen3") },
		"adapter.type":             func(f *ggufwriter.File) { f.Set("adapter.type", "control_vector") },
		"adapter.lora.alpha":       func(f *ggufwriter.File) { f.Set("adapter.lora.alpha", "x") },
		"adapter.new":              func(f *ggufwriter.File) { f.Set("adapter.new", "x") },
		"alora.invocation_tokens":  func(f *ggufwriter.File) { f.Set("adapter.alora.invocation_tokens", "x") },
		"adapter.lora.prompt_pref": func(f *ggufwriter.File) { f.Set("adapter.lora.prompt_prefix", "x") },
		"token_embd.weight.lora_a": func(f *ggufwriter.File) { f.AddFloats("token_embd.weight.lora_a", []float32{1}, 1, 1) },
		"output_norm.weight":       func(f *ggufwriter.File) { f.AddFloats("output_norm.weight", []float32{1}, 1) },
		"Q8_0 [4 32]": func(f *ggufwriter.File) {
			f.AddFloats("q.weight.lora_a", numbers(2*32, 1), 2, 32)
			f.AddFloats("q.weight.lora_b", numbers(2*4, 1), 4, 2)
		},
	} {
		f := &ggufwriter.File{}
		for _, e := range [][2]string{{"general.type", "adapter"}, {"general.architecture", "llama"}, {"adapter.type", "lora"}} {
			f.Set(e[0], e[1])
		}
		f.Set("adapter.lora.alpha", float32(0))
		f.AddFloats("w.weight.lora_a", numbers(2*32, 1), 2, 32)
		f.AddFloats("w.weight.lora_b", numbers(2*4, 1), 4, 2)
		change(f)
		dir := t.TempDir()
		model, err := gguf.Open(base.Write(t, dir, "model", 1))
		if err != nil {
			t.Fatal(err)
		}
		defer model.Close()
		err = Merge(tensors.OfGGUF(model, "x"), "llama", []lora.Adapter{{Path: f.Write(t, dir, "adapter", 1)}}, kernel.Exec{})
		switch {
		case want == "" && err != nil:
			t.Error(err)
		case want != "" && !(strings.Contains(fmt.Sprint(err), want) && errors.As(err, new(*kernel.Error))):
			t.Errorf("%v, want an error about %s", err, want)
		}
	}
}
