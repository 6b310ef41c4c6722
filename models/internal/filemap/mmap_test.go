//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filemap

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestLoad: a file that cannot be mapped is read, from its beginning, unless memory is short; an
// empty file, too.
func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, want := range []string{"", "a file"} {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		f, size, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Seek(1, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		var failure error
		fails := func(*os.File, int) ([]byte, error) { return nil, &fs.PathError{Op: "mmap", Path: path, Err: failure} }
		for _, failure = range []error{syscall.ENODEV, syscall.EINVAL, syscall.ENOSYS, syscall.EACCES} {
			m, err := load(f, size, fails)
			if err != nil {
				t.Fatalf("%v: %v", failure, err)
			}
			data := m.Data()
			if m.Forget(data); string(data) != want {
				t.Errorf("%v: %q, want %q", failure, data, want)
			}
			if err := m.Close(); err != nil || m.Data() != nil {
				t.Errorf("after Close: %q, %v", m.Data(), err)
			}
		}
		if m, err := Load(f, size); err != nil || string(m.Data()) != want {
			t.Error(err)
		}
		if _, err := load(f, size+1, fails); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("more bytes than there are: %v", err)
		}
		if failure = syscall.ENOMEM; size > 0 {
			if _, err := load(f, size, fails); !errors.Is(err, failure) {
				t.Errorf("without memory: %v", err)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
