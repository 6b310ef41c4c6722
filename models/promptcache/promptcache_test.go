package promptcache

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/attn-go/attn/kernel"
	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
)

// pageOf returns a page of some bytes, which its key says.
func pageOf(n, bytes int) (Key, []byte) {
	r := rand.NewChaCha8([32]byte{byte(n), byte(n >> 8)})
	page := make([]byte, bytes)
	r.Read(page)
	return First("model", 2).Next([]int32{int32(n), 7}), page
}

// newCache returns the cache of a folder, and its log.
func newCache(t *testing.T, path string, most int64) (*Cache, *Folder, *strings.Builder) {
	t.Helper()
	f, err := OpenFolder(path, most)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	return New(f, slog.New(slog.NewTextHandler(&log, nil))), f, &log
}

// TestKeys: the key of a page says the model, the size of pages, and all tokens up to its end.
func TestKeys(t *testing.T) {
	seen := map[string]string{}
	for _, model := range []string{"a", "b"} {
		for _, size := range []int{2, 3} {
			for _, first := range []int32{1, 2} {
				p := Pages{First: First(model, size), Size: 1}
				for n, k := range []Key{p.Key([]int32{first}), p.Key([]int32{first, 1}), p.Key([]int32{first, 2}), p.Key([]int32{first, 1, 1})} {
					what := fmt.Sprint(model, size, first, n)
					if other, ok := seen[k.String()]; ok {
						t.Errorf("%s has the key of %s", what, other)
					}
					seen[k.String()] = what
					if want := []int{0, 1, 1, 2}[n]; k.Depth() != want {
						t.Errorf("%s: depth %d, want %d", what, k.Depth(), want)
					}
				}
			}
		}
	}
}

// TestFolder: what is put is there, also for the next program, and nothing else is.
func TestFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "folder")
	c, _, log := newCache(t, path, 1<<20)
	for n := range 5 {
		k, page := pageOf(n, 1000*n)
		c.Put(t.Context(), k, page)
		c.Put(t.Context(), k, page) // again
	}
	again, f, _ := newCache(t, path, 1<<20)
	for _, c := range []*Cache{c, again} {
		for n := range 5 {
			k, page := pageOf(n, 1000*n)
			if got := c.Get(t.Context(), k); !bytes.Equal(got, page) || got == nil {
				t.Errorf("page %d: %d bytes, want %d", n, len(got), len(page))
			}
		}
		if k, _ := pageOf(5, 0); c.Get(t.Context(), k) != nil {
			t.Error("a page that nobody has put")
		}
		if s := c.Stats(); s.Read != 5 || s.Damaged != 0 || s.Failed != 0 {
			t.Errorf("%+v", s)
		}
	}
	if want := int64(5*headBytes + 10000); f.bytes != want || log.Len() > 0 {
		t.Errorf("%d bytes, want %d; the log has %q", f.bytes, want, log)
	}
	if _, err := OpenFolder(path, 0); !errors.As(err, new(*kernel.Error)) {
		t.Errorf("a folder for no bytes: %v", err)
	}
}

// TestGone: a file that is removed after it was read, before the folder notes that, takes no room.
func TestGone(t *testing.T) {
	_, f, _ := newCache(t, t.TempDir(), 1<<20)
	k, page := pageOf(1, 40)
	if err := f.Put(t.Context(), k, page); err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := os.Remove(f.at(k.String())); err != nil {
		t.Fatal(err)
	}
	f.used(k, len(page))
	if f.bytes != 0 || len(f.files) != 0 {
		t.Errorf("%d bytes in %d files", f.bytes, len(f.files))
	}
}

