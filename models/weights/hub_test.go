package weights

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/internal/hubtest"
)

// TestFetch: a model of a hub is fetched if that is allowed, and found afterwards in any case.
// Without a word nothing is asked of anybody.
func TestFetch(t *testing.T) {
	folder, published := t.TempDir(), t.TempDir()
	t.Setenv("ATTN_MODELS", folder)
	t.Setenv("ATTN_HUB", "")
	for _, name := range []string{"one", "two"} {
		dir := filepath.Join(published, "org", name)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "a.gguf"), []byte("GGUF"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	h := hubtest.New(t, published)
	_, err := Resolve("org/one")
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "-fetch or ATTN_HUB") {
		t.Errorf("not allowed: %v", err)
	}
	t.Setenv("ATTN_HUB", h.URL)
	path, err := Resolve("org/one")
	if err != nil || filepath.Base(path) != "a.gguf" {
		t.Fatalf("by ATTN_HUB: %s, %v", path, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var report bytes.Buffer
	AllowFetch(ctx, &report)
	defer allowed.Store(nil)
	if _, err := Resolve("org/two"); err != nil || report.String() != "fetching org/two@main: a.gguf, 0.0 MB\n" {
		t.Errorf("allowed: %v, %q", err, report.String())
	}
	h.Asked()
	stop()
	t.Setenv("ATTN_HUB", "")
	if again, err := Resolve("org/one"); again != path || err != nil {
		t.Errorf("again: %s, %v", again, err)
	}
	if asked := h.Asked(); len(asked) > 0 {
		t.Errorf("what is there was asked for: %q", asked)
	}
	t.Setenv("ATTN_HUB", h.URL)
	if _, err := Resolve("org/three"); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context has ended: %v", err)
	}
}
