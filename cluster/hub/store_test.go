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

// What a server that was killed has left goes with the next start; what others use or made stays.
func TestTemporaryStores(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	running, err := openStore("")
	if err != nil {
		t.Fatal(err)
	}
	left, strange, named := filepath.Join(dir, "attn-jetstream1"), filepath.Join(dir, "attn-jetstream2"), filepath.Join(dir, "attn-jetstream")
	if err := errors.Join(os.Mkdir(left, 0o700), os.Mkdir(strange, 0o700), os.WriteFile(filepath.Join(left, tempLockName), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	old, err := openStore(named)
	if err != nil {
		t.Fatal(err)
	}
	old.close()
	next, err := openStore("")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{running.dir: true, next.dir: true, strange: true, named: true, left: false} {
		if _, err := os.Stat(name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	next.close()
	running.close()
	if all, _ := os.ReadDir(dir); len(all) != 2 {
		t.Errorf("%v", all)
	}
}
