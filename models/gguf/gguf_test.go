package gguf

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
)

func parse(t *testing.T, c content) *File {
	t.Helper()
	f, err := New(write(c))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestValues: values come back as they were written, of versions 2 and 3.
func TestValues(t *testing.T) {
	for _, version := range []uint32{2, 3} {
		c := sample()
		c.version = version
		f := parse(t, c)
		var keys []string
		for _, e := range c.entries {
			keys = append(keys, e.key)
			if got, ok := f.Value(e.key); !ok || !reflect.DeepEqual(got, e.value) {
				t.Errorf("%s = %#v, %v, want %#v", e.key, got, ok, e.value)
			}
		}
		if got := f.Keys(); !slices.Equal(got, keys) {
			t.Errorf("Keys = %q, want %q", got, keys)
		}
		if got, ok := f.Value("missing"); ok || got != nil {
			t.Errorf("missing = %v, %v", got, ok)
		}
	}
}

// TestGetters: the getter of a type returns the value, and for any other type a *kernel.Error
// that says what was found.
func TestGetters(t *testing.T) {
	f := parse(t, sample())
	getters := map[string]func(key string) (any, error){
		"String":  func(key string) (any, error) { return f.String(key) },
		"Bool":    func(key string) (any, error) { return f.Bool(key) },
		"Int":     func(key string) (any, error) { return f.Int(key) },
		"Float":   func(key string) (any, error) { return f.Float(key) },
		"Strings": func(key string) (any, error) { return f.Strings(key) },
		"Ints":    func(key string) (any, error) { return f.Ints(key) },
		"Floats":  func(key string) (any, error) { return f.Floats(key) },
	}
	want := map[string]map[string]any{
		"String": {"a.string": "Ġt", "a.empty": ""},
		"Bool":   {"a.bool": true},
		"Int": {"a.uint8": int64(200), "a.int8": int64(-100), "a.uint16": int64(60000), "a.int16": int64(-30000), "a.uint32": int64(4e9),
			"a.int32": int64(-2e9), "a.int64": int64(-1 << 62), "general.alignment": int64(64)},
		"Float":   {"a.float32": 1.5, "a.float64": 2.5e300},
		"Strings": {"b.string": []string{"a", "", "\xff\x00"}},
		"Ints": {"b.uint8": []int64{1, 255}, "b.int8": []int64{-1, 1}, "b.uint16": []int64{1, 65535}, "b.int16": []int64{-1, 1},
			"b.uint32": []int64{1, 1 << 31}, "b.int32": []int64{-1, 1}, "b.uint64": []int64{1, 1 << 40}, "b.int64": []int64{-1, 1},
			"b.empty": []int64{}},
		"Floats": {"b.float32": []float64{0.5, -0.25}, "b.float64": []float64{0.5, 1e300}},
	}
	for name, get := range getters {
		for _, key := range append(f.Keys(), "missing") {
			got, err := get(key)
			if w, ok := want[name][key]; ok {
				if err != nil || !reflect.DeepEqual(got, w) {
					t.Errorf("%s(%q) = %#v, %v, want %#v", name, key, got, err, w)
				}
				continue
			}
			value, found := f.Value(key)
			var e *kernel.Error
			if !errors.As(err, &e) || e.Arg() != fmt.Sprintf("metadata %q", key) || e.Want == "" || (e.Got != "nothing") != found || found && e.Got != describe(value) {
				t.Errorf("%s(%q): %v", name, key, err)
			} else if !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), e.Want) || !strings.Contains(err.Error(), e.Got) {
				t.Errorf("%s(%q): %v lacks something", name, key, err)
			}
		}
	}
}

