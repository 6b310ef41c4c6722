package weights

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestResolve: a path comes first, then the name of a fetched model, then any path below the
// folder.
func TestResolve(t *testing.T) {
	folder, here := t.TempDir(), t.TempDir()
	t.Setenv("ATTN_MODELS", folder)
	t.Chdir(here)
	for _, model := range []string{"all-MiniLM-L6-v2", "SmolLM2-135M-Instruct", "other", filepath.Join(here, "other")} {
		_, err := Resolve(model)
		if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), fmt.Sprintf("no model %q", model)) || !strings.Contains(err.Error(), "attn fetch") {
			t.Errorf("%s: %v", model, err)
		}
		if !filepath.IsAbs(model) && !strings.Contains(err.Error(), folder) {
			t.Errorf("%s: %v does not say that it looked in %s", model, err, folder)
		}
	}
	if _, err := Resolve(""); err == nil {
		t.Error("no name: no error")
	}
	make := func(path string) string {
		t.Helper()
		if err := os.MkdirAll(path, 0o777); err != nil {
			t.Fatal(err)
		}
		return path
	}
	check := func(model, want string) {
		t.Helper()
		if got, err := Resolve(model); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", model, got, err, want)
		}
	}
	fetched := make(filepath.Join(folder, MiniLM))
	for _, name := range []string{"all-MiniLM-L6-v2", "all-minilm-l6-v2", "sentence-transformers/all-MiniLM-L6-v2", "Sentence-Transformers/ALL-MiniLM-L6-v2"} {
		check(name, fetched)
	}
	if _, err := Resolve("others/all-MiniLM-L6-v2"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a model of others: %v", err)
	}
	check("SmolLM2-135M-Instruct", make(filepath.Join(folder, filepath.FromSlash(SmolLM2))))
	check("other/one", make(filepath.Join(folder, "other", "one")))
	check("HuggingFaceTB/SmolLM2-135M-Instruct", filepath.Join(folder, filepath.FromSlash(SmolLM2)))
	make(filepath.Join(here, "all-MiniLM-L6-v2"))
	check("all-MiniLM-L6-v2", "all-MiniLM-L6-v2")
	check(here, here)
}
