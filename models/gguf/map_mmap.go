//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package gguf

import (
	"io/fs"
	"syscall"
)

// mapFile maps a file read-only. unmap is never nil.
func mapFile(path string) (data []byte, unmap func() error, err error) {
	f, size, err := openRegular(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close() // the mapping stays
	if size == 0 {  // which cannot be mapped
		return nil, func() error { return nil }, nil
	}
	data, err = syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, &fs.PathError{Op: "mmap", Path: path, Err: err}
	}
	return data, func() error { return syscall.Munmap(data) }, nil
}
