// Package torchfile reads the tensors of a dictionary that torch.save has written, such as sparse_linear.pt of bge-m3.
//
// Such a file is a zip archive: NAME/data.pkl is a pickle that says which tensors there are, and NAME/data/KEY has the numbers of a
// storage. A pickle is a program. The interpreter here runs only the operations that a dictionary of tensors takes, and
// knows three functions, none of which does more than to describe data: OrderedDict, _rebuild_tensor_v2 and the types of
// storages. Anything else is an error that names it, so that no file makes a program do anything.
package torchfile

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/folder"
	"github.com/attn-go/attn/models/internal/littleendian"
)

// A File is a dictionary of tensors. One goroutine at a time may use it.
type File struct {
	path    string
	entries map[string]*zip.File // by their names without that of the archive
	size    int64
	tensors map[string]tensor
	used    map[string]bool
}

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

// Open reads a file, as far as it says which tensors there are. An error that is none of the operating system is a
// [*folder.Error].
func Open(path string) (*File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parse(path, data)
}

func parse(path string, data []byte) (*File, error) {
	f := &File{path: path, entries: map[string]*zip.File{}, size: int64(len(data)), used: map[string]bool{}}
	z, err := zip.NewReader(bytes.NewReader(data), f.size)
	if err != nil {
		return nil, f.errorf("the file", "%v", "a zip archive, as torch.save has written since PyTorch 1.6", err)
	}
	for _, e := range z.File {
		_, name, _ := strings.Cut(e.Name, "/")
		if _, twice := f.entries[name]; twice {
			return nil, f.errorf(e.Name, "%s", "one", "two entries")
		}
		f.entries[name] = e
	}
	pickle, err := f.entry("data.pkl")
	if err != nil {
		return nil, err
	}
	if f.entries["byteorder"] != nil { // files of PyTorch before 2.1 have none, and are little-endian
		order, err := f.entry("byteorder")
		if err == nil && string(order) != "little" {
			err = f.errorf("byteorder", "%q", "little", order)
		}
		if err != nil {
			return nil, err
		}
	}
	if f.tensors, err = unpickle(pickle); err != nil {
		return nil, f.errorf("data.pkl", "%v", "a dictionary of tensors in rows", err)
	}
	return f, nil
}

func (f *File) errorf(name, got, want string, args ...any) error {
	return &folder.Error{Path: f.path, Name: name, Got: fmt.Sprintf(got, args...), Want: want}
}

// entry returns the bytes of an entry, which are not compressed: they take no more memory than the file.
func (f *File) entry(name string) ([]byte, error) {
	e := f.entries[name]
	if e == nil {
		return nil, f.errorf(name, "%s", "an entry of the archive", "nothing")
	}
	if e.Method != zip.Store || e.UncompressedSize64 > uint64(f.size) {
		return nil, f.errorf(name, "%d bytes by method %d", "bytes that are not compressed", e.UncompressedSize64, e.Method)
	}
	r, err := e.Open()
	if err != nil {
		return nil, f.errorf(name, "%v", "an entry of the archive", err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, f.size))
	if err != nil {
		return nil, f.errorf(name, "%v", "an entry of the archive", err)
	}
	return data, nil
}

// dtypes are the types of numbers, by those of storages.
var dtypes = map[string]kernel.DType{"FloatStorage": kernel.Float32, "HalfStorage": kernel.Float16, "BFloat16Storage": kernel.BFloat16}

// Float32 reads a tensor of the given shape. Numbers of 16 bits are widened, which is exact. A tensor that is
// missing or does not fit is a [*folder.Error].
func (f *File) Float32(name string, shape ...int) ([]float32, error) {
	t, ok := f.tensors[name]
	if !ok {
		return nil, f.errorf(name, "%s", fmt.Sprintf("a tensor %v", shape), "nothing")
	}
	if !slices.Equal(t.shape, shape) {
		return nil, f.errorf(name, "%v", fmt.Sprint(shape), t.shape)
	}
	dtype, ok := dtypes[t.storage.dtype]
	if !ok {
		return nil, f.errorf(name, "%s", "FloatStorage, HalfStorage or BFloat16Storage", t.storage.dtype)
	}
	width := int64(littleendian.Size(dtype))
	data, err := f.entry("data/" + t.storage.key)
	if err != nil {
		return nil, err
	}
	n := int64(1)
	for _, d := range shape {
		n *= int64(d) // no more than the numbers of the storage: unpickle checks it
	}
	if size := int64(len(data)); size%width != 0 || size/width != t.storage.n {
		return nil, f.errorf("data/"+t.storage.key, "%d bytes", fmt.Sprintf("%d numbers of %d bytes", t.storage.n, width), len(data))
	}
	f.used[name] = true
	data = data[t.at*width:][:n*width]
	x := make([]float32, n)
	littleendian.Widen(x, data, dtype)
	return x, nil
}

// Unused reports a tensor that nothing has asked for, as a [*folder.Error].
func (f *File) Unused() error {
	var rest []string
	for name := range f.tensors {
		if !f.used[name] {
			rest = append(rest, name)
		}
	}
	if len(rest) == 0 {
		return nil
	}
	name := slices.Min(rest)
	return f.errorf(name, "%v", "only tensors that are known", f.tensors[name].shape)
}
