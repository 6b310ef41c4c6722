package filemap

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoFile: what is no file of a model is a PathError that names it and says what it is.
func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		dir:                           "a folder, want a regular file",
		filepath.Join(dir, "missing"): "no such file",
		os.DevNull:                    "a device, want a regular file",
		write(t, lfsPointer+"oid sha256:ab\nsize 90868376\n"): "a pointer of Git LFS, want the file of 90868376 bytes",
		write(t, "\n<!DOCTYPE html>\n<html>"):                 "a page of HTML",
		write(t, "<HTML lang=en>"):                            "a page of HTML",
	} {
		if _, _, err := Open(path); !isPathError(err, path) || !strings.Contains(err.Error(), want) && want != "no such file" {
			t.Errorf("Open %s: %v, want %q", path, err, want)
		}
		if _, err := ReadFile(path); !isPathError(err, path) {
			t.Errorf("ReadFile %s: %v", path, err)
		}
	}
}

func isPathError(err error, path string) bool {
	var e *fs.PathError
	return errors.As(err, &e) && e.Path == path
}

func write(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestReadFile: other content is read as it is. The digest of a pointer can be asked for.
func TestReadFile(t *testing.T) {
	for _, text := range []string{"", "{}", "version https://git-lfs.github.com/spec/v2\n", "<p>"} {
		if got, err := ReadFile(write(t, text)); err != nil || string(got) != text {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	f, err := OpenRegular(write(t, lfsPointer))
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	large := write(t, "")
	if err := os.Truncate(large, maxRead+1); err != nil { // with a hole: it takes no space
		t.Fatal(err)
	}
	if _, err := ReadFile(large); !isPathError(err, large) || !strings.Contains(err.Error(), "1073741825 bytes, want at most 1073741824") {
		t.Errorf("a large file: %v", err)
	}
}

// TestJSONError: an end within JSON is said to be one; other errors stay.
func TestJSONError(t *testing.T) {
	for text, truncated := range map[string]bool{`{"a": [1, 2`: true, `{"a`: true, "": true, `{"a": ]}`: false, `[1}`: false} {
		var x any
		err := json.Unmarshal([]byte(text), &x)
		if got := JSONError(err, []byte(text)); !errors.Is(got, err) || strings.HasPrefix(got.Error(), "truncated after") != truncated {
			t.Errorf("%q: %v", text, got)
		}
	}
	if JSONError(nil, nil) != nil {
		t.Error("no error became one")
	}
}
