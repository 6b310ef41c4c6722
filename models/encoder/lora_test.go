package encoder

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/internal/ggufwriter"
	"github.com/attn-go/attn/models/lora"
	"github.com/attn-go/attn/models/safetensors"
)

const (
	adapted = "../testdata/tiny/bert-1"
	adapter = "../testdata/tiny/lora/bert-1"
)

// TestAdapter: a model with an adapter has the numbers of the peft library, and the digest is
// another one.
func TestAdapter(t *testing.T) {
	o := LoadOptions{LoRA: []lora.Adapter{{Path: adapter}}}
	r, f := readAdapted(t, adapter)
	r.compareEncoder(&comparison{t, f, 0, map[string]*errorSum{}}, adapted, o)
	// Without safetensors the file of PyTorch counts.
	old := t.TempDir()
	for _, name := range []string{"adapter_config.json", "adapter_model.bin"} {
		data, err := os.ReadFile(filepath.Join(adapter, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(old, name), data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	r.compareEncoder(&comparison{t, f, 0, map[string]*errorSum{}}, adapted, LoadOptions{LoRA: []lora.Adapter{{Path: old}}})
	digests := map[[32]byte]bool{}
	for _, list := range [][]lora.Adapter{nil, o.LoRA, {{Path: adapter, Scale: .5}}, {{Path: old}}} {
		d, err := Digest(adapted, LoadOptions{LoRA: list})
		if err != nil {
			t.Fatal(err)
		}
		digests[d] = true
	}
	if len(digests) != 4 {
		t.Errorf("%d digests, want 4", len(digests))
	}
}

// readAdapted reads the references of an adapter.
func readAdapted(t *testing.T, dir string) (*tinyRefs, *safetensors.File) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "refs.json"))
	r := &tinyRefs{}
	if err == nil {
		err = json.Unmarshal(data, r)
	}
	f, bad := safetensors.Open(filepath.Join(dir, "refs.safetensors"))
	if err = errors.Join(err, bad); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return r, f
}

// TestAdapterPerLayer: as TestAdapter, with inputs of layers and other heads in some layers.
func TestAdapterPerLayer(t *testing.T) {
	const dir = "../testdata/tiny/lora/embedding_gemma2-4"
	r, f := readAdapted(t, dir)
	r.compareEncoder(&comparison{t, f, 0, map[string]*errorSum{}}, "../testdata/tiny/embedding_gemma2-4", LoadOptions{LoRA: []lora.Adapter{{Path: dir}}})
}

// TestAdapterGGUF: an adapter in a GGUF file gives the same bits as in a folder.
func TestAdapterGGUF(t *testing.T) {
	f, err := safetensors.Open(filepath.Join(adapter, "adapter_model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := &ggufwriter.File{}
	for _, e := range []ggufwriter.Entry{
		{Key: "general.type", Value: "adapter"}, {Key: "general.architecture", Value: "bert"}, {Key: "adapter.type", Value: "lora"}, {Key: "adapter.lora.alpha", Value: float32(5)},
	} {
		w.Set(e.Key, e.Value)
	}
	names := strings.NewReplacer("base_model.model.encoder.layer.", "blk.", "attention.self.query", "attn_q", "attention.self.value", "attn_v", "intermediate.dense", "ffn_up", "lora_A.weight", "weight.lora_a", "lora_B.weight", "weight.lora_b")
	for _, name := range f.Names() {
		x, err := f.Float32(name)
		if err != nil {
			t.Fatal(err)
		}
		info, _ := f.Info(name)
		w.AddFloats(names.Replace(name), x, info.Shape...)
	}
	path := w.Write(t, t.TempDir(), "adapter", 1)
	texts := []string{"The cat sits on the mat.", "a"}
	var want [][]float32
	for _, c := range [][2]string{{adapted, adapter}, {"../testdata/tiny/gguf/bert-1.gguf", path}} {
		e, err := Load(c[0], LoadOptions{LoRA: []lora.Adapter{{Path: c[1], Scale: -1.5}}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.Embed(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := Load(c[0], LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if other, err := plain.Embed(t.Context(), texts); err != nil || equalBits(other[0], got[0]) {
			t.Errorf("the adapter changes nothing (%v)", err)
		}
		if want == nil {
			want = got
		}
		for i := range texts {
			if !equalBits(got[i], want[i]) {
				t.Errorf("%q: %v, want %v", texts[i], got[i], want[i])
			}
		}
	}
}
