package verify

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/lora"
	"github.com/attn-go/attn/models/receipt"
)

// TestAdapter: the receipt of a model with an adapter holds with -lora alone.
func TestAdapter(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	model := filepath.Join(t.TempDir(), "bert")
	if err := os.CopyFS(model, os.DirFS("../../../testdata/tiny/bert-1")); err != nil {
		t.Fatal(err)
	}
	const adapter = "../../../testdata/tiny/lora/bert-1"
	load := embedding.LoadOptions{LoRA: []lora.Adapter{{Path: adapter, Scale: 0.5}}}
	e, err := models.OpenEmbedder(model, load)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"a cat"}
	vectors, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "receipts")
	w, err := receipt.Create(file, "", model, model, "bert", load.LoRA...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := receipt.RecordEmbeddings(w.Model(), load, e, texts, vectors)
	if err == nil {
		err = errors.Join(w.Write(r), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{{[]string{"-lora", adapter + "=0.5"}, "all 1 texts hold"}, {[]string{"-lora", adapter}, "model.adapters"}, {nil, "model.adapters"}} {
		var out strings.Builder
		err := run(t.Context(), append(c.args, file, "-model", model), &out)
		if holds := c.want == "all 1 texts hold"; !strings.Contains(out.String(), c.want) || holds != (err == nil) || !holds && !errors.As(err, new(*kernel.Error)) {
			t.Errorf("%q: %q, %v, want %q", c.args, &out, err, c.want)
		}
	}
}
