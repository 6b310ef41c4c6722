// Package gguf reads GGUF files: the metadata and the tensors of a model in one file. It
// checks everything that a file says about itself. For a damaged or malicious file it returns
// an error of the kind [ErrFormat] that says what is wrong, and at which byte.
//
//	f, err := gguf.Open("model.gguf")
//	layers, err := f.Int("llama.block_count")
//	t, ok := f.Tensor("token_embd.weight")
//	weights, err := t.Float32()
//
// Types of blocks have the names of package linear's formats, and linear.FromBlocks takes the bytes
// as they are:
//
//	n, k := t.Shape[0], t.Shape[1]
//	layer, err := linear.FromBlocks(linear.Q8_0, t.Data, n, k, nil, exec) // t.Type is gguf.Q8_0
//
// # The format
//
// The specification is docs/gguf.md of the ggml project,
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. A file consists of a header with
// the numbers of tensors and of metadata entries, the metadata, the descriptions of the
// tensors, and the data. The data and each tensor in it begin at a multiple of the alignment,
// 32 bytes or what the metadata say.
//
// # Limits
//
// Versions 2 and 3 are read, little-endian, which practically all files are. Big-endian files and
// files of version 1 are errors. This package itself runs on machines of either byte order. A file
// must fit the address space, and a dimension an int.
//
// These are errors too: a key or a tensor that occurs twice, keys that are empty or longer than
// 65,535 bytes, names of tensors that are empty or longer than 64 bytes, more than 4
// dimensions, arrays nested deeper than 8, an alignment that is not a power of two from 8 to
// 2^30, bools other than 0 and 1, tensors that overlap, and rows that are no whole number of
// blocks. Gaps between tensors and bytes after the last one are not. Whether strings are UTF-8
// is not checked.
//
// Open reads models in several files, NAME-00001-of-00003.gguf and so on, if it is given the first
// one. A part that is missing, of another model, or has too few or too many tensors is an error.
//
// A tensor of any type can be found and described. Tensor.Float32 converts the types that its
// comment lists.
//
// # Memory
//
// Open maps the file on Linux, Android, macOS, iOS and the BSDs: tensors that nobody looks at
// take no memory, and several programs share the rest. Elsewhere, such as on Windows, it reads
// the whole file. Metadata are copied, Tensor.Data is not: it must not be used after
// File.Close. A file that another program shortens while it is mapped ends this program when
// it looks at what is missing.
package gguf

import (
	"errors"
	"fmt"

	"github.com/attn-go/attn/models/internal/filemap"
)

// A File is a GGUF file, parsed. Only Close and DropMetadata change it: any number of goroutines
// may call its other methods at once.
type File struct {
	version   uint32
	alignment int // of the data and of the tensors in it, in bytes
	data      int // where the data begin, in bytes from the start of the file

	entries []entry
	keys    map[string]int // the positions in entries
	tensors []Tensor
	names   map[string]int // the positions in tensors

	mappings []*filemap.Mapping // of all parts; none without Open
}

// Forget lets the pages of a tensor leave the memory of this program: they are read from the file
// again if somebody looks at them. It is for tensors that have been copied, and does nothing if the
// file is not mapped or the system is another one than Linux.
func (f *File) Forget(t Tensor) {
	for _, m := range f.mappings {
		m.Forget(t.Data)
	}
}

// Open maps a file, or reads it if it cannot be mapped, and parses it as New does. The caller
// closes it. If it is the first part of a model in several files, as llama.cpp's gguf-split writes
// them, Open does so with all parts, see [Parts]: the File has the metadata of the first one and
// the tensors of all.
//
// An error of the system is a *fs.PathError, also if a part is missing. Any other says the path and
// wraps a [*kernel.Error], of the kind [ErrFormat] if the content is at fault, or not if parts are
// not of one model.
func Open(path string) (*File, error) {
	f, err := openPart(path)
	if err != nil {
		return nil, err
	}
	if err := f.addParts(path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// openPart opens one file.
func openPart(path string) (*File, error) {
	mapping, err := load(path)
	if err != nil {
		return nil, err
	}
	f, err := New(mapping.Data())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), mapping.Close())
	}
	mapping.Forget(mapping.Data()[:f.data]) // nothing reads it again: metadata are copied
	f.mappings = []*filemap.Mapping{mapping}
	return f, nil
}

func load(path string) (*filemap.Mapping, error) {
	f, size, err := filemap.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // a mapping stays
	return filemap.Load(f, size)
}

// New parses a file that lies in memory, by itself if it is a part of a model. Tensor.Data are
// parts of data, which must not change as long as they are used. An error is of the kind
// [ErrFormat].
func New(data []byte) (*File, error) {
	f := &File{alignment: defaultAlignment}
	r := &reader{data: data}
	if err := f.parse(r); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *File) parse(r *reader) error {
	tensors, entries, err := f.parseHeader(r)
	if err != nil {
		return err
	}
	if err := f.parseMetadata(r, entries); err != nil {
		return err
	}
	infos, err := f.parseInfos(r, tensors)
	if err != nil {
		return err
	}
	return f.place(r, infos)
}

// Close unmaps the files that Open mapped. The Data of its tensors must not be used any more, in
// any goroutine: that ends the program. Keys and values remain valid. A second call does
// nothing. The calls of Close are the caller's to order: no other method may run meanwhile.
func (f *File) Close() error {
	if f.mappings == nil {
		return nil
	}
	for i := range f.tensors {
		f.tensors[i].Data = nil
	}
	var all []error
	for _, m := range f.mappings {
		all = append(all, m.Close())
	}
	f.mappings = nil
	return errors.Join(all...)
}
