// Package safetensors reads tensors from safetensors files, and writes such files. It checks
// everything that a file says about itself. For a damaged or malicious file it returns an
// error that says what is wrong.
//
// A file consists of the length of the header (uint64, little-endian), the header, and the
// data. The header is a JSON object that maps the name of each tensor to its dtype, shape
// and data_offsets. The tensors fill the data without gaps or overlaps.
package safetensors

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/attn-go/attn/models/internal/filemap"
	"github.com/attn-go/attn/models/internal/littleendian"
)

// maxHeader is the largest header in bytes that the format allows.
const maxHeader = 100_000_000

// itemBytes maps each dtype to the size of an element in bytes.
var itemBytes = map[string]int64{
	"BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1,
	"U16": 2, "I16": 2, "F16": 2, "BF16": 2,
	"U32": 4, "I32": 4, "F32": 4,
	"U64": 8, "I64": 8, "F64": 8,
}

// An Info describes a tensor of a file.
type Info struct {
	DType string
	Shape []int

	Begin, End int64 // of the data, as offsets in the file
}

// A File is an open safetensors file.
type File struct {
	r        io.ReaderAt
	closer   io.Closer
	tensors  map[string]Info
	metadata map[string]string
}

// Open opens a file and reads its header. The caller closes it.
func Open(path string) (*File, error) {
	f, size, err := filemap.Open(path)
	if err != nil {
		return nil, err
	}
	file, err := New(f, size)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	file.closer = f
	return file, nil
}

// New reads the header of a file of the given size.
func New(r io.ReaderAt, size int64) (*File, error) {
	header, data, err := readHeader(r, size)
	if err != nil {
		return nil, err
	}
	f := &File{r: r}
	if err := f.parseHeader(header); err != nil {
		return nil, err
	}
	if err := fileOffsets(f.tensors, data, size); err != nil {
		return nil, err
	}
	return f, nil
}

// readHeader returns the header and the offset of the data.
func readHeader(r io.ReaderAt, size int64) (header []byte, data int64, err error) {
	if size < 8 {
		return nil, 0, fmt.Errorf("not a safetensors file: %d bytes", size)
	}
	var length [8]byte
	if _, err := r.ReadAt(length[:], 0); err != nil {
		return nil, 0, err
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader {
		return nil, 0, fmt.Errorf("not a safetensors file: header of %d bytes, the limit is %d", n, maxHeader)
	}
	if int64(n) > size-8 {
		return nil, 0, fmt.Errorf("truncated: a header of %d bytes in a file of %d: download it again", n, size)
	}
	header = make([]byte, n)
	if m, err := r.ReadAt(header, 8); m < len(header) {
		return nil, 0, fmt.Errorf("header: %w", err)
	}
	return header, 8 + int64(n), nil
}

// fileOffsets turns the offsets in the data into offsets in the file. It checks that the
// tensors fill the data exactly.
func fileOffsets(tensors map[string]Info, data, size int64) error {
	names := make([]string, 0, len(tensors))
	for name := range tensors {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		t, u := tensors[a], tensors[b]
		return cmp.Or(cmp.Compare(t.Begin, u.Begin), cmp.Compare(t.End, u.End), cmp.Compare(a, b))
	})
	at := int64(0)
	for _, name := range names {
		t := tensors[name]
		if t.End > size-data {
			return fmt.Errorf("truncated: tensor %q ends at byte %d of the data, and the file has %d of them: download it again", name, t.End, size-data)
		}
		if t.Begin != at {
			return fmt.Errorf("tensor %q: data begins at byte %d, want %d: tensors must follow each other without gaps or overlaps", name, t.Begin, at)
		}
		at = t.End
		t.Begin, t.End = data+t.Begin, data+t.End
		tensors[name] = t
	}
	if at != size-data {
		return fmt.Errorf("%d bytes after the last tensor", size-data-at)
	}
	return nil
}

// Close closes a file that Open opened.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Names returns the tensors' names, sorted.
func (f *File) Names() []string {
	names := make([]string, 0, len(f.tensors))
	for name := range f.tensors {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Info returns the description of a tensor, and whether the file has it.
func (f *File) Info(name string) (Info, bool) {
	t, ok := f.tensors[name]
	return t, ok
}

// Metadata returns the value of a key in the file's metadata, "" if it does not have the key.
func (f *File) Metadata(key string) string { return f.metadata[key] }

// Float32 reads a tensor of dtype F32.
func (f *File) Float32(name string) ([]float32, error) { return read[float32](f, name, "F32") }

// Uint16 reads a tensor of dtype F16, BF16 or U16. It returns the bits of F16 and BF16.
func (f *File) Uint16(name string) ([]uint16, error) {
	return read[uint16](f, name, "F16", "BF16", "U16")
}

// Bytes reads a tensor of dtype U8.
func (f *File) Bytes(name string) ([]byte, error) { return read[byte](f, name, "U8") }

// Raw reads a tensor of any dtype and returns its bytes as they lie in the file.
func (f *File) Raw(name string) ([]byte, error) { return read[byte](f, name, f.tensors[name].DType) }

// Int64 reads a tensor of dtype I32 or I64.
func (f *File) Int64(name string) ([]int64, error) {
	if f.tensors[name].DType != "I32" {
		return read[int64](f, name, "I32", "I64")
	}
	narrow, err := read[int32](f, name, "I32")
	x := make([]int64, len(narrow))
	for i, y := range narrow {
		x[i] = int64(y)
	}
	return x, err
}

// find returns a tensor. It is an error if the dtype is none of these.
func (f *File) find(name string, dtypes ...string) (Info, error) {
	t, ok := f.tensors[name]
	if !ok {
		return t, fmt.Errorf("no tensor %q", name)
	}
	if !slices.Contains(dtypes, t.DType) {
		return t, fmt.Errorf("tensor %q: dtype %s, want %s", name, t.DType, orList(dtypes))
	}
	if t.End-t.Begin > math.MaxInt {
		return t, fmt.Errorf("tensor %q: %d bytes are too many for this machine", name, t.End-t.Begin)
	}
	return t, nil
}

// read returns the data of a tensor as numbers of a type. It is an error if the dtype is none of
// these.
func read[E littleendian.Number](f *File, name string, dtypes ...string) ([]E, error) {
	t, err := f.find(name, dtypes...)
	if err != nil {
		return nil, err
	}
	x := make([]E, (t.End-t.Begin)/int64(unsafe.Sizeof(*new(E))))
	if err := littleendian.Read(x, f.r, t.Begin); err != nil {
		return nil, fmt.Errorf("tensor %q: %w", name, err)
	}
	return x, nil
}

func orList(words []string) string {
	s := words[0]
	for _, w := range words[1:] {
		s += " or " + w
	}
	return s
}

// bytesOf returns the size of a tensor in bytes, or false if it overflows an int64.
func bytesOf(shape []int64, item int64) (int64, bool) {
	n := uint64(item)
	for _, d := range shape {
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > math.MaxInt64 {
			return 0, false
		}
		n = lo
	}
	return int64(n), true
}
