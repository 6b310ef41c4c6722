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

// A server holds a file in its folder, so that two do not write one folder, and so that what a
// server has left that was killed is told from what one uses. In temporary folders it has a name of
// its own: nothing else is ever removed.
const (
	lockName     = "attn.lock"
	tempLockName = "attn-temporary.lock"
)

// tempPattern is the form of the names of temporary folders.
const tempPattern = "attn-jetstream*"

// store is the folder of a server's streams.
type store struct {
	dir       string
	temporary bool
	lock      *flock.Flock
}

// openStore opens a folder, which it makes if need be. "" is a temporary one; those that servers
// have left that were killed are removed then.
func openStore(dir string) (*store, error) {
	if dir == "" {
		removeLeft()
		return openTemporary()
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("hub: %w", err)
	}
	s := &store{dir: dir, lock: flock.New(filepath.Join(dir, lockName))}
	if ok, err := s.lock.TryLock(); err != nil || !ok {
		return nil, errors.Join(fmt.Errorf("hub: %s: %w", dir, ErrLocked), err)
	}
	return s, nil
}

// openTemporary makes a temporary folder. Until this server has the lock, the start of another one
// may take the folder for one that was left, and remove it.
func openTemporary() (*store, error) {
	for {
		dir, err := os.MkdirTemp("", tempPattern)
		if err != nil {
			return nil, fmt.Errorf("hub: %w", err)
		}
		s := &store{dir: dir, temporary: true, lock: flock.New(filepath.Join(dir, tempLockName))}
		ok, err := s.lock.TryLock()
		_, missing := os.Stat(dir)
		if ok && missing == nil {
			return s, nil
		}
		s.close()
		if err != nil && missing == nil {
			return nil, fmt.Errorf("hub: %s: %w", dir, err)
		}
	}
}

// close lets other servers use the folder, or removes it. Some systems remove no file that is open.
func (s *store) close() {
	s.lock.Unlock()
	if s.temporary {
		os.RemoveAll(s.dir)
	}
}

// removeLeft removes temporary folders whose server has ended without removing them. Folders
// without the lock are not those of a server.
func removeLeft() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), tempPattern)) // the pattern is right
	for _, dir := range left {
		s := &store{dir: dir, temporary: true, lock: flock.New(filepath.Join(dir, tempLockName))}
		if _, err := os.Stat(s.lock.Path()); err != nil {
			continue
		}
		if ok, err := s.lock.TryLock(); err == nil && ok {
			s.close()
		}
	}
}