// TestLargeUint64: integers beyond an int64 are errors, not other integers.
func TestLargeUint64(t *testing.T) {
	f := parse(t, content{version: 3, alignment: 32, entries: []entry{{"one", uint64(math.MaxUint64)}, {"two", []uint64{1, 1 << 63}}}})
	var e *kernel.Error
	if n, err := f.Int("one"); !errors.As(err, &e) || e.Got != "uint64 18446744073709551615" {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := f.Ints("two"); !errors.As(err, &e) || e.Got != "[]uint64" {
		t.Errorf("%d, %v", n, err)
	}
}

// TestTensors: tensors have the file's order, the opposite order of dimensions, and the data
// at their offsets, which are parts of the file.
func TestTensors(t *testing.T) {
	file := write(sample())
	f, err := New(file)
	if err != nil {
		t.Fatal(err)
	}
	begin := len(file) - 256
	want := []Tensor{
		{"matrix", Q4_1, []int{3, 32}, file[begin:][:60]},
		{"scalar", F32, []int{}, file[begin+64:][:4]},
		{"none", F16, []int{5, 0}, []byte{}},
		{"four", BF16, []int{1, 3, 1, 2}, file[begin+128:][:12]},
		{"strange", 1000, []int{77}, nil},
	}
	if got := f.Tensors(); !reflect.DeepEqual(got, want) {
		t.Errorf("Tensors = %v, want %v", got, want)
	}
	for _, w := range want {
		got, ok := f.Tensor(w.Name)
		if !ok || !reflect.DeepEqual(got, w) {
			t.Errorf("%s = %v, %v, want %v", w.Name, got, ok, w)
		}
		if cap(got.Data) != len(got.Data) || len(w.Data) > 0 && &got.Data[0] != &w.Data[0] {
			t.Errorf("%s: the data are not that part of the file", w.Name)
		}
	}
	if got, ok := f.Tensor("missing"); ok {
		t.Errorf("missing = %v", got)
	}
}

// TestFloat32Errors: what cannot be converted is an error about the tensor.
func TestFloat32Errors(t *testing.T) {
	for _, c := range []struct {
		tensor Tensor
		want   string
	}{
		{Tensor{"x", 1000, []int{77}, nil}, `tensor "x" of type Type(1000): cannot be converted`},
		{Tensor{"x", Q8_K, []int{256}, make([]byte, 292)}, `of type Q8_K: cannot be converted`},
		{Tensor{"x", F32, []int{2}, make([]byte, 7)}, "shape [2] and 7 bytes of data, want 8 bytes"},
		{Tensor{"x", F32, []int{1}, nil}, "shape [1] and 0 bytes of data"},
		{Tensor{"x", Q8_0, []int{32, 2}, make([]byte, 68)}, "shape [32 2], want whole blocks of 32"},
		{Tensor{"x", F16, []int{-1, -1}, make([]byte, 2)}, "shape [-1 -1]"},
		{Tensor{"x", F16, []int{math.MaxInt, 3}, make([]byte, 2)}, "fit the address space"},
		{Tensor{"x", Q2_K, []int{1, math.MaxInt - 255}, nil}, "fit the address space"},
	} {
		x, err := c.tensor.Float32()
		var e *kernel.Error
		if !errors.As(err, &e) || x != nil || e.Where != fmt.Sprintf("gguf: tensor %q of type %v", "x", c.tensor.Type) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want one with %q", c.tensor, err, c.want)
		}
	}
}

// TestTypeString: types have the names that the format gives them, and any other its number.
func TestTypeString(t *testing.T) {
	for kind, want := range map[Type]string{F32: "F32", Q4_K: "Q4_K", 4: "Type(4)", Type(len(layouts)): "Type(42)", math.MaxUint32: "Type(4294967295)"} {
		if kind.String() != want {
			t.Errorf("%d: %s, want %s", uint32(kind), kind, want)
		}
	}
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "good")
	if err := os.WriteFile(path, write(sample()), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := f.Tensor("matrix")
	if x, err := before.Float32(); err != nil || len(x) != 96 {
		t.Errorf("%d elements, %v", len(x), err)
	}
	for range 2 {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if after, _ := f.Tensor("matrix"); after.Data != nil {
		t.Error("a tensor of a closed file has data")
	}
	if s, err := f.Strings("b.string"); err != nil || s[0] != "a" {
		t.Errorf("after Close: %q, %v", s, err)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	empty, bad := filepath.Join(dir, "empty"), filepath.Join(dir, "bad")
	for path, content := range map[string]string{empty: "", bad: "GGUF\x03\x00\x00\x00"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var format *kernel.Error
	var path *fs.PathError
	for name, target := range map[string]any{empty: &format, bad: &format, filepath.Join(dir, "missing"): &path} {
		if _, err := Open(name); !errors.As(err, target) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a folder: %v", err)
	}
}

// TestWidenLarge: blocks whose bytes, times the weights of one, are more than an int of 32 bits
// holds.
func TestWidenLarge(t *testing.T) {
	elements, size := IQ4_XS.Block()
	n := 1<<23/size + 1
	one := slices.Repeat([]byte{0x11, 0x3c}, size/2)
	dst, want := make([]float32, n*elements), make([]float32, elements)
	if err := errors.Join(IQ4_XS.Widen(dst, bytes.Repeat(one, n)), IQ4_XS.Widen(want, one)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(dst[(n-1)*elements:], want) || want[0] == 0 {
		t.Error("the last block has other weights than the first")
	}
}

// TestWidenErrors: numbers that are not as many as the elements, and types that are not converted,
// are errors.
func TestWidenErrors(t *testing.T) {
	for _, c := range []struct {
		kind      Type
		dst, data int
	}{{F32, 2, 7}, {F16, 2, 6}, {Q8_0, 32, 33}, {Q8_0, 31, 34}, {Q8_0, 64, 34}, {I32, 1, 4}, {1000, 1, 4}} {
		if err := c.kind.Widen(make([]float32, c.dst), make([]byte, c.data)); !errors.As(err, new(*kernel.Error)) {
			t.Errorf("%d bytes of %v for %d elements: %v", c.data, c.kind, c.dst, err)
		}
	}
	if elements, bytes := Q4_K.Block(); elements != 256 || bytes != 144 {
		t.Errorf("blocks of %d elements in %d bytes", elements, bytes)
	}
}
