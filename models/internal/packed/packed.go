// Package packed keeps the packed layers of a model in a file beside it, which the next program
// maps instead of packing the weights again. Then the layers share the pages of the file, and take
// no other memory. Systems that map no files read it.
//
// The file holds for one state of the model's files, see [Fingerprint], and for one version of this
// module's packing. Any other one is written anew, and so is one that lacks a layer. It is complete
// whenever a program is killed: it gets its name when all of it is on the disk.
package packed

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/internal/filemap"
)

// The file, all numbers little-endian:
//
//	 0  the 8 bytes "attnpack"
//	 8  uint32  version
//	12  uint32  linear.PackedVersion
//	16  uint64  where the table begins, the last part of the file
//	24  zeros
//	32  SHA-256 of the first 24 bytes and the table
//	64  layers as linear.Linear.WriteTo writes them, each at a multiple of 64
//	    the table, in JSON
const (
	magic    = "attnpack"
	headSize = 64
	align    = 64
)

// version is raised when package tensors makes other layers of the same files, and when the file
// changes.
const version = 3

// Suffix ends the name of the file.
const Suffix = ".packed"

// A table says what the file is of.
type table struct {
	Source []byte // the Fingerprint
	Layers map[string]span
}

// A span is where a layer lies, with its CRC-32C, which CPUs compute about as fast as they read
// memory.
type span struct {
	At, Size int64
	Sum      uint32
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A Cache is the file of one model while that is loaded, by one goroutine. It reads a file that
// fits, and writes one if there is none or if a layer is missing. The nil Cache has no layers and
// keeps none.
type Cache struct {
	path    string
	mapping *mapping // what is read
	layers  map[string]span
	taken   []string // of these

	table // what is written
	file  *os.File
	size  int64
}

// Open opens the file at a path for layers of a source, or begins to write it.
func Open(path string, source [sha256.Size]byte) (*Cache, error) {
	c := &Cache{path: path, table: table{source[:], map[string]span{}}}
	if c.read() {
		return c, nil
	}
	if err := c.begin(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// begin begins to write.
func (c *Cache) begin() error {
	removeStale(c.path)
	f, err := os.CreateTemp(filepath.Dir(c.path), filepath.Base(c.path)+newInfix)
	if err != nil {
		return err
	}
	c.file = f
	if info, err := os.Stat(strings.TrimSuffix(c.path, Suffix)); err == nil {
		f.Chmod(info.Mode().Perm()) // whoever may read the model may read its layers; systems without modes need none
	}
	return c.write(make([]byte, headSize))
}

// read maps the file, and tells whether there is one that fits.
func (c *Cache) read() bool {
	f, err := filemap.OpenRegular(c.path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() < headSize {
		return false
	}
	m, err := filemap.Load(f, info.Size())
	if err != nil {
		return false
	}
	if t, ok := parse(m.Data()); ok && bytes.Equal(t.Source, c.Source) {
		c.layers, c.mapping = t.Layers, &mapping{Mapping: m}
		c.mapping.users.Store(1)
		return true
	}
	m.Close()
	return false
}

// parse returns the table of a file.
func parse(data []byte) (*table, bool) {
	at := binary.LittleEndian.Uint64(data[16:])
	if at < headSize || at > uint64(len(data)) || !bytes.Equal(data[:16], head(at)[:16]) || !bytes.Equal(data[32:headSize], sum(data[:24], data[at:])) {
		return nil, false
	}
	t := new(table)
	if json.Unmarshal(data[at:], t) != nil {
		return nil, false
	}
	for _, s := range t.Layers {
		if s.At < headSize || s.Size < 0 || s.At > int64(at) || s.Size > int64(at)-s.At {
			return nil, false
		}
	}
	return t, true
}

// head returns the first 24 bytes.
func head(tableAt uint64) []byte {
	b := append(make([]byte, 0, headSize), magic...)
	b = binary.LittleEndian.AppendUint32(b, version)
	b = binary.LittleEndian.AppendUint32(b, linear.PackedVersion)
	return binary.LittleEndian.AppendUint64(b, tableAt)
}

func sum(head, table []byte) []byte {
	h := sha256.New()
	h.Write(head)
	h.Write(table)
	return h.Sum(nil)
}

// A mapping is unmapped when neither the Cache nor a layer needs it.
type mapping struct {
	*filemap.Mapping
	users atomic.Int64
}

func (m *mapping) leave() {
	if m.users.Add(-1) == 0 {
		m.Close()
	}
}

// Layer returns a layer of the file, nil if it has none of this name, or a damaged one. The caller
// then adds it.
func (c *Cache) Layer(name string) *linear.Linear {
	if c == nil || c.mapping == nil {
		return nil
	}
	s, ok := c.layers[name]
	if !ok {
		return nil
	}
	data := c.data(s)
	if crc32.Checksum(data, castagnoli) != s.Sum {
		return nil
	}
	l, err := linear.FromPacked(data)
	if err != nil {
		return nil
	}
	c.taken = append(c.taken, name)
	c.mapping.users.Add(1)
	runtime.AddCleanup(l, (*mapping).leave, c.mapping)
	return l
}

// data returns the bytes of a layer that is read.
func (c *Cache) data(s span) []byte { return c.mapping.Data()[s.At:][:s.Size] }

// Add writes a layer that the file lacks.
func (c *Cache) Add(name string, l *linear.Linear) error {
	if c == nil {
		return nil
	}
	if c.file == nil {
		if err := c.begin(); err != nil {
			return err
		}
	}
	return c.add(name, l)
}

func (c *Cache) add(name string, layer io.WriterTo) error {
	if err := c.write(make([]byte, -c.size&(align-1))); err != nil {
		return err
	}
	sum := crc32.New(castagnoli)
	n, err := layer.WriteTo(io.MultiWriter(c.file, sum))
	c.Layers[name] = span{c.size, n, sum.Sum32()}
	c.size += n
	return err
}

func (c *Cache) write(b []byte) error {
	n, err := c.file.Write(b)
	c.size += int64(n)
	return err
}

// End completes a file that is written, unless the source has changed meanwhile. It has the layers
// that were added and those that the program has read, and no others, which nothing asks for.
func (c *Cache) End(source [sha256.Size]byte) error {
	if c == nil || c.file == nil || !bytes.Equal(source[:], c.Source) {
		return nil
	}
	for _, name := range c.taken {
		if err := c.add(name, bytes.NewReader(c.data(c.layers[name]))); err != nil {
			return err
		}
	}
	text, err := json.Marshal(c.table)
	if err != nil || c.size > math.MaxInt64-int64(len(text)) {
		return fmt.Errorf("%s: %w", c.path, errors.Join(err, fs.ErrInvalid))
	}
	h := head(uint64(c.size))
	h = append(h, make([]byte, 8)...)
	h = append(h, sum(h[:24], text)...)
	_, err = c.file.Write(text)
	if err == nil {
		_, err = c.file.WriteAt(h, 0)
	}
	if err = errors.Join(err, c.file.Sync(), c.file.Close()); err == nil {
		err = os.Rename(c.file.Name(), c.path)
	}
	if err == nil {
		c.file = nil
	}
	return err
}

// Close ends the use of a Cache: a file that is not complete is removed. Layers of one that was
// read stay valid.
func (c *Cache) Close() {
	if c == nil {
		return
	}
	if c.file != nil {
		c.file.Close()
		os.Remove(c.file.Name())
		c.file = nil
	}
	if c.mapping != nil {
		c.mapping.leave()
		c.mapping = nil
	}
}
