// Package torchfile reads the tensors of a dictionary that torch.save has written, such as pytorch_model.bin, or
// sparse_linear.pt of bge-m3.
//
// Such a file is a zip archive: NAME/data.pkl is a pickle that says which tensors there are, and NAME/data/KEY has the numbers of a
// storage. Before PyTorch 1.6 it was pickles with the numbers behind them. A pickle is a program. The interpreter here runs only the operations that a dictionary of tensors takes, and
// knows four functions, none of which does more than to describe data: OrderedDict, _rebuild_tensor_v2, _rebuild_parameter and the types of
// storages. Anything else is an error that names it, so that no file makes a program do anything.
package torchfile

import (
	"archive/zip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/filemap"
)

// A File is an open file, whose bytes are those that a file of safetensors with the same tensors would have: a header,
// and the numbers of the tensors in the order of their names, which are read where they lie. Any number of goroutines may use it.
type File struct {
	r      io.ReaderAt
	closer io.Closer
	header []byte
	parts  []part // in order
	size   int64
}

// A part is the numbers of a tensor.
type part struct{ begin, end, at int64 } // in the File, and where they begin in the archive

// A tensor is a part of a storage, in rows.
type tensor struct {
	storage storage
	at      int64 // its first number
	shape   []int
}

// A storage is numbers of a file.
type storage struct {
	dtype, key string
	n          int64
}

// Open opens a file. An error that is none of the operating system is a [*kernel.Error] about a part of it. The caller closes it.
func Open(path string) (*File, error) {
	f, size, err := filemap.Open(path)
	if err != nil {
		return nil, err
	}
	file, err := parse(f, size)
	if err != nil {
		f.Close()
		return nil, err
	}
	file.closer = f
	return file, nil
}

// An archive is a zip archive with the names of its entries, without that of the archive.
type archive struct {
	r       io.ReaderAt
	entries map[string]*zip.File
	size    int64
}

// parse reads what a file says about its tensors.
func parse(r io.ReaderAt, size int64) (*File, error) {
	if isOld(r) {
		return parseOld(r, size)
	}
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, &kernel.Error{Where: "the file", Got: err.Error(), Want: "a zip archive, or what torch.save wrote before PyTorch 1.6"}
	}
	a := &archive{r, map[string]*zip.File{}, size}
	for _, e := range z.File {
		_, name, _ := strings.Cut(e.Name, "/")
		if _, twice := a.entries[name]; twice {
			return nil, &kernel.Error{Where: e.Name, Got: "two entries", Want: "one"}
		}
		a.entries[name] = e
	}
	if a.entries["byteorder"] != nil { // files of PyTorch before 2.1 have none, and are little-endian
		order, err := a.bytes("byteorder")
		if err == nil && string(order) != "little" {
			err = &kernel.Error{Where: "byteorder", Got: fmt.Sprintf("%.20q", order), Want: "little"}
		}
		if err != nil {
			return nil, err
		}
	}
	pickle, err := a.bytes("data.pkl")
	if err != nil {
		return nil, err
	}
	tensors, err := unpickle(pickle)
	if err != nil {
		return nil, &kernel.Error{Where: "data.pkl", Got: err.Error(), Want: "a dictionary of tensors in rows"}
	}
	return newFile(r, tensors, func(key string) (at, n int64, err error) { return a.find("data/" + key) })
}

// find returns where an entry begins and how many bytes it has, which are not compressed.
func (a *archive) find(name string) (at, n int64, err error) {
	e := a.entries[name]
	if e == nil {
		return 0, 0, &kernel.Error{Where: name, Got: "nothing", Want: "an entry of the archive"}
	}
	at, err = e.DataOffset()
	if err != nil {
		return 0, 0, &kernel.Error{Where: name, Got: err.Error(), Want: "an entry of the archive"}
	}
	n = int64(e.UncompressedSize64)
	if e.Method != zip.Store || e.UncompressedSize64 != e.CompressedSize64 || n < 0 || at > a.size || n > a.size-at {
		return 0, 0, &kernel.Error{Where: name, Got: fmt.Sprintf("%d bytes by method %d", e.UncompressedSize64, e.Method), Want: "bytes of the file that are not compressed"}
	}
	return at, n, nil
}

