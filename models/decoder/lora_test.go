package decoder

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/ggufwriter"
	"github.com/attn-go/attn/models/internal/tinyfolders"
	"github.com/attn-go/attn/models/internal/tinyllama"
	"github.com/attn-go/attn/models/lora"
	"github.com/attn-go/attn/models/safetensors"
)

const (
	adapted = "../testdata/tiny/llama-2"
	adapter = "../testdata/tiny/lora/llama-2"
)

// adaptedLogits returns the logits of a few tokens.
func adaptedLogits(t *testing.T, m *Model) []float32 {
	t.Helper()
	s := session(t, m, 1, 4)
	return slices.Clone(forward(t, s, Step{Text: s.NewText(), Tokens: []int32{5, 6, 7}, Logits: LogitsAll})[0])
}

// TestAdapter: a model with an adapter has the numbers of the peft library, of ranks and alphas by
// patterns, and the same bits on all tiers and threads.
func TestAdapter(t *testing.T) {
	o := Options{LoRA: []lora.Adapter{{Path: adapter}}}
	r := readTiny(t, adapter)
	var err error
	if r.model, err = Load(adapted, o); err != nil {
		t.Fatal(err)
	}
	t.Run("numbers", r.checkNumbers)
	t.Run("bits", r.checkBits)
	t.Run("greedy", r.checkGreedy)
	want := adaptedLogits(t, r.model)
	for _, tier := range kernel.Tiers() {
		for _, threads := range []int{1, 3} {
			o.Exec = kernel.Exec{Tier: tier, Threads: threads}
			m, err := Load(adapted, o)
			if err != nil {
				t.Fatal(err)
			}
			if got := adaptedLogits(t, m); !slices.Equal(got, want) {
				t.Errorf("tier %v, %d threads: other logits", tier, threads)
			}
		}
	}
}

// TestAdapterLatent: as TestAdapter, with projections around experts, whose modules transformers
// calls model where files say backbone. A layer that guesses further tokens changes nothing, and
// GGUF files of the model and the adapter give the same bits.
func TestAdapterLatent(t *testing.T) {
	const model, adapter = "../testdata/tiny/nemotron_h-latent-41", "../testdata/tiny/lora/nemotron_h-latent-41"
	r := readTiny(t, adapter)
	var err error
	if r.model, err = Load(model, Options{LoRA: []lora.Adapter{{Path: adapter}}}); err != nil {
		t.Fatal(err)
	}
	t.Run("numbers", r.checkNumbers)
	t.Run("greedy", r.checkGreedy)
	want := adaptedLogits(t, r.model)
	v, _ := convert(t, model)
	for path, adapter := range map[string]string{
		tinyfolders.Read(t, model).AddAhead().Write(): adapter,
		v.Write(t, t.TempDir(), "model", 1):           ggufAdapter(t, v.m, adapter),
	} {
		m, err := Load(path, Options{LoRA: []lora.Adapter{{Path: adapter}}, MTP: !strings.HasSuffix(path, ".gguf")})
		if err != nil {
			t.Fatal(err)
		}
		if got := adaptedLogits(t, m); !slices.Equal(got, want) {
			t.Errorf("%s: other logits", path)
		}
	}
}

// ggufAdapter writes an adapter as llama.cpp's convert_lora_to_gguf.py does.
func ggufAdapter(t *testing.T, m *arch.Model, dir string) string {
	t.Helper()
	f, err := safetensors.Open(filepath.Join(dir, "adapter_model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := &ggufwriter.File{}
	w.Set("general.type", "adapter")
	w.Set("general.architecture", m.Family.GGUF)
	w.Set("adapter.type", "lora")
	w.Set("adapter.lora.alpha", float32(3))
	for _, name := range f.Names() {
		x, err := f.Float32(name)
		if err != nil {
			t.Fatal(err)
		}
		info, _ := f.Info(name)
		module, matrix, _ := strings.Cut(strings.TrimPrefix(name, "base_model.model.model."), ".lora_")
		layer := strings.Split(module, ".")[1]
		found := false
		for ours, theirs := range m.Family.Names {
			if strings.ReplaceAll(theirs, "%d", layer) == "backbone."+module {
				w.AddFloats(strings.ReplaceAll(ours, "%d", layer)+".weight.lora_"+strings.ToLower(matrix[:1]), x, info.Shape...)
				found = true
			}
		}
		if !found {
			t.Fatalf("no tensor of GGUF files for %s", name)
		}
	}
	return w.Write(t, t.TempDir(), "adapter", 1)
}

// TestAdapterState: kept states, and options that a model is given later, belong to its adapters.
func TestAdapterState(t *testing.T) {
	states := map[string]bool{}
	var m *Model
	for _, list := range [][]lora.Adapter{nil, {{Path: adapter}}, {{Path: adapter, Scale: 2}}, {{Path: adapter}, {Path: adapter}}} {
		var err error
		if m, err = Load(adapted, Options{LoRA: list}); err != nil {
			t.Fatal(err)
		}
		states[m.StateFingerprint("x")] = true
	}
	if len(states) != 4 {
		t.Errorf("%d fingerprints, want 4", len(states))
	}
	if n, err := m.With(Options{}); err != nil || len(n.Options().LoRA) != 2 {
		t.Errorf("With keeps %v (%v), want both adapters", n, err)
	}
	if _, err := m.With(Options{LoRA: []lora.Adapter{{Path: adapter}}}); !errors.As(err, new(*kernel.Error)) {
		t.Errorf("With takes other adapters: %v", err)
	}
}

// TestAdapterInVain: an adapter of another model, or for weights in blocks, is an error.
func TestAdapterInVain(t *testing.T) {
	for _, c := range []struct {
		model, adapter, want string
	}{
		{"../testdata/tiny/qwen3-2", adapter, "lm_head"},
		{adapted, "../testdata/tiny/lora/bert-1", "no tensor encoder.layer.0"},
		{adapted, filepath.Join(t.TempDir(), "none"), "none"},
		{adapted, "../testdata/tiny/gguf/bert-1.gguf", "a file for the model of a folder"},
		{tinyllama.New(nil).Write(t), adapter, "convert_lora_to_gguf.py"},
	} {
		_, err := Load(c.model, Options{LoRA: []lora.Adapter{{Path: c.adapter}}})
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, new(*kernel.Error)) && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s on %s: %v, want %q", c.adapter, c.model, err, c.want)
		}
	}
}
