package problem

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tensors describes a file by the names of its tensors. Their elements are values, or
// zeros if there are none.
type tensors map[string]tensorSpec

type tensorSpec struct {
	dtype  string
	shape  []int
	values []int64
}

// with returns a copy in which this tensor is added or replaced.
func (ts tensors) with(name, dtype string, shape []int, values ...int64) tensors {
	c := tensors{}
	for n, t := range ts {
		c[n] = t
	}
	c[name] = tensorSpec{dtype, shape, values}
	return c
}

func (ts tensors) without(name string) tensors {
	c := ts.with(name, "F32", nil)
	delete(c, name)
	return c
}

func (ts tensors) write(t *testing.T) string {
	t.Helper()
	var data []byte
	header := map[string]any{}
	for name, s := range ts {
		item := map[string]int{"F32": 4, "I32": 4, "F16": 2, "I64": 8}[s.dtype]
		n, begin := item, len(data)
		for _, d := range s.shape {
			n *= d
		}
		tensor := make([]byte, n)
		for i, v := range s.values {
			if item == 4 {
				binary.LittleEndian.PutUint32(tensor[4*i:], uint32(v))
			} else {
				binary.LittleEndian.PutUint64(tensor[8*i:], uint64(v))
			}
		}
		data = append(data, tensor...)
		header[name] = map[string]any{"dtype": s.dtype, "shape": s.shape, "data_offsets": []int{begin, len(data)}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	path := filepath.Join(t.TempDir(), "some.safetensors")
	if err := os.WriteFile(path, append(append(file, text...), data...), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// good returns a file with one problem, whose tensors have no prefix.
func good() tensors {
	return tensors{}.
		with("q", "F32", []int{2, 4, 3, 8}).
		with("k", "F32", []int{2, 2, 5, 8}).
		with("v", "F32", []int{2, 2, 5, 6}).
		with("out", "F32", []int{2, 4, 3, 6})
}

func TestReadFile(t *testing.T) {
	file := good().with("freq", "F32", []int{3}).with("lengths", "I64", []int{2}, 5, 0)
	for _, name := range []string{"q", "k", "v", "out"} {
		file = file.with("enc.0."+name, "F32", []int{2, 7, 4})
	}
	file = file.with("enc.0.lengths", "I32", []int{1}, 3)
	problems, err := ReadFile(file.write(t), true, 2)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range problems {
		names = append(names, p.Name)
		if !p.Causal || p.Offset != 2 {
			t.Errorf("%s is not causal with offset 2", p.Name)
		}
	}
	if !slices.Equal(names, []string{"enc.0", "some"}) {
		t.Errorf("problems %q", names)
	}
	if p := problems[0]; p.Q.Shape != [4]int{1, 2, 7, 4} || !slices.Equal(p.Lengths, []int{3}) {
		t.Errorf("enc.0: shape %d, lengths %d", p.Q.Shape, p.Lengths)
	}
}

func TestReadBadFile(t *testing.T) {
	for _, c := range []struct {
		name, want string
		file       tensors
	}{
		{"nothing", "no tensors named", tensors{}},
		{"no keys", `no tensor "k"`, good().without("k")},
		{"no result", `no tensor "out"`, good().without("out")},
		{"f16", `tensor "v": dtype F16, want F32`, good().with("v", "F16", []int{2, 2, 5, 6})},
		{"rank", `tensor "q": shape [12 8]`, good().with("q", "F32", []int{12, 8})},
		{"mixed ranks", `tensor "k"`, good().with("k", "F32", []int{2, 5, 8})},
		{"head size", `tensor "k"`, good().with("k", "F32", []int{2, 2, 5, 7})},
		{"heads", "divides", good().with("q", "F32", []int{2, 3, 3, 8})},
		{"no heads", "no elements", good().with("k", "F32", []int{2, 0, 5, 8})},
		{"key lengths differ", `tensor "v"`, good().with("v", "F32", []int{2, 2, 4, 6})},
		{"empty head", "no elements", good().with("q", "F32", []int{2, 4, 3, 0}).with("k", "F32", []int{2, 2, 5, 0})},
		{"result", `tensor "out"`, good().with("out", "F32", []int{2, 4, 3, 8})},
		{"lengths' shape", `tensor "lengths": shape [3]`, good().with("lengths", "I32", []int{3})},
		{"lengths' type", "want I32 or I64", good().with("lengths", "F32", []int{2})},
		{"long length", "length 6 of batch row 1", good().with("lengths", "I32", []int{2}, 5, 6)},
		{"negative length", "length -1 of batch row 0", good().with("lengths", "I64", []int{2}, -1, 5)},
	} {
		if _, err := ReadFile(c.file.write(t), false, 0); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}
