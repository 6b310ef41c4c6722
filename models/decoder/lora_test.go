package decoder

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/tinyllama"
	"github.com/attn-go/attn/models/lora"
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
