package outputs

import (
	"os"
	"path/filepath"
	"testing"
)

// A file without a name of the user's has a folder that Make makes. Make makes no other folder.
func TestMake(t *testing.T) {
	cache := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, cache)
	}
	path := Path("a.png")
	if err := Make(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Error(err)
	}
	other := filepath.Join(t.TempDir(), "missing")
	if err := Make(filepath.Join(other, "a.png")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("a folder of the user's was made")
	}
}
