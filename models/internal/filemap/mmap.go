//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filemap

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

func mapFile(f *os.File, size int) ([]byte, error) {
	data, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, &fs.PathError{Op: "mmap", Path: f.Name(), Err: err}
	}
	return data, nil
}

func unmap(data []byte) error { return syscall.Munmap(data) }

// outOfMemory says whether reading the file would fail too.
func outOfMemory(err error) bool { return errors.Is(err, syscall.ENOMEM) }
