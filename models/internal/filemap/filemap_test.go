package filemap

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
)

// TestMapping: the data are the bytes of the file, after any part has been forgotten, too, and
// memory that is no part of it is left alone.
func TestMapping(t *testing.T) {
	want := make([]byte, 5*os.Getpagesize()+77)
	for i := range want {
		want[i] = byte(i*i>>7 + i)
	}
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, want, 0o600); err != nil {
		t.Fatal(err)
	}
	f, size, err := Open(path)
	if err != nil || size != int64(len(want)) {
		t.Fatalf("%d bytes, %v", size, err)
	}
	m, err := New(f, size)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err != nil {
		if runtime.GOOS == "linux" || runtime.GOOS == "darwin" || !errors.Is(err, errors.ErrUnsupported) {
			t.Error(err)
		}
		return
	}
	data := m.Data()
	for _, part := range [][]byte{data, data[1:2], data[:0], data[len(data):], data[100 : len(data)-100], nil} {
		if m.Forget(part); !bytes.Equal(data, want) {
			t.Errorf("the data have changed after %d bytes of it were forgotten", len(part))
		}
	}
	part := &Mapping{data: data[:os.Getpagesize()]}
	part.Forget(data) // begins where it does, and is longer
	part.Forget(data[os.Getpagesize():])
	others := bytes.Repeat([]byte{7}, 8*os.Getpagesize())
	if m.Forget(others); !bytes.Equal(others, bytes.Repeat([]byte{7}, len(others))) {
		t.Error("memory of somebody else is forgotten")
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
