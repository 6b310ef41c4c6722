//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package filemap

import (
	"errors"
	"io/fs"
	"os"
)

func mapFile(f *os.File, _ int) ([]byte, error) {
	return nil, &fs.PathError{Op: "mmap", Path: f.Name(), Err: errors.ErrUnsupported}
}

func unmap([]byte) error { return nil }

func outOfMemory(error) bool { return false }
