package gguf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// badFile is a file that is wrong at this offset in this way.
type badFile struct {
	name   string
	offset int64
	want   string
	file   []byte
}

// offsetOf returns the byte that an error about the format of a file names, -1 for another error.
func offsetOf(e *kernel.Error) (n int64) {
	if _, err := fmt.Sscanf(e.Where, "gguf: byte %d: ", &n); err != nil || e.Kind != ErrFormat {
		return -1
	}
	return n
}

func testBadFiles(t *testing.T, cases []badFile) {
	for _, c := range cases {
		f, err := New(c.file)
		var e *kernel.Error
		if !errors.As(err, &e) || f != nil || offsetOf(e) != c.offset || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one at byte %d with %q", c.name, err, c.offset, c.want)
		}
	}
}

func TestBadHeaders(t *testing.T) {
	testBadFiles(t, []badFile{
		{"empty", 0, `begins with ""`, nil},
		{"short", 0, `begins with "GG"`, []byte("GG")},
		{"another format", 0, `begins with "GGML"`, []byte("GGML\x03\x00\x00\x00")},
		{"no version", 4, "truncated: only 3 bytes are left, want 4 bytes", []byte("GGUF\x03\x00\x00")},
		{"version 1", 4, "version 1, want 2 or 3", head(1, 0, 0)},
		{"version 4", 4, "version 4, want 2 or 3", head(4, 0, 0)},
		{"big-endian", 4, "big-endian file of version 3, want a little-endian one", head(3<<24, 0, 0)},
		{"no numbers", 16, "only 4 bytes are left, want 8 bytes", head(3, 0, 0)[:20]},
		{"many tensors", 8, "tensors, want at most the 0", head(3, math.MaxInt, 0)},
		{"many entries", 16, "1000 metadata entries, want at most the 0", head(3, 0, 1000)},
		{"one tensor too many", 8, "4 tensors, want at most the 3", append(head(3, 4, 0), make([]byte, 91)...)},
	})
}

func TestBadMetadata(t *testing.T) {
	metadata := func(e ...entry) []byte { return write(content{version: 3, alignment: 32, entries: e}) }
	alignment := func(v any) []byte { return metadata(entry{"general.alignment", v}) }
	// raw is a file with an entry "x" of this type and value, which begins at byte 37.
	raw := func(kind valueType, value ...byte) []byte {
		return append(appendUint32(appendString(head(3, 0, 1), "x"), uint32(kind)), value...)
	}
	// array is such a file whose value is an array. The elements begin at byte 49.
	array := func(kind valueType, n uint64, elements ...byte) []byte {
		return raw(typeArray, append(appendUint64(appendUint32(nil, uint32(kind)), n), elements...)...)
	}
	testBadFiles(t, []badFile{
		{"long key", 24, "key of a metadata entry: a name of 65536 bytes, want 1 to 65535", metadata(entry{strings.Repeat("k", 65536), true})},
		{"no key", 24, "a name of 0 bytes", metadata(entry{"", true})},
		{"key twice", 38, `metadata "x": a second entry`, metadata(entry{"x", true}, entry{"x", false})},
		{"value type", 33, `metadata "x": value type 13`, raw(13, 0)},
		{"array type", 37, "value type 255", array(255, 0)},
		{"bool", 37, "bool 2, want 0 or 1", raw(typeBool, 2)},
		{"bool in an array", 51, "bool 255", array(typeBool, 3, 1, 0, 255)},
		{"string past the end", 45, "only 3 bytes are left, want 4 bytes", raw(typeString, append(appendUint64(nil, 4), "abc"...)...)},
		{"string in an array past the end", 65, "only 3 bytes are left, want 4 bytes", array(typeString, 2, slices.Concat(appendString(nil, ""), appendUint64(nil, 4), []byte("abc"))...)},
		{"array past the end", 41, "2 array elements, want at most the 1", array(4, 2, make([]byte, 7)...)},
		{"array overflow", 41, "4611686018427387905 array elements", array(4, 1<<62+1, make([]byte, 4)...)},
		{"strings past the end", 41, "2 strings, want at most the 1", array(typeString, 2, make([]byte, 9)...)},
		{"arrays past the end", 41, "1 arrays, want at most the 0", array(typeArray, 1, make([]byte, 11)...)},
		{"nesting", 37 + 8*12, "9 arrays within each other, want at most 8", metadata(entry{"x", nested(9)})},
		{"alignment 0", 53, "uint32 0, want a uint32 that is a power of two", alignment(uint32(0))},
		{"alignment 4", 53, "uint32 4", alignment(uint32(4))},
		{"alignment 24", 53, "uint32 24", alignment(uint32(24))},
		{"alignment 2^31", 53, "uint32 2147483648", alignment(uint32(1 << 31))},
		{"alignment of another type", 53, "uint64 32", alignment(uint64(32))},
		{"alignment that is a string", 53, "string, want", alignment("32")},
	})
}