// TestDamaged: a page with a wrong bit anywhere, one that is cut off, and one with another name are
// never used: they are removed, and the log names them.
func TestDamaged(t *testing.T) {
	k, page := pageOf(1, 40)
	other, otherPage := pageOf(2, 40)
	whole := seal(k, page)
	wrong := map[string][]byte{"empty": {}, "longer": append(bytes.Clone(whole), 0), "of another name": seal(other, otherPage), "no page": []byte("<html>" + strings.Repeat(" ", 200))}
	for i := range whole {
		wrong[fmt.Sprint("cut off at ", i)] = whole[:i]
		for bit := range 8 {
			flipped := bytes.Clone(whole)
			flipped[i] ^= 1 << bit
			wrong[fmt.Sprint("bit ", 8*i+bit)] = flipped
		}
	}
	path := t.TempDir()
	c, f, log := newCache(t, path, 1<<20)
	at := f.at(k.String())
	for name, object := range wrong {
		log.Reset()
		if err := os.WriteFile(at, object, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := c.Get(t.Context(), k); got != nil {
			t.Fatalf("%s: it is used", name)
		}
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: it is still there", name)
		}
		if !strings.Contains(log.String(), k.String()) || !strings.Contains(log.String(), "a page is removed") {
			t.Errorf("%s: the log has %q", name, log)
		}
	}
	if s := c.Stats(); s.Damaged != int64(len(wrong)) || s.Read != 0 || f.bytes != 0 {
		t.Errorf("%+v, %d bytes", s, f.bytes)
	}
	c.Put(t.Context(), k, page)
	if !bytes.Equal(c.Get(t.Context(), k), page) {
		t.Error("a page in place of a damaged one is not there")
	}
}

