// Package torchfile reads the tensors of a dictionary that torch.save has written, such as
// pytorch_model.bin, or sparse_linear.pt of bge-m3.
//
// Such a file is a zip archive: NAME/data.pkl is a pickle that says which tensors there are, and
// NAME/data/KEY has the numbers of a storage. Before PyTorch 1.6 it was pickles with the numbers
// behind them. A pickle is a program. The interpreter here runs only the operations that a
// dictionary of tensors takes, and knows four functions, none of which does more than to describe
// data: OrderedDict, _rebuild_tensor_v2, _rebuild_parameter and the types of storages. Anything
// else is an error that names it, so that no file makes a program do anything.
package torchfile

import (
	"archive/zip"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/safetensors"
)

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

// An archive is a zip archive with the names of its entries, without the archive's own.
type archive struct {
	r       io.ReaderAt
	entries map[string]*zip.File
	size    int64
}

// Read returns where the tensors of a file of so many bytes lie in it, as [safetensors.File.Info]
// does. The error is a [*kernel.Error] about a part of the file.
func Read(r io.ReaderAt, size int64) (map[string]safetensors.Info, error) {
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
	return place(tensors, func(key string) (at, n int64, err error) { return a.find("data/" + key) })
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

// dtypes are the types of numbers, by the types of storages.
var dtypes = map[string]dtype{
	"FloatStorage": {"F32", 4}, "HalfStorage": {"F16", 2}, "BFloat16Storage": {"BF16", 2}, "DoubleStorage": {"F64", 8},
	"LongStorage": {"I64", 8}, "IntStorage": {"I32", 4}, "ShortStorage": {"I16", 2}, "CharStorage": {"I8", 1}, "ByteStorage": {"U8", 1}, "BoolStorage": {"BOOL", 1},
}

// place returns where tensors lie. find returns where a storage begins and how many bytes it has.
func place(tensors map[string]tensor, find func(key string) (at, n int64, err error)) (map[string]safetensors.Info, error) {
	all := map[string]safetensors.Info{}
	for name, t := range tensors {
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
			bytes *= int64(x) // no more than the storage has: unpickle checks it
		}
		begin := at + t.at*d.size
		all[name] = safetensors.Info{DType: d.name, Shape: t.shape, Begin: begin, End: begin + bytes}
	}
	return all, nil
}
