package tensors

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gguf"
	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
	"github.com/attn-go/attn/models/safetensors"
)

const (
	single = "model.safetensors"
	index  = "model.safetensors.index.json"
)

// put writes files: text, or tensors of one number each.
func put(t *testing.T, dir, name, text string, tensors ...string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if tensors == nil {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	var all []safetensors.Tensor
	for i, tensor := range tensors {
		all = append(all, safetensors.Tensor{Name: tensor, Shape: []int{1}, Data: []float32{float32(i)}})
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := safetensors.Write(f, nil, all); err != nil {
		t.Fatal(err)
	}
}

// TestOpen: one file or shards have the same tensors, old names are known, and what
// nobody asks for is reported.
func TestOpen(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	put(t, one, single, "", "a.LayerNorm.gamma", "b.beta", "c")
	put(t, two, "first.safetensors", "", "a.LayerNorm.gamma")
	put(t, two, "second.safetensors", "", "b.beta", "c")
	put(t, two, index, `{"weight_map": {"a.LayerNorm.gamma": "first.safetensors", "c": "second.safetensors", "b.beta": "second.safetensors"}}`)
	for _, dir := range []string{one, two} {
		f, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got := f.Names(); !slices.Equal(got, []string{"a.LayerNorm.weight", "b.beta", "c"}) {
			t.Errorf("tensors %q", got)
		}
		r := &Reader{Store: f}
		if x := r.Floats("a.LayerNorm.weight", 1); r.Err() != nil || len(x) != 1 {
			t.Error(x, r.Err())
		}
		var bad *kernel.Error
		if err := f.Unused(); !errors.As(err, &bad) || bad.Arg() != "b.beta" || !strings.Contains(bad.Got, "1 more") {
			t.Errorf("tensors that are not used: %v", err)
		}
		if r.Floats("c", 2); !errors.As(r.Err(), &bad) || bad.Got != "F32 [1]" || bad.Want != "F32, F16 or BF16 [2]" {
			t.Errorf("another shape: %v", r.Err())
		}
		r = &Reader{Store: f}
		if r.Raw("c", []gguf.Type{gguf.I64, gguf.I32, gguf.F64}, 1); !errors.As(r.Err(), &bad) || bad.Want != "I64, I32 or F64 [1]" {
			t.Errorf("another type: %v", r.Err())
		}
		if f.Use("none") || !f.Use("b.beta") || f.Unused() != nil {
			t.Errorf("all are used: %v", f.Unused())
		}
	}
}

// TestOpenErrors: folders that cannot be read say why.
func TestOpenErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		put  func(dir string)
		want string
	}{
		{"bin", func(dir string) { put(t, dir, "pytorch_model.bin", "") }, "a zip archive, or what torch.save wrote"},
		{"h5", func(dir string) { put(t, dir, "tf_model.h5", "") }, "save_pretrained"},
		{"adapter", func(dir string) {
			put(t, dir, single, "", "a")
			put(t, dir, "adapter_config.json", `{"peft_type": "LORA"}`)
		}, "merge_and_unload"},
		{"adapter alone", func(dir string) { put(t, dir, "adapter_model.safetensors", "", "a") }, "merge_and_unload"},
		{"two", func(dir string) {
			put(t, dir, single, "", "a")
			put(t, dir, index, `{"weight_map": {"a": "model.safetensors"}}`)
		}, "one of both"},
		{"outside", func(dir string) { put(t, dir, index, `{"weight_map": {"a": "../a.safetensors"}}`) }, "a file of the folder"},
		{"none", func(dir string) { put(t, dir, index, `{}`) }, "weight_map"},
		{"other", func(dir string) {
			put(t, dir, "x.safetensors", "", "a", "b")
			put(t, dir, index, `{"weight_map": {"a": "x.safetensors"}}`)
		}, "the 1 that"},
		{"twice", func(dir string) { put(t, dir, single, "", "LayerNorm.gamma", "LayerNorm.weight") }, "two tensors"},
	} {
		dir := t.TempDir()
		c.put(dir)
		_, err := Open(dir)
		var bad *kernel.Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder: %v", err)
	}
	dir := t.TempDir()
	put(t, dir, index, `{"weight_map": {"a": "x.safetensors"}}`)
	if _, err := Open(dir); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "x.safetensors") {
		t.Errorf("a shard is missing: %v", err)
	}
}

// FuzzShards opens a folder with any index of shards beside one file.
func FuzzShards(f *testing.F) {
	f.Add([]byte(`{"metadata":{"total_size":4},"weight_map":{"x":"model-00001-of-00001.safetensors"}}`))
	f.Add([]byte(`{"weight_map":{"x":"../y.safetensors"}}`))
	f.Add([]byte(`{"weight_map":{}}`))
	dir := f.TempDir()
	header := `{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`
	data := append([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}, header+"\x00\x00\x80\x3f"...)
	if err := os.WriteFile(filepath.Join(dir, "model-00001-of-00001.safetensors"), data, 0o666); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, list []byte) {
		if err := os.WriteFile(filepath.Join(dir, index), list, 0o666); err != nil {
			t.Fatal(err)
		}
		w, err := Open(dir)
		if err != nil {
			return
		}
		defer w.Close()
		r := &Reader{Store: w}
		if x := r.Floats("x", 1); r.Done() != nil || x[0] != 1 {
			t.Errorf("an index that is accepted: %v, %v", x, r.Done())
		}
	})
}
