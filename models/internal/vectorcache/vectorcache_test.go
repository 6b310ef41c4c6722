package vectorcache

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

const width = 3

var model = [32]byte{1, 2, 3}

func open(t *testing.T, path string) *Cache {
	t.Helper()
	c, err := Open(path, model, width)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// filled returns the path of a cache of some texts.
func filled(t *testing.T, texts ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "below", "a[b].vectors")
	c := open(t, path)
	for _, text := range texts {
		if err := c.Put(text, vector(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	return path
}

// vector is what a model would compute.
func vector(text string) []float32 { return []float32{float32(len(text)), -0.1, 1e-40} }

// TestCache: what was put is found after Save, and Prune drops what nobody asked for.
func TestCache(t *testing.T) {
	path := filled(t, "a", "", "long \x00 text")
	c := open(t, path)
	for _, text := range []string{"a", ""} {
		if v, ok := c.Get(text); !ok || !slices.Equal(v, vector(text)) {
			t.Errorf("%q: %v, %t", text, v, ok)
		}
	}
	if _, ok := c.Get("b"); ok || c.Len() != 3 || c.Saved() != 3 || c.Fresh() != 0 {
		t.Errorf("%d vectors, %d of them in the file, %d fresh", c.Len(), c.Saved(), c.Fresh())
	}
	if err := c.Put("b", vector("b")); err != nil || c.Fresh() != 1 {
		t.Errorf("%v, %d fresh", err, c.Fresh())
	}
	c.Prune()
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	c = open(t, path)
	if _, ok := c.Get("long \x00 text"); ok || c.Len() != 3 {
		t.Errorf("%d vectors after Prune", c.Len())
	}
	if err := c.Put("c", nil); err == nil {
		t.Error("another width: no error")
	}
	if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != 1 {
		t.Errorf("left %v, %v", list, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may read the file: %v, %v", info.Mode(), err)
	}
}

// TestDamage: any byte that is missing or changed is found, as are other models and widths; the
// cache is empty then and can be saved.
func TestDamage(t *testing.T) {
	path := filled(t, "a", "bc")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := func(what string, data []byte, model [32]byte, width int) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		c, err := Open(path, model, width)
		if !errors.Is(err, ErrDamaged) || c == nil || c.Len() != 0 {
			t.Fatalf("%s: %v", what, err)
		}
		if err := errors.Join(c.Put("x", make([]float32, width)), c.Save()); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if c, err = Open(path, model, width); err != nil || c.Len() != 1 {
			t.Fatalf("%s: after Save: %v", what, err)
		}
	}
	for i := range good {
		damaged(fmt.Sprintf("%d bytes", i), good[:i], model, width)
		data := bytes.Clone(good)
		data[i] ^= 0x40
		damaged(fmt.Sprintf("byte %d", i), data, model, width)
	}
	damaged("a byte more", append(bytes.Clone(good), 0), model, width)
	damaged("another model", good, [32]byte{1, 2, 4}, width)
	damaged("another width", good, model, width+1)
	for _, w := range []int{0, -1, 1 << 30} {
		if c, err := Open(path, model, w); err == nil || c == nil {
			t.Errorf("width %d: %v", w, err)
		}
	}
	if c, err := Open(t.TempDir(), model, width); err == nil || c == nil || errors.Is(err, ErrDamaged) {
		t.Errorf("a folder: %v", err)
	}
}

// TestStale: what a killed program left an hour ago goes, what another one writes now stays.
func TestStale(t *testing.T) {
	path := filled(t, "a")
	old, young := path+".new-1", path+".new-2"
	for _, name := range []string{old, young} {
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	c := open(t, path)
	if err := errors.Join(c.Put("b", vector("b")), c.Save()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old file: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Error(err)
	}
}

// saves is the environment variable that makes the test binary a program that saves for ever.
const saves = "ATTN_TEST_SAVES"

func TestMain(m *testing.M) {
	if path := os.Getenv(saves); path != "" {
		for i := 0; ; i++ {
			c, err := Open(path, model, width)
			if err == nil {
				text := fmt.Sprint(i % 300)
				err = errors.Join(c.Put(text, vector(text)), c.Save())
			}
			if err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			if i == 10 {
				fmt.Println("goes on")
			}
		}
	}
	os.Exit(m.Run())
}

// TestKilled: whenever a program is killed, its file is one that it has saved.
func TestKilled(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filled(t, "a")
	for i := range 8 {
		p := exec.Command(exe)
		p.Env = append(os.Environ(), saves+"="+path)
		out, err := p.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		line := make([]byte, 100)
		n, _ := out.Read(line) // so that it is amid its work
		p.Process.Kill()
		p.Wait()
		if got := string(line[:n]); got != "goes on\n" {
			t.Fatalf("the program says %q", got)
		}
		c := open(t, path)
		if v, ok := c.Get("10"); !ok || !slices.Equal(v, vector("10")) {
			t.Fatalf("run %d: %d vectors, not the one of a text that was saved", i, c.Len())
		}
	}
}