// bytes returns the bytes of an entry.
func (a *archive) bytes(name string) ([]byte, error) {
	at, n, err := a.find(name)
	if err != nil {
		return nil, err
	}
	if n > mostRead {
		return nil, &kernel.Error{Where: name, Got: fmt.Sprintf("%d bytes", n), Want: fmt.Sprintf("at most %d", mostRead)}
	}
	data := make([]byte, n)
	if m, err := a.r.ReadAt(data, at); m < len(data) {
		return nil, &kernel.Error{Where: name, Got: err.Error(), Want: "an entry of the archive"}
	}
	return data, nil
}

// A dtype is the name that safetensors has for a type, and the bytes of a number.
type dtype struct {
	name string
	size int64
}

// dtypes are the types of numbers, by those of storages.
var dtypes = map[string]dtype{
	"FloatStorage": {"F32", 4}, "HalfStorage": {"F16", 2}, "BFloat16Storage": {"BF16", 2}, "DoubleStorage": {"F64", 8},
	"LongStorage": {"I64", 8}, "IntStorage": {"I32", 4}, "ShortStorage": {"I16", 2}, "CharStorage": {"I8", 1}, "ByteStorage": {"U8", 1}, "BoolStorage": {"BOOL", 1},
}

// newFile returns the tensors as a file of safetensors. find returns where a storage begins and how many bytes it has.
func newFile(r io.ReaderAt, tensors map[string]tensor, find func(key string) (at, n int64, err error)) (*File, error) {
	type entry struct {
		DType   string   `json:"dtype"`
		Shape   []int    `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	f := &File{r: r}
	header := map[string]entry{}
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		t := tensors[name]
		d, ok := dtypes[t.storage.dtype]
		if !ok {
			return nil, &kernel.Error{Where: name, Got: t.storage.dtype, Want: "one of " + strings.Join(slices.Sorted(maps.Keys(dtypes)), ", ")}
		}
		at, n, err := find(t.storage.key)
		if err != nil {
			return nil, err
		}
		if n%d.size != 0 || n/d.size != t.storage.n {
			return nil, &kernel.Error{Where: "data/" + t.storage.key, Got: fmt.Sprintf("%d bytes", n), Want: fmt.Sprintf("%d numbers of %d bytes", t.storage.n, d.size)}
		}
		bytes := d.size
		for _, x := range t.shape {
			bytes *= int64(x) // no more than those of the storage: unpickle checks it
		}
		header[name] = entry{d.name, t.shape, [2]int64{f.size, f.size + bytes}}
		f.parts = append(f.parts, part{f.size, f.size + bytes, at + t.at*d.size})
		if f.size += bytes; f.size < 0 || f.size > 1<<62 {
			return nil, &kernel.Error{Where: name, Got: "a tensor after 2^62 bytes", Want: "fewer"}
		}
	}
	text, err := json.Marshal(header)
	if err != nil {
		return nil, &kernel.Error{Where: "data.pkl", Got: err.Error(), Want: "names of tensors"}
	}
	f.header = append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	return f, nil
}

// Size returns the number of bytes.
func (f *File) Size() int64 { return int64(len(f.header)) + f.size }

// Close closes the file.
func (f *File) Close() error { return f.closer.Close() }

// ReadAt implements [io.ReaderAt].
func (f *File) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, fmt.Errorf("torchfile: byte %d", off)
	}
	if off < int64(len(f.header)) {
		n = copy(p, f.header[off:])
	}
	at := off + int64(n) - int64(len(f.header)) // in the numbers
	i, _ := slices.BinarySearchFunc(f.parts, at, func(p part, at int64) int {
		if p.end <= at {
			return -1
		}
		return 1
	})
	for ; n < len(p) && i < len(f.parts); i++ {
		x := f.parts[i]
		rest := p[n:][:min(int64(len(p)-n), x.end-at)]
		m, err := f.r.ReadAt(rest, x.at+at-x.begin)
		n, at = n+m, at+int64(m)
		if m < len(rest) {
			return n, err
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
