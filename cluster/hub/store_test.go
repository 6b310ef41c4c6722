package hub

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Two servers do not share a folder; the next one may have it.
func TestStoreOfAnother(t *testing.T) {
	c := ServerConfig{Port: -1, StoreDir: filepath.Join(t.TempDir(), "store")}
	first, err := Serve(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Serve(t.Context(), c); !errors.Is(err, ErrLocked) {
		t.Errorf("got %v", err)
	}
	first.Close()
	second, err := Serve(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	second.Close()
}

// A temporary folder goes with its server, and one that has a name stays.
func TestTemporaryStores(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	named, err := openStore(filepath.Join(dir, "named"))
	if err != nil {
		t.Fatal(err)
	}
	temporary, err := openStore("")
	if err != nil {
		t.Fatal(err)
	}
	for s, stays := range map[*store]bool{named: true, temporary: false} {
		s.close()
		if _, err := os.Stat(s.dir); (err == nil) != stays {
			t.Errorf("%s: %v", s.dir, err)
		}
	}
}
