// Package filemap maps files to memory: pages that nobody looks at take none, and several programs
// share the others. A file that another program shortens while it is mapped ends this program when
// it looks at what is missing. It also opens and reads files of models that are not mapped: a path
// that is no file is an error, and nothing hangs.
package filemap

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"unsafe"
)

// A Mapping is a file that is mapped, or was read by [Load].
type Mapping struct {
	data []byte
	read bool
}

// Load maps the first size bytes of a file as [New] does. If that fails for want of anything but
// memory, as with systems and file systems that cannot map, it reads them.
func Load(f *os.File, size int64) (*Mapping, error) { return load(f, size, mapFile) }

func load(f *os.File, size int64, mapFile func(*os.File, int) ([]byte, error)) (*Mapping, error) {
	m, err := mapped(f, size, mapFile) // which fails for 0 bytes
	if err == nil || outOfMemory(err) || size > math.MaxInt {
		return m, err
	}
	m = &Mapping{data: make([]byte, size), read: true}
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, size), m.data); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return m, nil
}

// New maps the first size bytes of a file read-only, more than 0. The file may be closed
// afterwards. The error is an [errors.ErrUnsupported] on systems that map no files, and if they do
// not fit the address space.
func New(f *os.File, size int64) (*Mapping, error) { return mapped(f, size, mapFile) }

func mapped(f *os.File, size int64, mapFile func(*os.File, int) ([]byte, error)) (*Mapping, error) {
	if size > math.MaxInt {
		return nil, fmt.Errorf("%s: %d bytes do not fit the address space: %w", f.Name(), size, errors.ErrUnsupported)
	}
	data, err := mapFile(f, int(size))
	if err != nil {
		return nil, err
	}
	return &Mapping{data: data}, nil
}

// Data returns the bytes of the file, which must not be written, nor read after Close.
func (m *Mapping) Data() []byte { return m.data }

// Forget lets the pages of a part of the data, or of nothing, leave the memory of this program:
// they are read from the file again if somebody looks at them. It does so on Linux alone, and not
// if the file was read; else pages leave memory when it is needed.
func (m *Mapping) Forget(part []byte) {
	if m.read {
		return
	}
	first, all := address(part), address(m.data)
	if len(part) == 0 || len(part) > len(m.data) || first < all || first-all > uintptr(len(m.data)-len(part)) {
		return // memory of somebody else would be zeros afterwards
	}
	end := first - all + uintptr(len(part))
	forget(m.data[(first-all)/around*around : min((end+around-1)/around*around, uintptr(len(m.data)))])
}

// around is what Forget rounds to, as a look at one page maps its neighbours too: Linux maps 64
// KiB, or a large page of its cache. It is a multiple of every size of a page.
const around = 2 << 20

func address(x []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(x))) }

// Close unmaps the file.
func (m *Mapping) Close() error {
	data := m.data
	m.data = nil
	if m.read {
		return nil
	}
	return unmap(data)
}
