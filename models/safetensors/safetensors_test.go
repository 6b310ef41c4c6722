package safetensors

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// file returns a file with this header, preceded by its length, and this data.
func file(header string, data []byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

func open(b []byte) (*File, error) { return New(bytes.NewReader(b), int64(len(b))) }

func TestRead(t *testing.T) {
	var data []byte
	for _, x := range []float32{1, -2.5, float32(math.Inf(1))} {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	data = binary.LittleEndian.AppendUint64(data, 1<<40)
	data = binary.LittleEndian.AppendUint32(data, math.MaxUint32)
	data = append(data, 0xff, 0x7b, 7)
	f, err := open(file(`{"__metadata__":{"a":"b"},"n":{"dtype":"I64","shape":[1],"data_offsets":[12,20]},
		"x":{"dtype":"F32","shape":[3,1],"data_offsets":[0,12]},"none":{"dtype":"F32","shape":[0,7],"data_offsets":[12,12]},
		"i":{"dtype":"I32","shape":[],"data_offsets":[20,24]},"h":{"dtype":"F16","shape":[1],"data_offsets":[24,26]},
		"b":{"dtype":"U8","shape":[1],"data_offsets":[26,27]}}   `, data))
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Names(); !slices.Equal(got, []string{"b", "h", "i", "n", "none", "x"}) {
		t.Errorf("Names = %q", got)
	}
	if x, err := f.Float32("x"); err != nil || !slices.Equal(x, []float32{1, -2.5, float32(math.Inf(1))}) {
		t.Errorf("x = %v, %v", x, err)
	}
	if x, err := f.Float32("none"); err != nil || len(x) != 0 {
		t.Errorf("none = %v, %v", x, err)
	}
	for name, want := range map[string]int64{"n": 1 << 40, "i": -1} {
		if x, err := f.Int64(name); err != nil || !slices.Equal(x, []int64{want}) {
			t.Errorf("%s = %v, %v, want %d", name, x, err, want)
		}
	}
	if x, err := f.Uint16("h"); err != nil || !slices.Equal(x, []uint16{0x7bff}) {
		t.Errorf("h = %x, %v", x, err)
	}
	if x, err := f.Bytes("b"); err != nil || !slices.Equal(x, []byte{7}) {
		t.Errorf("b = %v, %v", x, err)
	}
	if f.Metadata("a") != "b" || f.Metadata("c") != "" {
		t.Errorf("Metadata = %q, %q", f.Metadata("a"), f.Metadata("c"))
	}
	if info, ok := f.Info("x"); !ok || info.DType != "F32" || !slices.Equal(info.Shape, []int{3, 1}) {
		t.Errorf("Info = %v, %v", info, ok)
	}
	for _, name := range []string{"n", "missing"} {
		if _, err := f.Float32(name); err == nil {
			t.Errorf("Float32(%q): no error", name)
		}
	}
}

func TestBadFiles(t *testing.T) {
	f32 := func(shape, offsets string) string {
		return `{"x":{"dtype":"F32","shape":` + shape + `,"data_offsets":` + offsets + `}}`
	}
	for _, c := range []struct {
		name, want string
		file       []byte
	}{
		{"empty", "not a safetensors file", nil},
		{"short", "not a safetensors file", []byte("{}")},
		{"header too long", "the limit is", binary.LittleEndian.AppendUint64(nil, math.MaxUint64)},
		{"header past the end", "truncated: a header of 9 bytes in a file of 8", binary.LittleEndian.AppendUint64(nil, 9)},
		{"no header", "header", file("", nil)},
		{"not JSON", "header", file("hello", nil)},
		{"an array", "not a JSON object", file("[]", nil)},
		{"cut JSON", `tensor "x"`, file(`{"x"`, nil)},
		{"text after it", "after the JSON object", file(`{} {}`, nil)},
		{"entry of another kind", `tensor "x"`, file(`{"x":3}`, nil)},
		{"null", "want dtype", file(`{"x":null}`, nil)},
		{"no offsets", "two data_offsets", file(`{"x":{"dtype":"F32","shape":[1]}}`, make([]byte, 4))},
		{"unknown dtype", `unknown dtype "F31"`, file(`{"x":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}}`, make([]byte, 4))},
		{"fraction", `tensor "x"`, file(f32("[1.5]", "[0,6]"), make([]byte, 6))},
		{"negative dimension", "shape [-1]", file(f32("[-1]", "[0,4]"), make([]byte, 4))},
		{"two negative dimensions", "shape [-1 -1]", file(f32("[-1,-1]", "[0,4]"), make([]byte, 4))},
		{"overflow", "overflows", file(f32("[4294967296,4294967296]", "[0,0]"), nil)},
		{"overflow to the right size", "overflows", file(f32("[4611686018427387905]", "[0,4]"), make([]byte, 4))},
		{"offsets backwards", "data_offsets [4, 0]", file(f32("[1]", "[4,0]"), make([]byte, 4))},
		{"negative offset", "data_offsets [-4, 0]", file(f32("[1]", "[-4,0]"), make([]byte, 4))},
		{"size and offsets differ", "is 8 bytes", file(f32("[2]", "[0,4]"), make([]byte, 4))},
		{"past the end", `truncated: tensor "x" ends at byte 8 of the data, and the file has 4 of them`, file(f32("[2]", "[0,8]"), make([]byte, 4))},
		{"hole", "begins at byte 4", file(f32("[1]", "[4,8]"), make([]byte, 8))},
		{"rest", "4 bytes after", file(f32("[1]", "[0,4]"), make([]byte, 8))},
		{"overlap", "begins at byte 0", file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"y":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, make([]byte, 4))},
		{"twice", "twice", file(`{"x":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"x":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}`, nil)},
	} {
		if _, err := open(c.file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

// TestLargeDimension: a dimension of 2^33 beside a dimension of 0 is a shape where an int has 64
// bits, and an error where it has 32.
func TestLargeDimension(t *testing.T) {
	_, err := open(file(`{"x":{"dtype":"F32","shape":[0,8589934592],"data_offsets":[0,0]}}`, nil))
	if strconv.IntSize == 32 {
		if err == nil || !strings.Contains(err.Error(), "dimension 1 overflows an int") {
			t.Errorf("error %v, want one with \"dimension 1 overflows an int\"", err)
		}
	} else if err != nil {
		t.Error(err)
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "missing")} {
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("Open(%s): %v", path, err)
		}
	}
	path := filepath.Join(dir, "good")
	if err := os.WriteFile(path, file(`{}`, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func FuzzNew(f *testing.F) {
	f.Add(file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, make([]byte, 4)))
	f.Add(file(`{}`, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := open(b)
		if err != nil {
			return
		}
		for _, name := range file.Names() {
			file.Float32(name)
			file.Int64(name)
		}
	})
}

// TestRange: the range of a tensor in the file has its bytes.
func TestRange(t *testing.T) {
	b := file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[2,6]},"h":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}`, []byte{1, 2, 3, 4, 5, 6})
	f, err := open(b)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{"h": {1, 2}, "x": {3, 4, 5, 6}} {
		raw, err := f.Raw(name)
		if info, _ := f.Info(name); err != nil || !bytes.Equal(raw, want) || !bytes.Equal(b[info.Begin:info.End], want) {
			t.Errorf("%s: %v, bytes %d to %d, %v", name, raw, info.Begin, info.End, err)
		}
	}
}
