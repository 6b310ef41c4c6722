package inspect

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/encoder/berttest"
)

const tiny = "../../../testdata/tiny/"

// inspect runs the command.
func inspect(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), args, &out)
	return out.String(), err
}

// TestInspect: models that can be loaded lack nothing, and their weights take what the files have.
func TestInspect(t *testing.T) {
	folders, err := filepath.Glob(tiny + "*/config.json")
	files, err2 := filepath.Glob(tiny + "gguf/*.gguf")
	if err != nil || err2 != nil || len(folders) == 0 || len(files) == 0 {
		t.Fatalf("no models: %v, %v", err, err2)
	}
	for _, path := range append(folders, files...) {
		if filepath.Ext(path) == ".json" {
			path = filepath.Dir(path)
		}
		out, err := inspect(t, "-json", path)
		var r record
		if decoded := json.Unmarshal([]byte(out), &r); err != nil || decoded != nil {
			t.Errorf("%s: %v, %v: %s", path, err, decoded, out)
			continue
		}
		if len(r.Problems) > 0 || r.Tokenizer != "" || r.Kind == "" || r.Architecture == "" || r.Sizes["width"] < 1 {
			t.Errorf("%s: %s", path, out)
		}
		most := r.FileBytes * 11 / 10
		if r.Architecture == "deberta-v2" { // whose layers keep keys and queries of positions, a large part of so small a model
			most = r.FileBytes * 5 / 4
		}
		if strings.Contains(path, "splade") { // whose embeddings are a table, and a layer in the end
			most = r.FileBytes * 3 / 2
		}
		if strings.Contains(path, "mxfp4") { // which takes 7 bits a weight in place of 4
			most = r.FileBytes * 5 / 4
		}
		if r.Memory < r.FileBytes*3/4 || r.Memory > most { // poolers and the like are left out
			t.Errorf("%s: memory %d, file %d", path, r.Memory, r.FileBytes)
		}
		text, err := inspect(t, path)
		for _, want := range []string{r.Architecture, string(r.Kind), "width", "F32", "memory", "missing       nothing"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in %s (%v)", path, want, text, err)
			}
		}
	}
}

// TestMissing: all that a model lacks is listed, and the status is not 0.
func TestMissing(t *testing.T) {
	dir := t.TempDir()
	m := berttest.New("bert.")
	delete(m.Tensors, "bert.encoder.layer.0.attention.self.query.bias")
	m.Tensors["bert.encoder.layer.1.output.dense.weight"] = m.Tensors["bert.embeddings.LayerNorm.bias"]
	m.Tensors["extra"] = m.Tensors["bert.embeddings.LayerNorm.bias"]
	if err := m.Write(dir, "F32"); err != nil {
		t.Fatal(err)
	}
	out, err := inspect(t, dir)
	if !errors.Is(err, errProblems) {
		t.Errorf("a damaged model: %v", err)
	}
	for _, want := range []string{"query.bias: nothing", "layer.1.output.dense.weight: F32 [24]", "extra: F32"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	// As many layers as a key can say are not all listed.
	m.Config["num_hidden_layers"] = 1 << 16
	if err := m.Write(dir, "F32"); err != nil {
		t.Fatal(err)
	}
	r, err := models.Inspect(dir)
	if err != nil || len(r.Problems) > 200 || r.MoreProblems == 0 {
		t.Errorf("the most layers: %d problems, %v", len(r.Problems), err)
	}
	// A decoder too.
	dir = t.TempDir()
	for _, name := range []string{"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"} {
		data, err := os.ReadFile(tiny + "qwen3-2/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if name == "config.json" {
			data = bytes.Replace(data, []byte(`"num_hidden_layers": 2`), []byte(`"num_hidden_layers": 3`), 1)
			data = bytes.Replace(data, []byte(`"layer_types": [`), []byte(`"layer_types": ["full_attention",`), 1)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if out, err = inspect(t, dir); !errors.Is(err, errProblems) || !strings.Contains(out, "model.layers.2.self_attn.q_proj.weight") || !strings.Contains(out, "model.layers.2.mlp.down_proj.weight") {
		t.Errorf("a decoder without its last layer: %v: %s", err, out)
	}
}

// TestErrors: what is no model is an error that says so.
func TestErrors(t *testing.T) {
	if _, err := inspect(t); !errors.As(err, new(command.UsageError)) {
		t.Errorf("no path: %v", err)
	}
	if out, err := inspect(t, "-h"); err != nil || !strings.Contains(out, "usage: attn inspect") {
		t.Errorf("help: %q, %v", out, err)
	}
	if _, err := inspect(t, t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty folder: %v", err)
	}
}