// TestReplaced: who read a damaged page removes that one, and not the new one that was put in its
// place since. The same holds for a page that is whole and cannot be used.
func TestReplaced(t *testing.T) {
	c, f, _ := newCache(t, t.TempDir(), 1<<20)
	k, page := pageOf(1, 40)
	damaged := seal(k, page)[1:]
	if err := os.WriteFile(f.at(k.String()), damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Remove(t.Context(), k, damaged); err != nil {
		t.Fatal(err)
	}
	if c.Get(t.Context(), k) != nil {
		t.Fatal("what was read is still there")
	}
	c.Put(t.Context(), k, page)
	c.remove(t.Context(), k, damaged, errors.New("late"))
	c.Discard(t.Context(), k, page[1:], errors.New("late"))
	if !bytes.Equal(c.Get(t.Context(), k), page) {
		t.Error("the new page is gone")
	}
	if files, err := os.ReadDir(f.path); err != nil || len(files) != 1 || f.bytes != int64(len(page)+headBytes) {
		t.Errorf("%v, %v, %d bytes, want one file", files, err, f.bytes)
	}
	if c.Discard(t.Context(), k, page, errors.New("of no use")); c.Get(t.Context(), k) != nil || f.bytes != 0 {
		t.Error("a page that cannot be used is still there")
	}
	c.Discard(t.Context(), k, page, errors.New("it is gone"))
	if s := c.Stats(); s.Failed != 0 {
		t.Errorf("%+v", s)
	}
}

// TestOther: a page that another program has put in the place of the one to remove counts, and goes
// when there are too many.
func TestOther(t *testing.T) {
	path, most := t.TempDir(), 2*int64(100+headBytes)
	c, f, _ := newCache(t, path, most)
	other, _, _ := newCache(t, path, most)
	k, page := pageOf(1, 100)
	other.Put(t.Context(), k, page)
	c.Discard(t.Context(), k, page[1:], errors.New("late"))
	if f.bytes != int64(len(page)+headBytes) {
		t.Errorf("%d bytes, want those of the page", f.bytes)
	}
	for n := range 2 {
		k, page := pageOf(2+n, 100)
		c.Put(t.Context(), k, page)
	}
	if files, err := os.ReadDir(path); err != nil || len(files) > 2 {
		t.Errorf("%d files, %v, want at most 2", len(files), err)
	}
}

// TestBounded: the files take no more than they may, and those that were used last stay, of a text
// its beginning.
func TestBounded(t *testing.T) {
	path := t.TempDir()
	const size, room = 1000, 10
	c, f, _ := newCache(t, path, room*(size+int64(headBytes)))
	stranger := filepath.Join(path, "notes.page")
	if err := os.WriteFile(stranger, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	var old, text []Key
	for n := range 4 {
		k, page := pageOf(n, size)
		old = append(old, k)
		c.Put(t.Context(), k, page)
		f.files[k.String()] = file{f.files[k.String()].bytes, time.Unix(int64(1000+n), 0)}
	}
	c.Get(t.Context(), old[0])
	k := First("model", 1)
	for n := range 20 {
		k = k.Next([]int32{int32(n)})
		text = append(text, k)
		c.Put(t.Context(), k, make([]byte, size))
		if f.bytes > f.most {
			t.Fatalf("%d bytes, want at most %d", f.bytes, f.most)
		}
	}
	have := func(k Key) bool { _, err := os.Stat(f.at(k.String())); return err == nil }
	if !have(old[0]) || have(old[1]) || have(old[2]) || have(old[3]) {
		t.Error("what was used stays, and what was not goes")
	}
	for n, k := range text[:room-3] { // one is the old page, one the last one, and one is room for the next one
		if !have(k) {
			t.Errorf("page %d is gone, and later ones are there", n)
		}
	}
	if _, err := os.Stat(stranger); err != nil {
		t.Error("a file of somebody else is gone")
	}
	if _, f, _ := newCache(t, path, 3*(size+int64(headBytes))); f.bytes > f.most || len(f.files) == 0 {
		t.Errorf("opened with less room: %d files of %d bytes, want at most %d", len(f.files), f.bytes, f.most)
	}
}

// TestUnremovable: a file that cannot be removed still counts, as it still takes room.
func TestUnremovable(t *testing.T) {
	const size = 1000
	c, f, _ := newCache(t, t.TempDir(), 4*(size+int64(headBytes)))
	first, page := pageOf(0, size)
	c.Put(t.Context(), first, page)
	// A folder that has something in it stands for the file.
	if err := errors.Join(os.Remove(f.at(first.String())), os.MkdirAll(filepath.Join(f.at(first.String()), "x"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for n := range 8 {
		k, page := pageOf(1+n, size)
		c.Put(t.Context(), k, page)
	}
	if f.files[first.String()].bytes != size+int64(headBytes) || f.bytes > f.most {
		t.Errorf("%d bytes in %v", f.bytes, f.files)
	}
}

// TestFailures: an error of the backend is logged and counted, and a page too large for the folder
// is not kept.
func TestFailures(t *testing.T) {
	path := t.TempDir()
	c, _, log := newCache(t, path, 500)
	k, page := pageOf(1, 1000)
	if c.Put(t.Context(), k, page); c.Get(t.Context(), k) != nil || !strings.Contains(log.String(), "at most 500") {
		t.Errorf("a page that is too large is kept, or %q", log)
	}
	log.Reset()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	c.Put(t.Context(), k, page[:10])
	if s := c.Stats(); s.Failed != 2 || !strings.Contains(log.String(), "writing a page failed") {
		t.Errorf("%+v, %q", s, log)
	}
}

// TestKill: a program that is killed while it writes leaves whole pages, and parts of pages that
// nobody reads.
func TestKill(t *testing.T) {
	const pages, size = 50, 1 << 20
	if path := os.Getenv("ATTN_TEST_PROMPTCACHE"); path != "" {
		c, _, _ := newCache(t, path, 1<<30)
		for n := range pages {
			k, page := pageOf(n, size)
			c.Put(t.Context(), k, page)
			fmt.Println("written") // the parent waits for some
		}
		select {}
	}
	for _, wait := range []int{1, 7} {
		path := t.TempDir()
		cmd := exec.Command(os.Args[0], "-test.run", "^TestKill$")
		cmd.Env = append(os.Environ(), "ATTN_TEST_PROMPTCACHE="+path)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := make([]byte, len("written\n")*wait)
		if _, err := out.Read(lines[:1]); err != nil {
			t.Fatal(err)
		}
		for read := 1; read < len(lines); {
			n, err := out.Read(lines[read:])
			if read += n; err != nil {
				t.Fatal(err)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		// A part of a page, as if the program had been killed in the middle of a write.
		part := filepath.Join(path, strings.Repeat("ab", 32)+newEnding+"1")
		if err := os.WriteFile(part, seal(Key{}, nil)[:40], 0o600); err != nil {
			t.Fatal(err)
		}
		c, _, log := newCache(t, path, 1<<30)
		there := 0
		for n := range pages {
			k, page := pageOf(n, size)
			if got := c.Get(t.Context(), k); got != nil {
				if there++; !bytes.Equal(got, page) {
					t.Fatalf("page %d has other bytes", n)
				}
			}
		}
		if s := c.Stats(); there < wait || s.Damaged != 0 || log.Len() > 0 {
			t.Errorf("%d pages, want %d or more; %+v; %s", there, wait, s, log)
		}
		// It goes once it is clear that nobody writes it any more.
		long := time.Now().Add(-2 * abandoned)
		if err := os.Chtimes(part, long, long); err != nil {
			t.Fatal(err)
		}
		newCache(t, path, 1<<30)
		if _, err := os.Stat(part); !errors.Is(err, fs.ErrNotExist) {
			t.Error("a part of a page stays forever")
		}
	}
}
