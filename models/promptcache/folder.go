package promptcache

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/attn-go/attn/kernel"
)

// A Folder keeps objects as files, of so many bytes at most. What was used least recently goes
// first, of a text its end: a page counts as used one second earlier for each page before it.
// Several programs may have one folder, each of which counts what it knows of. A file is whole or
// not there, whenever a program or the machine ends.
type Folder struct {
	path string
	most int64

	mu    sync.Mutex
	bytes int64
	files map[string]file
}

// A file is one that the folder knows of.
type file struct {
	bytes int64
	used  time.Time
}

// ending ends the names of files with pages; newEnding is in the names of files that are being
// written.
const ending, newEnding = ".page", ".new-"

// abandoned is how old a file is that a program has not written to its end.
const abandoned = time.Hour

// OpenFolder returns the store of a folder, which it makes if there is none.
func OpenFolder(path string, most int64) (*Folder, error) {
	if most < 1 {
		return nil, &kernel.Error{Where: "promptcache: most", Got: "no bytes", Want: "1 or more"}
	}
	if err := os.MkdirAll(path, 0o700); err != nil { // texts can be told from their pages
		return nil, err
	}
	list, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	f := &Folder{path: path, most: most, files: map[string]file{}}
	for _, e := range list {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue // it is gone, or no file of ours
		}
		if strings.Contains(e.Name(), newEnding) && time.Since(info.ModTime()) > abandoned {
			os.Remove(filepath.Join(path, e.Name()))
		}
		if name, ok := strings.CutSuffix(e.Name(), ending); ok && isName(name) {
			f.add(name, file{info.Size(), info.ModTime()})
		}
	}
	f.shrink()
	return f, nil
}

// isName tells whether a file has the name of a key: others are not removed.
func isName(name string) bool {
	sum, err := hex.DecodeString(name)
	return err == nil && len(sum) == len(Key{}.sum)
}

// at returns the path of a name.
func (f *Folder) at(name string) string { return filepath.Join(f.path, name+ending) }

// add notes a file, in place of a file of its name. The caller has the lock, or the folder alone.
func (f *Folder) add(name string, x file) {
	f.bytes += x.bytes - f.files[name].bytes
	f.files[name] = x
}

// forget takes a file out of the list.
func (f *Folder) forget(name string) {
	f.bytes -= f.files[name].bytes
	delete(f.files, name)
}

// shrink removes files until the others take no more than they may, and some room for the next
// ones. The caller has the lock.
func (f *Folder) shrink() {
	if f.bytes <= f.most {
		return
	}
	names := make([]string, 0, len(f.files))
	for name := range f.files {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(f.files[a].used.Compare(f.files[b].used), strings.Compare(a, b))
	})
	for _, name := range names {
		if f.bytes <= f.most-f.most/16 {
			return
		}
		if err := os.Remove(f.at(name)); err == nil || errors.Is(err, fs.ErrNotExist) { // another program may have removed it
			f.forget(name)
		}
	}
}

// Get implements [Backend].
func (f *Folder) Get(_ context.Context, k Key) ([]byte, error) {
	data, err := os.ReadFile(f.at(k.String()))
	f.mu.Lock()
	defer f.mu.Unlock()
	if errors.Is(err, fs.ErrNotExist) {
		if data, err = os.ReadFile(f.at(k.String())); errors.Is(err, fs.ErrNotExist) { // Remove may have put it back
			f.forget(k.String())
		}
	}
	if err == nil {
		f.used(k, len(data))
	}
	return data, err
}

// used notes that a file was used. The caller has the lock.
func (f *Folder) used(k Key, bytes int) {
	when := time.Now().Add(-time.Duration(k.depth) * time.Second)
	err := os.Chtimes(f.at(k.String()), time.Time{}, when) // for the next program; without it the order is another one
	if errors.Is(err, fs.ErrNotExist) {
		f.forget(k.String()) // it was removed since it was read or written
		return
	}
	f.add(k.String(), file{int64(bytes), when})
}

// Put implements [Backend].
func (f *Folder) Put(_ context.Context, k Key, object []byte) error {
	name := k.String()
	if n := int64(len(object)); n > f.most {
		return &kernel.Error{Where: "promptcache: a page", Got: fmt.Sprintf("%d bytes", n), Want: fmt.Sprintf("at most %d, those of the folder", f.most)}
	}
	if _, err := os.Stat(f.at(name)); err == nil {
		return nil
	}
	if err := f.write(name, object); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used(k, len(object))
	f.shrink()
	return nil
}

// write writes a file, which others see as a whole.
func (f *Folder) write(name string, data []byte) error {
	w, err := os.CreateTemp(f.path, name+newEnding)
	if err != nil {
		return err
	}
	defer os.Remove(w.Name()) // fails if all went well
	_, err = w.Write(data)
	if err = errors.Join(err, w.Sync(), w.Close()); err != nil {
		return err
	}
	if err := os.Rename(w.Name(), f.at(name)); err != nil {
		return err
	}
	if dir, err := os.Open(f.path); err == nil { // so that the name survives a crash, where folders can be synced
		_ = dir.Sync()
		_ = dir.Close()
	}
	return nil
}

// Remove implements [Backend]. It takes the file aside and then reads it, as another program may
// write the new one at any time. A file that is the new one goes back; another program that asks
// for it meanwhile finds none.
func (f *Folder) Remove(_ context.Context, k Key, object []byte) error {
	name := k.String()
	f.mu.Lock()
	defer f.mu.Unlock()
	w, err := os.CreateTemp(f.path, name+newEnding)
	if err != nil {
		return err
	}
	aside := w.Name()
	defer os.Remove(aside)
	if err := errors.Join(w.Close(), os.Rename(f.at(name), aside)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			f.forget(name)
		}
		return err
	}
	now, err := os.ReadFile(aside)
	if err == nil && bytes.Equal(now, object) {
		f.forget(name)
		return nil
	}
	if err = errors.Join(err, os.Rename(aside, f.at(name))); err == nil {
		f.used(k, len(now)) // another program may have written it
	}
	return err
}
