//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filemap

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPipe: a pipe that nobody writes to is an error at once.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := ReadFile(path); !isPathError(err, path) || !strings.Contains(err.Error(), "a pipe") {
		t.Error(err)
	}
	if _, err := OpenRegular(path); !isPathError(err, path) {
		t.Error(err)
	}
}
