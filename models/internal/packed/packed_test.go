package packed

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// layer returns a layer with n outputs and 3 inputs.
func layer(t *testing.T, n int) *linear.Linear {
	t.Helper()
	w := make([]float32, 3*n)
	for i := range w {
		w[i] = float32(i + n)
	}
	l, err := linear.New(linear.DenseMatrix(w, n, 3), nil, kernel.Exec{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func bytesOf(t *testing.T, l *linear.Linear) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := l.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func open(t *testing.T, path string, source byte) *Cache {
	t.Helper()
	c, err := Open(path, [sha256.Size]byte{source})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// write writes a file with two layers.
func write(t *testing.T, path string, source byte) {
	t.Helper()
	c := open(t, path, source)
	defer c.Close()
	for name, n := range map[string]int{"a": 5, "b": 70} {
		if c.Layer(name) != nil {
			t.Fatalf("%s is there already", name)
		}
		if err := c.Add(name, layer(t, n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.End([sha256.Size]byte{source}); err != nil {
		t.Fatal(err)
	}
}

// TestRead: layers that are read are those that were written, and stay valid after the Cache is
// closed.
func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m"+Suffix)
	write(t, path, 1)
	c := open(t, path, 1)
	a, b := c.Layer("a"), c.Layer("b")
	if a == nil || b == nil || c.Layer("c") != nil {
		t.Fatal("want the layers a and b")
	}
	c.Close()
	a = nil
	runtime.GC() // which ends the use by a
	if !bytes.Equal(bytesOf(t, b), bytesOf(t, layer(t, 70))) {
		t.Error("another layer than was written")
	}
	runtime.KeepAlive(b)
	var none *Cache
	if none.Layer("a") != nil || none.Add("a", b) != nil || none.End([sha256.Size]byte{}) != nil {
		t.Error("the nil Cache does something")
	}
	none.Close()
}

// state is what tells whether a file was written anew.
func state(t *testing.T, path string) string {
	t.Helper()
	source, err := Fingerprint([]string{path}, "")
	if err != nil {
		t.Fatal(err)
	}
	return string(source[:])
}

// TestLacking: a file that lacks a layer is written anew, with those that are asked for. One that
// lacks none is not touched.
func TestLacking(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m"+Suffix)
	write(t, path, 1)
	before := state(t, path)
	ask := func(source byte, names ...string) {
		t.Helper()
		c := open(t, path, 1)
		defer c.Close()
		for _, name := range names {
			n := map[string]int{"a": 5, "b": 70, "c": 17}[name]
			l := c.Layer(name)
			if l == nil {
				l = layer(t, n)
				if err := c.Add(name, l); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(bytesOf(t, l), bytesOf(t, layer(t, n))) {
				t.Errorf("%s is another layer", name)
			}
		}
		if err := c.End([sha256.Size]byte{source}); err != nil {
			t.Fatal(err)
		}
	}
	ask(1, "b", "a")
	ask(1, "b")
	ask(2, "b", "c") // the source has changed meanwhile
	if state(t, path) != before {
		t.Error("a complete file was written")
	}
	ask(1, "b", "c")
	after := state(t, path)
	if after == before {
		t.Error("a file without c was not written anew")
	}
	c := open(t, path, 1)
	if c.Layer("c") == nil || c.Layer("b") == nil || c.Layer("a") != nil {
		t.Error("want the layers b and c, which were asked for")
	}
	c.Close()
	if ask(1, "c", "b"); state(t, path) != after {
		t.Error("a file that was written anew was written again")
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("%v is left: %v", list, err)
	}
}

// TestBits: a layer of which one bit is another is not used, the others are, and the file is
// written anew once the layer is added.
func TestBits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m"+Suffix)
	write(t, path, 1)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	table, ok := parse(good)
	if !ok {
		t.Fatal("no table")
	}
	a := table.Layers["a"]
	for at := a.At; at < a.At+a.Size; at++ {
		b := bytes.Clone(good)
		b[at] ^= 1 << (at % 8)
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		c := open(t, path, 1)
		if c.Layer("b") == nil || c.Layer("a") != nil {
			t.Errorf("byte %d may change", at)
		}
		c.Close()
	}
	c := open(t, path, 1)
	defer c.Close()
	b := c.Layer("b")
	if err := errors.Join(c.Add("a", layer(t, 5)), c.End([sha256.Size]byte{1})); err != nil {
		t.Fatal(err)
	}
	again := open(t, path, 1)
	defer again.Close()
	if b == nil || again.Layer("a") == nil || again.Layer("b") == nil {
		t.Error("the file was not written anew")
	}
}

// TestUnfit: a file that is damaged, of another source or version, or not complete is written anew.
// No byte of the head and the table may change.
func TestUnfit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m"+Suffix)
	write(t, path, 1)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.LastIndex(good, []byte(`{"Source"`))
	unfit := map[string][]byte{"empty": {}, "head": good[:headSize-1], "truncated": good[:len(good)-1], "longer": append(bytes.Clone(good), 0)}
	for i := range good {
		if i < 24 || i >= 32 && i < headSize || i >= at {
			b := bytes.Clone(good)
			b[i] ^= 1
			if err := os.WriteFile(path, b, 0o666); err != nil {
				t.Fatal(err)
			}
			c := open(t, path, 1)
			if c.Layer("a") != nil {
				t.Errorf("byte %d may change", i)
			}
			c.Close()
		}
	}
	for name, b := range unfit {
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		c := open(t, path, 1)
		if c.Layer("a") != nil {
			t.Errorf("%s: a layer is read", name)
		}
		c.Close()
	}
	if err := os.WriteFile(path, good, 0o666); err != nil {
		t.Fatal(err)
	}
	c := open(t, path, 2)
	if c.Layer("a") != nil {
		t.Error("a layer of another source is read")
	}
	c.Close()
	write(t, path, 2)
	if c = open(t, path, 2); c.Layer("a") == nil {
		t.Error("the file was not written anew")
	}
	c.Close()
}

// TestIncomplete: without End, with a source that has changed, or after a kill there is no file,
// and nothing is left after Close. What a program has left that was killed long ago is removed.
func TestIncomplete(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m"+Suffix)
	c := open(t, path, 1)
	if err := c.Add("a", layer(t, 5)); err != nil {
		t.Fatal(err)
	}
	if err := c.End([sha256.Size]byte{2}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file of a source that has changed")
	}
	c.Close()
	left, old := path+newInfix+"1", path+newInfix+"2"
	for _, name := range []string{left, old} {
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	open(t, path, 1).Close()
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 || list[0].Name() != filepath.Base(left) {
		t.Errorf("%v is left, want what is new: %v", list, err)
	}
	if _, err := Open(filepath.Join(dir, "none", "m"), [sha256.Size]byte{}); err == nil {
		t.Error("a file in no folder: no error")
	}
}

// TestFingerprint: it changes with settings, and with the content, the time and the size of a file,
// and on most systems also if a file of the same size, times and samples takes its place.
func TestFingerprint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m")
	data, day := make([]byte, samples*sampleSize*2), time.Unix(1e9, 0)
	put := func(b []byte, at time.Time) {
		t.Helper()
		os.Remove(path)
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	sum := func(settings string) [sha256.Size]byte {
		t.Helper()
		s, err := Fingerprint([]string{path}, settings)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	put(data, day)
	first := sum("x")
	if sum("x") != first {
		t.Error("it changes without a reason")
	}
	if sum("y") == first {
		t.Error("it does not have the settings")
	}
	if put(data, day.Add(1)); sum("x") == first {
		t.Error("it does not have the time")
	}
	if put(append(data, 0), day); sum("x") == first {
		t.Error("it does not have the size")
	}
	other := bytes.Clone(data)
	other[len(data)/samples*7]++
	if put(other, day); sum("x") == first {
		t.Error("it does not have samples")
	}
	if _, err := Fingerprint([]string{path + "none"}, ""); err == nil {
		t.Error("a file that is missing: no error")
	}
	if info, err := os.Stat(path); err != nil || inode(info) == nil {
		return
	}
	between := bytes.Clone(data)
	between[sampleSize+1]++ // in no sample
	if put(between, day); sum("x") == first {
		t.Error("it does not have what the system says")
	}
}

// FuzzParse: no bytes do harm.
func FuzzParse(f *testing.F) {
	f.Add(make([]byte, headSize), []byte(`{"Layers":{"a":{"At":64,"Size":-1,"Sum":0}}}`))
	f.Add(make([]byte, headSize), []byte(`{"Layers":{"a":{"At":9223372036854775807,"Size":9223372036854775807}}}`))
	f.Fuzz(func(t *testing.T, body, text []byte) {
		if len(body) < headSize {
			return
		}
		h := head(uint64(len(body)))
		data := append(bytes.Clone(body), text...)
		copy(data, h)
		copy(data[32:], sum(data[:24], text))
		if table, ok := parse(data); ok {
			for _, s := range table.Layers {
				linear.FromPacked(data[s.At : s.At+s.Size])
			}
		}
		parse(append(bytes.Clone(body), text...))
	})
}
