package models_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/lora"
	"github.com/attn-go/attn/models/precision"
)

// TestKeepPacked: a model that keeps its layers gives the same bits when it writes them and when it
// reads them, which it does as long as its files do not change. Layers with other bits give other
// results, so they are read; damaged ones are not.
func TestKeepPacked(t *testing.T) {
	for _, x := range []struct {
		name, first string // "" if the model is a file
		precision   precision.Precision
	}{
		{"bert-1", "model.safetensors", precision.Float32}, {"reranker-bert-1", "model.safetensors", precision.Float32},
		{"qwen3-2", "model.safetensors", precision.Float32}, {"qwen3-embedding-2", "model.safetensors", precision.Float32},
		{"bert-1", "model.safetensors", precision.BFloat16}, {"qwen3-2", "model.safetensors", precision.BFloat16},
		{"gpt_oss-mxfp4-32", "model.safetensors", precision.Int8},
		{"gguf/bert-1.gguf", "", precision.Float32}, {"gguf/qwen3-embedding-2.gguf", "", precision.Float32},
	} {
		t.Run(fmt.Sprint(x.name, "-", x.precision), func(t *testing.T) {
			path := copyOf(t, "testdata/tiny/"+x.name)
			plain := models.Options{Embedding: embedding.LoadOptions{Precision: x.precision}, Generator: decoder.Options{Precision: x.precision}}
			want := results(t, path, plain)
			keep := plain
			keep.Embedding.KeepPacked, keep.Generator.KeepPacked = true, true
			file := filepath.Join(path, x.first) // the model itself if there is no first file
			packed := file + ".packed"
			var times []time.Time
			for range 2 {
				if got := results(t, path, keep); got != want {
					t.Fatalf("the results are %s, want %s", got, want)
				}
				info, err := os.Stat(packed)
				if err != nil {
					t.Fatal(err)
				}
				times = append(times, info.ModTime())
			}
			if times[0] != times[1] {
				t.Error("layers were packed again")
			}
			poison(t, packed, true)
			if got := results(t, path, keep); got == want {
				t.Error("other layers in the file give the same results: no layer is read")
			}
			poison(t, packed, false)
			if got := results(t, path, keep); got != want {
				t.Errorf("with damaged layers the results are %s, want %s", got, want)
			}
			if got := results(t, path, keep); got != want { // on most systems the damaged file is gone, and this writes another one
				t.Errorf("after damage the results are %s, want %s", got, want)
			}
			// Layers of a file that has changed are not used.
			if err := os.Chtimes(file, time.Time{}, time.Unix(1e9, 0)); err != nil {
				t.Fatal(err)
			}
			old := time.Unix(2e9, 0)
			if err := os.Chtimes(packed, time.Time{}, old); err != nil {
				t.Fatal(err)
			}
			if got := results(t, path, keep); got != want {
				t.Fatalf("after a change the results are %s, want %s", got, want)
			}
			if info, err := os.Stat(packed); err != nil || info.ModTime().Equal(old) {
				t.Errorf("layers of a file that has changed are used: %v", err)
			}
		})
	}
}

// poison changes a byte in each layer of a file, and the sums with it if the file is to hold.
func poison(t *testing.T, name string, sums bool) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	at := binary.LittleEndian.Uint64(data[16:])
	var table struct {
		Source []byte
		Layers map[string]struct {
			At, Size int64
			Sum      uint32
		}
	}
	if err := json.Unmarshal(data[at:], &table); err != nil || len(table.Layers) == 0 {
		t.Fatal("no layers", err)
	}
	for key, x := range table.Layers {
		layer := data[x.At:][:x.Size]
		layer[x.Size/2] ^= 0x55
		if sums {
			x.Sum = crc32.Checksum(layer, crc32.MakeTable(crc32.Castagnoli))
			table.Layers[key] = x
		}
	}
	text, err := json.Marshal(table)
	if err != nil {
		t.Fatal(err)
	}
	data = append(data[:at], text...)
	sum := sha256.Sum256(append(bytes.Clone(data[:24]), text...))
	copy(data[32:], sum[:])
	os.Remove(name) // an older mapping keeps its bytes
	if err := os.WriteFile(name, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// copyOf copies a file or a folder into the test's folder.
func copyOf(t *testing.T, name string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(name))
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if info.IsDir() {
		err = os.CopyFS(to, os.DirFS(name))
	} else if data, bad := os.ReadFile(name); bad == nil {
		err = os.WriteFile(to, data, 0o666)
	} else {
		err = bad
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// results returns all numbers that a model computes of some text.
func results(t *testing.T, path string, o models.Options) string {
	t.Helper()
	m, err := models.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	var numbers any
	switch m := m.(type) {
	case models.Embeds:
		numbers, err = m.Embedder().Embed(t.Context(), []string{"some text"})
	case models.Ranks:
		numbers, err = m.Reranker().Score(t.Context(), "some text", []string{"other text"})
	case models.Generates:
		s, bad := m.Generator().NewSession(1, 64)
		if bad != nil {
			t.Fatal(bad)
		}
		numbers, err = s.Forward(t.Context(), decoder.Step{Text: s.NewText(), Tokens: []int32{3, 4, 5}, Logits: decoder.LogitsLast})
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(numbers)
}

// TestKeepAdapted: kept layers belong to the adapters that are merged into them.
func TestKeepAdapted(t *testing.T) {
	for _, name := range []string{"bert-1", "llama-2"} {
		path := copyOf(t, "testdata/tiny/"+name)
		for _, list := range [][]lora.Adapter{nil, {{Path: "testdata/tiny/lora/" + name}}, {{Path: "testdata/tiny/lora/" + name, Scale: 2}}, nil} {
			options := func(keep bool) models.Options {
				return models.Options{Embedding: embedding.LoadOptions{LoRA: list, KeepPacked: keep}, Generator: decoder.Options{LoRA: list, KeepPacked: keep}}
			}
			want := results(t, path, options(false))
			for range 2 {
				if got := results(t, path, options(true)); got != want {
					t.Errorf("%s with %v: other results when they are kept", name, list)
				}
			}
		}
	}
}

// TestKeepSettings: layers that are kept are those that config.json makes of the files, which may
// change while these stay.
func TestKeepSettings(t *testing.T) {
	path, keep := copyOf(t, "testdata/tiny/falcon_h1-41"), models.Options{Generator: decoder.Options{KeepPacked: true}}
	config, before := filepath.Join(path, "config.json"), ""
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{"0.4", "0.8", "0.4"} {
		if err := os.WriteFile(config, bytes.Replace(text, []byte(`"key_multiplier": 0.4`), []byte(`"key_multiplier": `+by), 1), 0o666); err != nil {
			t.Fatal(err)
		}
		want := results(t, path, models.Options{})
		if want == before {
			t.Error("another key_multiplier gives the same results")
		}
		for range 2 {
			if got := results(t, path, keep); got != want {
				t.Errorf("key_multiplier %s: other results when layers are kept", by)
			}
		}
		before = want
	}
}
