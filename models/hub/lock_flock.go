//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package hub

import (
	"errors"
	"os"
	"syscall"
)

// lock locks a file until it is closed, or the program ends, and tells whether no other one has it.
// File systems without locks have none.
func lock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK), errors.Is(err, syscall.EINTR):
		return false, nil
	case err != nil && !errors.Is(err, errors.ErrUnsupported):
		return false, &os.PathError{Op: "flock", Path: f.Name(), Err: err}
	}
	return true, nil
}