func TestBadTensors(t *testing.T) {
	tensors := func(t ...described) []byte { return write(content{version: 3, alignment: 32, tensors: t, data: 96}) }
	// one is a file with a tensor "x", whose dimensions begin at byte 37.
	one := func(offset uint64, kind Type, dimensions ...uint64) []byte {
		return tensors(described{"x", dimensions, kind, offset})
	}
	const wantRows = "want rows of whole blocks of"
	testBadFiles(t, []badFile{
		{"no padding", 57, "padding before the data: 0 bytes, want 7", one(0, F32, 1)[:57]},
		{"long name", 24, "name of a tensor: a name of 65 bytes, want 1 to 64", tensors(described{strings.Repeat("n", 65), nil, F32, 0})},
		{"no name", 24, "a name of 0 bytes", tensors(described{"", nil, F32, 0})},
		{"name twice", 49, `tensor "x": a second tensor`, tensors(described{"x", nil, F32, 0}, described{"x", nil, F32, 32})},
		{"five dimensions", 33, "5 dimensions, want at most 4", one(0, F32, 1, 1, 1, 1, 1)},
		{"dimension beyond an int", 37, "dimension 9223372036854775808", one(0, F32, 1<<63)},
		{"elements overflow", 33, wantRows, one(0, F32, 1<<30, 1<<30, 1<<30)},
		{"bytes overflow", 33, wantRows, one(0, F64, 1<<30, 1<<30)},
		{"bytes overflow to 4", 33, wantRows, one(0, F32, 242243305, 49477, 384773)}, // 2^62 + 1 elements
		{"broken blocks", 33, "shape [33] of type Q8_0, " + wantRows + " 32", one(0, Q8_0, 33)},
		{"rows of broken blocks", 33, "shape [32 16] of type Q8_0", one(0, Q8_0, 16, 32)},
		{"scalar of blocks", 33, "shape [] of type Q4_0", one(0, Q4_0)},
		{"odd offset", 49, `tensor "x": offset 4, want a multiple of the alignment 32`, one(4, F32, 1)},
		{"large tensor", 49, "truncated: 100 bytes at offset 0 of the 96 bytes of data, want the whole file: download it again", one(0, F32, 25)},
		{"large tensor behind the start", 49, "68 bytes at offset 32", one(32, F32, 17)},
		{"offset past the end", 49, "4 bytes at offset 128", one(128, F32, 1)},
		{"offset overflows", 49, "offset 18446744073709551584", one(math.MaxUint64-31, F32, 8)},
		{"unknown type past the end", 49, "offset 128", one(128, 1000, 1)},
		{"overlap", 82, `tensor "y": offset 64, want at least 68`, tensors(described{"x", []uint64{17}, F32, 0}, described{"y", []uint64{1}, F32, 64})},
		{"overlap in the opposite order", 49, `tensor "x": offset 64, want at least 68`, tensors(described{"x", []uint64{1}, F32, 64}, described{"y", []uint64{17}, F32, 0})},
		{"same place", 49, `tensor "x": offset 32, want at least 36`, tensors(described{"x", []uint64{2}, F32, 32}, described{"y", []uint64{1}, F32, 32})},
	})
}

// nested returns so many arrays within each other.
func nested(depth int) any {
	v := []any{}
	for range depth - 1 {
		v = []any{v}
	}
	return v
}

// TestUnusual: these files are valid.
func TestUnusual(t *testing.T) {
	for name, c := range map[string]content{
		"nothing":         {version: 3, alignment: 1},
		"deep nesting":    {version: 3, alignment: 1, entries: []entry{{"x", nested(8)}}},
		"long key":        {version: 3, alignment: 1, entries: []entry{{strings.Repeat("k", 65535), true}}},
		"no padding":      {version: 3, alignment: 1, entries: []entry{{"general.alignment", uint32(1 << 30)}}},
		"alignment 8":     {version: 3, alignment: 8, entries: []entry{{"general.alignment", uint32(8)}}, tensors: []described{{"x", nil, I8, 8}}, data: 9},
		"gap and rest":    {version: 3, alignment: 32, tensors: []described{{"x", nil, F32, 64}}, data: 100},
		"opposite order":  {version: 3, alignment: 32, tensors: []described{{"x", nil, F32, 32}, {"y", nil, F32, 0}}, data: 36},
		"long name":       {version: 3, alignment: 32, tensors: []described{{strings.Repeat("n", 64), nil, F32, 0}}, data: 4},
		"unknown overlap": {version: 3, alignment: 32, tensors: []described{{"x", []uint64{9}, 99, 0}, {"y", nil, F32, 0}}, data: 4},
	} {
		f, err := New(write(c))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if len(f.Tensors()) != len(c.tensors) || len(f.Keys()) != len(c.entries) {
			t.Errorf("%s: %v, %q", name, f.Tensors(), f.Keys())
		}
	}
}

