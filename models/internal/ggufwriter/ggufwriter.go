// Package ggufwriter writes GGUF files for tests: version 3, little-endian, aligned to 32
// bytes.
package ggufwriter

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/attn-go/attn/models/gguf"
)

// An Entry is a metadata entry. Its value is a uint16, uint32, int32, uint64, float32, bool,
// string, []string, []bool, []int32 or []float32.
type Entry struct {
	Key   string
	Value any
}

// A File is what a GGUF file consists of. Tensors have Name, Type, Shape (row-major) and Data.
type File struct {
	Metadata []Entry
	Tensors  []gguf.Tensor
}

// Read returns what a file consists of, to be changed.
func Read(t testing.TB, path string) *File {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	w := &File{Tensors: f.Tensors()}
	for _, key := range f.Keys() {
		v, _ := f.Value(key)
		w.Metadata = append(w.Metadata, Entry{key, v})
	}
	return w
}

// Write writes the file, or n parts of it if n is not 1, as gguf-split does, into a folder, and
// returns the path of the only or first one. That has the metadata, and no tensors if there are
// several.
func (f *File) Write(t testing.TB, dir, name string, n int) string {
	t.Helper()
	write := func(name string, f *File) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, f.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if n == 1 {
		return write(name+".gguf", f)
	}
	first := ""
	for i := range n {
		part := &File{}
		if i == 0 {
			part.Metadata = slices.Clone(f.Metadata)
		} else {
			part.Tensors = f.Tensors[(i-1)*len(f.Tensors)/(n-1) : i*len(f.Tensors)/(n-1)]
		}
		part.Set("split.no", uint16(i))
		part.Set("split.count", uint16(n))
		part.Set("split.tensors.count", int32(len(f.Tensors)))
		if path := write(fmt.Sprintf("%s-%05d-of-%05d.gguf", name, i+1, n), part); i == 0 {
			first = path
		}
	}
	return first
}

const alignment = 32

// Set sets the value of a key. A nil value removes it.
func (f *File) Set(key string, value any) {
	f.Metadata = slices.DeleteFunc(f.Metadata, func(e Entry) bool { return e.Key == key })
	if value != nil {
		f.Metadata = append(f.Metadata, Entry{key, value})
	}
}

// Remove removes a tensor.
func (f *File) Remove(name string) {
	f.Tensors = slices.DeleteFunc(f.Tensors, func(t gguf.Tensor) bool { return t.Name == name })
}

// AddFloats adds a tensor of float32 numbers.
func (f *File) AddFloats(name string, x []float32, shape ...int) {
	t := gguf.Tensor{Name: name, Type: gguf.F32, Shape: shape}
	for _, v := range x {
		t.Data = binary.LittleEndian.AppendUint32(t.Data, math.Float32bits(v))
	}
	f.Tensors = append(f.Tensors, t)
}

// Bytes returns the file.
func (f *File) Bytes() []byte {
	w := &writer{b: []byte("GGUF")}
	w.u32(3)
	w.u64(uint64(len(f.Tensors)))
	w.u64(uint64(len(f.Metadata)))
	for _, e := range f.Metadata {
		w.string(e.Key)
		w.value(e.Value)
	}
	offset := 0
	for _, t := range f.Tensors {
		w.string(t.Name)
		w.u32(uint32(len(t.Shape)))
		for _, n := range slices.Backward(t.Shape) {
			w.u64(uint64(n))
		}
		w.u32(uint32(t.Type))
		w.u64(uint64(offset))
		offset += aligned(len(t.Data))
	}
	w.pad()
	for _, t := range f.Tensors {
		w.b = append(w.b, t.Data...)
		w.pad()
	}
	return w.b
}

func aligned(n int) int { return (n + alignment - 1) / alignment * alignment }

type writer struct{ b []byte }

func (w *writer) u32(x uint32)    { w.b = binary.LittleEndian.AppendUint32(w.b, x) }
func (w *writer) u64(x uint64)    { w.b = binary.LittleEndian.AppendUint64(w.b, x) }
func (w *writer) string(s string) { w.u64(uint64(len(s))); w.b = append(w.b, s...) }
func (w *writer) bool(x bool)     { w.b = append(w.b, map[bool]byte{true: 1}[x]) }
func (w *writer) pad()            { w.b = append(w.b, make([]byte, aligned(len(w.b))-len(w.b))...) }

// The numbers of value types in files.
const (
	typeUint16  = 2
	typeUint32  = 4
	typeInt32   = 5
	typeFloat32 = 6
	typeBool    = 7
	typeString  = 8
	typeArray   = 9
	typeUint64  = 10
)

// value writes the type of a value and the value.
func (w *writer) value(v any) {
	switch v := v.(type) {
	case uint16:
		w.u32(typeUint16)
		w.b = binary.LittleEndian.AppendUint16(w.b, v)
	case uint32:
		w.u32(typeUint32)
		w.u32(v)
	case int32:
		w.u32(typeInt32)
		w.u32(uint32(v))
	case uint64:
		w.u32(typeUint64)
		w.u64(v)
	case float32:
		w.u32(typeFloat32)
		w.u32(math.Float32bits(v))
	case bool:
		w.u32(typeBool)
		w.bool(v)
	case string:
		w.u32(typeString)
		w.string(v)
	case []string:
		w.array(typeString, len(v))
		for _, s := range v {
			w.string(s)
		}
	case []bool:
		w.array(typeBool, len(v))
		for _, x := range v {
			w.bool(x)
		}
	case []int32:
		w.array(typeInt32, len(v))
		for _, x := range v {
			w.u32(uint32(x))
		}
	case []float32:
		w.array(typeFloat32, len(v))
		for _, x := range v {
			w.u32(math.Float32bits(x))
		}
	default:
		panic(fmt.Sprintf("ggufwriter: values of type %T are not written", v))
	}
}

// array writes the start of an array.
func (w *writer) array(element uint32, n int) {
	w.u32(typeArray)
	w.u32(element)
	w.u64(uint64(n))
}
