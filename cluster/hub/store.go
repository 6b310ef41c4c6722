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

// lockName is a file in each folder of a server, which the server holds. So two servers do not write one
// folder, and what a server has left that was killed is told from what one uses.
const lockName = "attn.lock"

// tempPattern is the form of the names of temporary folders.
const tempPattern = "attn-jetstream*"

// store is the folder of a server's streams.
type store struct {
	dir       string
	temporary bool
	lock      *flock.Flock
}

// openStore opens a folder, which it makes if need be. "" is a temporary one; those that servers have left
// that were killed are removed then.
func openStore(dir string) (*store, error) {
	s := &store{dir: dir}
	var err error
	if dir == "" {
		removeLeft()
		s.temporary = true
		s.dir, err = os.MkdirTemp("", tempPattern)
	} else {
		err = os.MkdirAll(dir, 0o750)
	}
	if err != nil {
		return nil, fmt.Errorf("hub: %w", err)
	}
	s.lock = flock.New(filepath.Join(s.dir, lockName))
	if ok, err := s.lock.TryLock(); err != nil || !ok {
		return nil, errors.Join(fmt.Errorf("hub: %s: %w", s.dir, ErrLocked), err)
	}
	return s, nil
}

// close lets other servers use the folder, or removes it.
func (s *store) close() {
	if s.temporary {
		os.RemoveAll(s.dir)
	}
	s.lock.Unlock()
}

// removeLeft removes temporary folders whose server has ended without removing them. Folders without the
// lock are not those of a server.
func removeLeft() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), tempPattern)) // the pattern is right
	for _, dir := range left {
		name := filepath.Join(dir, lockName)
		if _, err := os.Stat(name); err != nil {
			continue
		}
		lock := flock.New(name)
		if ok, err := lock.TryLock(); err == nil && ok {
			os.RemoveAll(dir)
			lock.Unlock()
		}
	}
}
