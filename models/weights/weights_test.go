package weights

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("ATTN_MODELS", dir)
	if _, err := Find(SmolLM2); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a model that is missing gives %v", err)
	}
	if got, err := Path(SmolLM2); got != filepath.Join(dir, filepath.FromSlash(SmolLM2)) || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	want := filepath.Join(dir, MiniLM)
	if err := os.Mkdir(want, 0o777); err != nil {
		t.Fatal(err)
	}
	if got, err := Find(MiniLM); got != want || err != nil {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}