// TestTruncated: a file that is cut anywhere before the end of its last tensor is an error.
func TestTruncated(t *testing.T) {
	file := write(sample())
	end := len(file) - 256 + 192 // where the tensor of unknown size begins
	for n := range end {
		var e *kernel.Error
		if _, err := New(file[:n]); !errors.As(err, &e) || offsetOf(e) < 0 || offsetOf(e) > int64(n) {
			t.Fatalf("%d of %d bytes: %v", n, len(file), err)
		}
	}
	if _, err := New(file[:end]); err != nil {
		t.Error(err)
	}
}

// TestFlipped: a file with any bit flipped is an error or a valid file.
func TestFlipped(t *testing.T) {
	file := write(sample())
	for i := range file {
		for bit := range 8 {
			file[i] ^= 1 << bit
			use(t, file)
			file[i] ^= 1 << bit
		}
	}
}

// TestHugeNumbers: whatever number in the file is huge, the error comes before memory is
// taken for it.
func TestHugeNumbers(t *testing.T) {
	file := write(sample())
	for i := range len(file) - 8 {
		for _, x := range []uint64{math.MaxUint64, math.MaxInt64, 1 << 62, 1 << 40, math.MaxUint32, math.MaxInt32, 1 << 28} {
			b := bytes.Clone(file)
			binary.LittleEndian.PutUint64(b[i:], x)
			before := allocated()
			use(t, b)
			if n := allocated() - before; n > 64<<10 {
				t.Errorf("%d at byte %d: %d bytes allocated", x, i, n)
			}
		}
	}
}

// TestDenseFiles: files made of as many things as possible take a limited multiple of their
// size in memory.
func TestDenseFiles(t *testing.T) {
	const n = 100_000
	many := func(kind valueType, element []byte) []byte {
		b := appendUint32(appendUint32(appendString(head(3, 0, 1), "x"), uint32(typeArray)), uint32(kind))
		return append(appendUint64(b, n), bytes.Repeat(element, n)...)
	}
	entries, infos := head(3, 0, n), head(3, n, 0)
	for i := range n {
		name := string(appendUint32(nil, uint32(i)))
		entries = append(appendString(entries, name), 0, 0, 0, 0, 7)
		infos = appendInfo(infos, described{name, nil, 1000, 0})
	}
	infos = append(infos, make([]byte, 32)...)
	for name, file := range map[string][]byte{
		"bytes": many(0, []byte{1}), "strings": many(typeString, make([]byte, 8)), "arrays": many(typeArray, make([]byte, 12)),
		"entries": entries, "tensors": infos,
	} {
		before := allocated()
		if _, err := New(file); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		times := float64(allocated()-before) / float64(len(file))
		t.Logf("%s: %.1f bytes allocated per byte of the file", name, times)
		if times > 8 {
			t.Errorf("%s: %.1f bytes allocated per byte of the file", name, times)
		}
	}
}

// allocated returns how many bytes the program has allocated up to now.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// use parses a file, which may be damaged. Errors must be of the kind ErrFormat with an offset in
// the file. Of a valid one it checks what a program relies on, and converts all tensors.
func use(t *testing.T, file []byte) {
	t.Helper()
	f, err := New(file)
	if err != nil {
		var e *kernel.Error
		if !errors.As(err, &e) || offsetOf(e) < 0 || offsetOf(e) > int64(len(file)) || strings.HasSuffix(e.Where, ": ") || e.Got == "" || e.Want == "" {
			t.Errorf("error %#v", err)
		}
		return
	}
	for _, key := range f.Keys() {
		if v, ok := f.Value(key); !ok || v == nil {
			t.Errorf("Value(%q) = %v, %v", key, v, ok)
		}
	}
	total := 0
	for _, tensor := range f.Tensors() {
		if got, ok := f.Tensor(tensor.Name); !ok || got.Name != tensor.Name {
			t.Errorf("Tensor(%q) = %v, %v", tensor.Name, got, ok)
		}
		total += len(tensor.Data)
		_, err := tensor.Float32()
		if supported := tensor.Type.Converts(); (err == nil) != supported {
			t.Errorf("Float32 of %q of type %s: %v", tensor.Name, tensor.Type, err)
		}
	}
	if total > len(file) {
		t.Errorf("%d bytes of tensors in a file of %d", total, len(file))
	}
}
