package gguf_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/ggufwriter"
)

// fiveTensors returns a file.
func fiveTensors() *ggufwriter.File {
	f := &ggufwriter.File{}
	f.Set("general.architecture", "llama")
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		f.AddFloats(name, []float32{float32(i), 7}, 2)
	}
	return f
}

// The first part of a model opens all: it has the tensors of the file that was split.
func TestParts(t *testing.T) {
	dir := t.TempDir()
	path := fiveTensors().Write(t, dir, "m", 4)
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if arch, err := f.String("general.architecture"); arch != "llama" || err != nil {
		t.Errorf("%q, %v", arch, err)
	}
	var names []string
	for i, tensor := range f.Tensors() {
		x, err := tensor.Float32()
		if found, ok := f.Tensor(tensor.Name); err != nil || x[0] != float32(i) || !ok || &found.Data[0] != &tensor.Data[0] {
			t.Errorf("%s: %v, %v", tensor.Name, x, err)
		}
		f.Forget(tensor)
		names = append(names, tensor.Name)
	}
	if got := strings.Join(names, ""); got != "abcde" {
		t.Errorf("tensors %s", got)
	}
	if err := errors.Join(f.Close(), f.Close()); err != nil {
		t.Error(err)
	}
	paths, err := gguf.Parts(path)
	if want := []string{"m-00001-of-00004.gguf", "m-00002-of-00004.gguf", "m-00003-of-00004.gguf", "m-00004-of-00004.gguf"}; err != nil || len(paths) != 4 || !slices.EqualFunc(paths, want, func(a, b string) bool { return a == filepath.Join(dir, b) }) {
		t.Errorf("parts %v, %v", paths, err)
	}
	whole := fiveTensors().Write(t, dir, "w", 1)
	if paths, err := gguf.Parts(whole); err != nil || !slices.Equal(paths, []string{whole}) {
		t.Errorf("parts of one file %v, %v", paths, err)
	}
	for path, want := range map[string]string{path: "m", whole: "w", "a/b": "b", "b-1-of-2.gguf": "b-1-of-2", "-00001-of-00002.gguf": "-00001-of-00002"} {
		if got := gguf.Name(path); got != want {
			t.Errorf("name of %s: %q, want %q", path, got, want)
		}
	}
}

// Parts that are missing, damaged or of another model are errors that name them.
func TestPartErrors(t *testing.T) {
	const first, second, third = "m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"
	rewrite := func(change func(f *ggufwriter.File)) func(dir string) error {
		return func(dir string) error {
			f := &ggufwriter.File{}
			f.Set("split.no", uint16(1))
			f.Set("split.count", uint16(3))
			f.AddFloats("a", []float32{1}, 1)
			f.AddFloats("b", []float32{1}, 1)
			change(f)
			return os.WriteFile(filepath.Join(dir, second), f.Bytes(), 0o666)
		}
	}
	for name, c := range map[string]struct {
		open, named, key string
		damage           func(dir string) error
	}{
		"missing":            {first, second, "", func(dir string) error { return os.Remove(filepath.Join(dir, second)) }},
		"cut":                {first, second, "", func(dir string) error { return os.Truncate(filepath.Join(dir, second), 70) }},
		"another number":     {first, second, "split.no", rewrite(func(f *ggufwriter.File) { f.Set("split.no", uint16(2)) })},
		"no number":          {first, second, "split.no", rewrite(func(f *ggufwriter.File) { f.Set("split.no", nil) })},
		"another count":      {first, second, "split.count", rewrite(func(f *ggufwriter.File) { f.Set("split.count", uint16(2)) })},
		"a tensor twice":     {first, third, "", rewrite(func(f *ggufwriter.File) { f.AddFloats("e", []float32{1}, 1) })},
		"a tensor less":      {first, first, "split.tensors.count", rewrite(func(f *ggufwriter.File) { f.Remove("a") })},
		"another part":       {second, first, "split.no", func(string) error { return nil }},
		"under another name": {"m.gguf", "m.gguf", "split.count", func(dir string) error { return os.Rename(filepath.Join(dir, first), filepath.Join(dir, "m.gguf")) }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			fiveTensors().Write(t, dir, "m", 3)
			if err := c.damage(dir); err != nil {
				t.Fatal(err)
			}
			f, err := gguf.Open(filepath.Join(dir, c.open))
			if err == nil {
				f.Close()
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), filepath.Join(dir, c.named)) {
				t.Errorf("%v does not name %s", err, c.named)
			}
			key, _ := errors.AsType[*kernel.Error](err)
			switch {
			case name == "missing" && !errors.Is(err, fs.ErrNotExist):
				t.Errorf("%v is no fs.ErrNotExist", err)
			case name != "missing" && c.key == "" && !errors.Is(err, gguf.ErrFormat):
				t.Errorf("%v is not of the kind ErrFormat", err)
			case c.key != "" && (key == nil || key.Arg() != fmt.Sprintf("metadata %q", c.key)):
				t.Errorf("%v is not about %s", err, c.key)
			}
		})
	}
}
