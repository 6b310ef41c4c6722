package models

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestList: a folder with models of all forms.
func TestList(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"a.gguf", "b/c/config.json", "b/c/model.safetensors", "b/c/1_Pooling/config.json", "b/d-00001-of-00002.gguf", "b/d-00002-of-00002.gguf", "notes.txt", ".hidden/e.gguf", ".f.gguf", "g/h/i.gguf",
	} {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, name := range []string{"a.gguf", "b/c", "b/d-00001-of-00002.gguf", "g/h/i.gguf"} {
		want = append(want, filepath.Join(dir, filepath.FromSlash(name)))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err := List(filepath.Join(dir, "missing")); err == nil {
		t.Error("a folder that is missing: no error")
	}
}
