package receipt

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/lora"
)

// TestAdapters: a receipt names the adapters of a model, each of which counts, with its scale.
func TestAdapters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "llama-2") // beside whose files SHA-256 are kept
	if err := os.CopyFS(path, os.DirFS("../testdata/tiny/llama-2")); err != nil {
		t.Fatal(err)
	}
	merged := []lora.Adapter{{Path: "../testdata/tiny/lora/llama-2", Scale: 2}}
	adapters, err := Adapters(merged)
	if err != nil {
		t.Fatal(err)
	}
	model, m := load(t, path, decoder.Options{LoRA: merged})
	w, err := Create(filepath.Join(t.TempDir(), "receipts"), "", "tiny", path, "llama", merged...)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if len(w.Model().Adapters) != 1 || w.Model().Adapters[0].Files[1] != adapters[0].Files[1] {
		t.Fatalf("the file's model is %+v, want one with %+v", w.Model(), adapters)
	}
	o := decoder.GenerateOptions{MaxTokens: 2, Stop: []int32{}}
	c, err := Record(w.Model(), m, []int32{5, 6, 7}, &o)
	if err != nil {
		t.Fatal(err)
	}
	o.Logits = func(_ int, logits []float32) { c.Logits(logits) }
	for token, err := range m.Generate(t.Context(), []int32{5, 6, 7}, o) {
		if err != nil {
			t.Fatal(err)
		}
		c.Add(token)
	}
	data, err := c.Receipt().Bytes()
	if err != nil {
		t.Fatal(err)
	}
	r, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	model.Adapters = adapters
	if err := Verify(t.Context(), model, m, r, Options{}); err != nil {
		t.Error(err)
	}
	other, err := decoder.Load(path, decoder.Options{LoRA: []lora.Adapter{{Path: merged[0].Path}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := Verify(t.Context(), model, other, r, Options{}); !errors.Is(err, ErrMismatch) {
		t.Errorf("with another scale of the weights: %v", err)
	}
	scaled, file := adapters[0], adapters[0]
	scaled.Scale, file.Files = 1, []File{file.Files[0], {file.Files[1].Name, Hash{}}}
	for _, list := range [][]Adapter{nil, {scaled}, {file}, {adapters[0], adapters[0]}} {
		model.Adapters = list
		if err := r.CheckModel(model); !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), "model.adapters") {
			t.Errorf("adapters %+v: %v", list, err)
		}
	}
	r.Model.Adapters[0].Files = nil
	if err := r.check(); err == nil {
		t.Error("an adapter without files is taken")
	}
}
