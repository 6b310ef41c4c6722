package hub

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// ErrLocked is the error of [Serve] if another server uses its StoreDir.
var ErrLocked = errors.New("another server uses it")

// lockName is the file that a server holds in its folder, so that two do not write one.
const lockName = "attn.lock"

// store is the folder of a server's streams.
type store struct {
	dir       string
	temporary bool
	lock      *flock.Flock
}

// openStore opens a folder, which it makes if need be. "" is a temporary one.
func openStore(dir string) (*store, error) {
	temporary, err := dir == "", error(nil)
	if temporary {
		dir, err = os.MkdirTemp("", "attn-jetstream")
	} else {
		err = os.MkdirAll(dir, 0o750)
	}
	if err != nil {
		return nil, fmt.Errorf("hub: %w", err)
	}
	s := &store{dir, temporary, flock.New(filepath.Join(dir, lockName))}
	if ok, err := s.lock.TryLock(); err != nil || !ok {
		return nil, errors.Join(fmt.Errorf("hub: %s: %w", dir, ErrLocked), err)
	}
	return s, nil
}

// close lets other servers use the folder, or removes it. Some systems remove no file that is open.
func (s *store) close() {
	s.lock.Unlock()
	if s.temporary {
		os.RemoveAll(s.dir)
	}
}
