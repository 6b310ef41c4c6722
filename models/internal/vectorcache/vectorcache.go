// Package vectorcache keeps the vectors of texts in a file, so that a program computes each of them
// once: a second search over the same documents takes the time of reading them.
//
//	cache, err := vectorcache.Open(path, digest, encoder.Width())
//	if err != nil {
//		log.Print(err) // the cache is empty, and can be used
//	}
//	v, ok := cache.Get(text)
//	if !ok {
//		v = ... // and
//		cache.Put(text, v)
//	}
//	err = cache.Save()
//
// A vector is found by the SHA-256 of its text, in the file of one model, which a digest names, and
// of one version of the numeric contract: it has the bits that computing it again would give. The
// texts themselves are not in the file.
//
// Save writes a new file and renames it, so that a program that ends at any moment leaves the old
// file or the new one. A file that is damaged, or of another model, counts as empty. Two programs
// may use one file: the one that saves last wins, and what the other one has computed is computed
// again some time.
package vectorcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/attn-go/attn/kernel"
)

// maxWidth is the most numbers of a vector.
const maxWidth = 1 << 24

// A Cache has vectors by their texts. It is for one goroutine at a time. All of it is in memory.
type Cache struct {
	path    string
	head    []byte
	width   int
	vectors map[key]*entry
	changed bool // there is something to save
	fresh   int  // entries that were put since the last Save
	saved   int  // entries of the file
}

type key [sha256.Size]byte

type entry struct {
	vector []float32
	used   bool // since Open
}

// ErrDamaged is the kind of a [kernel.Error] about a file that holds no vectors that can be used.
var ErrDamaged = errors.New("vectorcache: the file is damaged")

// Open reads the file of a cache of vectors of so many numbers, which a model with this digest
// computed. Without such a file, the cache is empty. On error it is empty too; the error comes from
// the system or is a [*kernel.Error] of the kind [ErrDamaged]. The cache can be used, and the next
// Save replaces the file.
func Open(path string, model [sha256.Size]byte, width int) (*Cache, error) {
	c := &Cache{path: path, width: width, vectors: map[key]*entry{}}
	if width < 1 || width > maxWidth {
		return c, fmt.Errorf("vectorcache: got a width of %d, want 1 to %d", width, maxWidth)
	}
	c.head = append(c.head, "attn vectors 1\n\x00"...)
	c.head = append(c.head, model[:]...)
	c.head = binary.LittleEndian.AppendUint32(c.head, kernel.Contract)
	c.head = binary.LittleEndian.AppendUint32(c.head, uint32(width))
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("vectorcache: %w", err)
	}
	return c, c.parse(data)
}

// parse reads the entries of a file: the head, entries of a key and a vector each, and the SHA-256
// of all that.
func (c *Cache) parse(data []byte) error {
	size := sha256.Size + 4*c.width
	body := len(data) - len(c.head) - sha256.Size
	switch {
	case body < 0 || body%size != 0:
		return &kernel.Error{Where: c.path, Got: fmt.Sprintf("%d bytes", len(data)), Want: fmt.Sprintf("%d and a multiple of %d", len(c.head)+sha256.Size, size), Kind: ErrDamaged}
	case !bytes.HasPrefix(data, c.head):
		return &kernel.Error{Where: c.path, Got: "the head of other vectors", Want: "that of this model, width and version", Kind: ErrDamaged}
	}
	sum := sha256.Sum256(data[:len(data)-sha256.Size])
	if !bytes.Equal(sum[:], data[len(data)-sha256.Size:]) {
		return &kernel.Error{Where: c.path, Got: "another SHA-256 than that of the content", Want: "the same", Kind: ErrDamaged}
	}
	for at := len(c.head); body > 0; at, body = at+size, body-size {
		v := make([]float32, c.width)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[at+sha256.Size+4*i:]))
		}
		c.vectors[key(data[at:])] = &entry{vector: v}
	}
	c.saved = len(c.vectors)
	return nil
}

// Len returns the number of vectors.
func (c *Cache) Len() int { return len(c.vectors) }

// Get returns the vector of a text, which belongs to the cache, and whether there is one.
func (c *Cache) Get(text string) ([]float32, bool) {
	e, ok := c.vectors[sha256.Sum256([]byte(text))]
	if !ok {
		return nil, false
	}
	e.used = true
	return e.vector, true
}

// Put adds the vector of a text, which is copied. The error is that it has another width.
func (c *Cache) Put(text string, vector []float32) error {
	if len(vector) != c.width {
		return fmt.Errorf("vectorcache: got a vector of %d numbers, want %d", len(vector), c.width)
	}
	c.vectors[sha256.Sum256([]byte(text))] = &entry{append([]float32(nil), vector...), true}
	c.changed = true
	c.fresh++
	return nil
}

// Fresh returns how many vectors the file lacks. If there are as many as it has, and some more, a
// program that runs for long may Save in between, in time that grows with the number of vectors.
func (c *Cache) Fresh() int { return c.fresh }

// Saved returns the number of vectors in the file.
func (c *Cache) Saved() int { return c.saved }

// Prune drops the vectors that nothing has asked for or put since Open. Call it when all texts were
// seen, so that vectors of texts that have changed do not stay for ever.
func (c *Cache) Prune() {
	for k, e := range c.vectors {
		if !e.used {
			delete(c.vectors, k)
			c.changed = true
		}
	}
}

// Save writes the file, and its folder if it is not there, for the user alone. Without changes it
// does nothing. After an error the old file is as it was.
func (c *Cache) Save() error {
	if !c.changed {
		return nil
	}
	folder := filepath.Dir(c.path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("vectorcache: %w", err)
	}
	c.removeStale()
	f, err := os.CreateTemp(folder, filepath.Base(c.path)+".new-")
	if err != nil {
		return fmt.Errorf("vectorcache: %w", err)
	}
	defer os.Remove(f.Name()) // fails if all went well
	if err := errors.Join(c.write(f), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("vectorcache: %w", err)
	}
	if err := os.Rename(f.Name(), c.path); err != nil {
		return fmt.Errorf("vectorcache: %w", err)
	}
	c.changed, c.fresh, c.saved = false, 0, len(c.vectors)
	return nil
}
